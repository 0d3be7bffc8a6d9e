#include "cli/options.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/help.h"
#include "cli/option_rows.h"
#include "plan/config/problem.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The option every command has, behind its own rows. */
static const struct cli_option help_option = {
    .short_name = "-h", .long_name = "--help", .help = "show this help"};

struct parser {
    const struct cli_command *command;
    struct cli_value *values;
    char *const *args;
    size_t count;
    size_t at;
    bool help;
    struct err *err;
};

/* An option found in an argument, and the value attached to it. */
struct found {
    const struct cli_option *option;
    const char *name;     /* as the table spells it */
    const char *attached; /* NULL: none */
};

enum kind { KIND_OPERAND, KIND_OPTION, KIND_UNKNOWN, KIND_WRONG };

static const struct cli_option *option_at(const struct cli_command *command, size_t index)
{
    return index < command->option_count ? &command->options[index] : &help_option;
}

const struct cli_option *option_next(const struct cli_command *command, size_t *at)
{
    while (*at <= command->option_count) {
        const struct cli_option *option = option_at(command, (*at)++);
        if (!option->hidden)
            return option;
    }
    return NULL;
}

static const char *option_spelling(const struct cli_option *option, size_t which)
{
    return which == 0 ? option->short_name : option->long_name;
}

static bool find_exact(const struct cli_command *command, const char *name, size_t length,
                       struct found *out)
{
    for (size_t i = 0; i <= command->option_count; i++)
        for (size_t which = 0; which < 2; which++) {
            const char *spelling = option_spelling(option_at(command, i), which);
            if (spelling && strlen(spelling) == length && memcmp(spelling, name, length) == 0) {
                *out = (struct found){option_at(command, i), spelling, NULL};
                return true;
            }
        }
    return false;
}

static bool looks_like_negative_number(const char *arg)
{
    const char *at = arg + 1;
    size_t digits = strspn(at, "0123456789");
    at += digits;
    if (*at == '.') {
        size_t fraction = strspn(at + 1, "0123456789");
        return fraction > 0 && at[1 + fraction] == '\0';
    }
    return digits > 0 && *at == '\0';
}

/* Whether this spelling could be meant by arg as a shortened or glued form. */
static bool could_match(const char *spelling, const char *arg, const char *equals,
                        const char **attached)
{
    *attached = NULL;
    if (arg[1] == '-') {
        size_t length = equals ? (size_t)(equals - arg) : strlen(arg);
        *attached = equals ? equals + 1 : NULL;
        return strncmp(spelling, arg, length) == 0;
    }
    if (strlen(spelling) == 2 && strncmp(spelling, arg, 2) == 0) {
        *attached = arg + 2;
        return true;
    }
    return strncmp(spelling, arg, strlen(arg)) == 0;
}

static size_t find_by_beginning(const struct cli_command *command, const char *arg,
                                const char *equals, struct found *out, struct text *names)
{
    size_t matches = 0;
    for (size_t i = 0; i <= command->option_count; i++)
        for (size_t which = 0; which < 2; which++) {
            const char *spelling = option_spelling(option_at(command, i), which);
            const char *attached;
            if (!spelling || !could_match(spelling, arg, equals, &attached))
                continue;
            text_addf(names, "%s%s", matches ? ", " : "", spelling);
            *out = (struct found){option_at(command, i), spelling, attached};
            matches++;
        }
    return matches;
}

static enum kind classify(const struct cli_command *command, const char *arg, struct found *out,
                          struct err *err)
{
    if (arg[0] != '-' || arg[1] == '\0')
        return KIND_OPERAND;
    if (find_exact(command, arg, strlen(arg), out))
        return KIND_OPTION;
    const char *equals = strchr(arg, '=');
    if (equals && find_exact(command, arg, (size_t)(equals - arg), out)) {
        out->attached = equals + 1;
        return KIND_OPTION;
    }
    AUTO_TEXT struct text names = {0};
    size_t matches = find_by_beginning(command, arg, equals, out, &names);
    if (matches > 1) {
        err_set(err, "ambiguous option: %s could match %s", arg, text_get(&names));
        return KIND_WRONG;
    }
    if (matches == 1)
        return KIND_OPTION;
    if (looks_like_negative_number(arg) || strchr(arg, ' '))
        return KIND_OPERAND;
    return KIND_UNKNOWN;
}

static bool read_int(const struct cli_option *option, const char *name, struct cli_value *value,
                     struct err *err)
{
    char *end;
    errno = 0;
    long long number = strtoll(value->text, &end, 10);
    bool bounded = option->low < option->high;
    if (end == value->text || *end != '\0' || isspace((unsigned char)value->text[0]) ||
        (errno && !bounded))
        return err_set(err, "%s: '%s' is not an integer", name, value->text);
    if (bounded && (errno || (double)number < option->low || (double)number > option->high))
        return err_set(err, "%s: %s is not within %.0f .. %.0f", name, value->text, option->low,
                       option->high);
    value->integer = number;
    return true;
}

static bool read_duration_value(const struct cli_option *option, const char *name,
                                struct cli_value *value, struct err *err)
{
    if (!clock_parse_duration(value->text, &value->seconds, err))
        return err_wrap(err, "%s", name);
    bool bounded = option->low < option->high;
    if (bounded && (value->seconds < option->low || value->seconds > option->high))
        return err_set(err, "%s: %s is not within %.16g .. %.16g seconds", name, value->text,
                       option->low, option->high);
    return true;
}

static bool check_choice_value(const struct cli_option *option, const char *name,
                               const struct cli_value *value, struct err *err)
{
    AUTO_TEXT struct text names = {0};
    for (size_t i = 0; option->choices[i]; i++)
        if (strcmp(option->choices[i], value->text) == 0)
            return true;
    option_choices(option, ", ", &names);
    return err_set(err, "%s: '%s' is none of %s", name, value->text, text_get(&names));
}

static bool read_option_value(const struct cli_option *option, const char *name,
                              struct cli_value *value, struct err *err)
{
    switch (option->type) {
    case CLI_INT:
        return read_int(option, name, value, err);
    case CLI_DURATION:
        return read_duration_value(option, name, value, err);
    case CLI_CHOICE:
        return check_choice_value(option, name, value, err);
    case CLI_FLAG:
    case CLI_TEXT:
    case CLI_FILE:
    case CLI_FOLDER:
        break;
    }
    return true;
}

static bool set_option_value(struct parser *parser, const struct found *found, const char *text)
{
    if (found->option == &help_option) {
        parser->help = true;
        return true;
    }
    struct cli_value *value = &parser->values[found->option - parser->command->options];
    *value = (struct cli_value){.given = true, .text = text, .all = value->all};
    if (found->option->repeats)
        strv_add(&value->all, text);
    if (found->option->type == CLI_FLAG)
        return !text || check_choice_value(found->option, found->name, value, parser->err);
    return read_option_value(found->option, found->name, value, parser->err);
}

/* Flags glued together: "-lS" is -l and -S; the last may take a value. */
static bool unglue_flag(struct parser *parser, struct found *found)
{
    const char *rest = found->attached;
    char name[3] = {'-', rest[0], '\0'};
    bool glued = found->name[1] != '-' && rest[0] != '\0';
    struct found next;
    if (!glued || !find_exact(parser->command, name, 2, &next))
        return err_set(parser->err, "%s takes no value, but got '%s'", found->name, rest);
    next.attached = rest[1] ? rest + 1 : NULL;
    *found = next;
    return true;
}

static bool parse_found_option(struct parser *parser, struct found found)
{
    while (found.option->type == CLI_FLAG) {
        bool chosen = found.attached && found.option->choices;
        if (!set_option_value(parser, &found, chosen ? found.attached : NULL))
            return false;
        if (!found.attached || chosen || parser->help)
            return true;
        if (!unglue_flag(parser, &found))
            return false;
    }
    if (found.attached)
        return set_option_value(parser, &found, found.attached);
    const char *next = parser->at < parser->count ? parser->args[parser->at] : NULL;
    struct found ignored;
    if (!next || strcmp(next, "--") == 0 ||
        classify(parser->command, next, &ignored, NULL) != KIND_OPERAND)
        return err_set(parser->err, "%s needs a value: %s", found.name, found.option->argument);
    parser->at++;
    return set_option_value(parser, &found, next);
}

static bool unknown_option(const struct parser *parser, const char *arg)
{
    size_t count = parser->command->option_count;
    const char **names = mem_array(count + 1, sizeof *names);
    for (size_t i = 0; i < count; i++)
        names[i] = parser->command->options[i].long_name;
    AUTO_FREE char *nearest = problem_nearest(arg, names, count);
    free(names);
    const char *foreign = *nearest ? NULL : parser->command->foreign_options;
    const char *hint = *nearest ? NULL : parser->command->unknown_option_hint;
    return err_set(parser->err, "unknown option %s%s%s%s%s%s%s", arg, nearest,
                   foreign ? "; options of " : "", foreign ? foreign : "",
                   foreign ? " come behind --" : "", hint ? "; " : "", hint ? hint : "");
}

/* A script: what follows its name is its own. */
static bool ends_options(const struct cli_command *command, const struct strv *operands)
{
    return command->ends_options && operands->count == 1 &&
           command->ends_options(operands->items[0]);
}

static bool parse_arguments(struct parser *parser, struct strv *operands)
{
    while (parser->at < parser->count && !parser->help) {
        const char *arg = parser->args[parser->at++];
        struct found found;
        if (strcmp(arg, "--") == 0)
            break;
        switch (classify(parser->command, arg, &found, parser->err)) {
        case KIND_WRONG:
            return false;
        case KIND_UNKNOWN:
            return unknown_option(parser, arg);
        case KIND_OPTION:
            if (!parse_found_option(parser, found))
                return false;
            break;
        case KIND_OPERAND:
            strv_add(operands, arg);
            if (parser->command->stops_at_operand || ends_options(parser->command, operands))
                goto rest;
        }
    }
rest:
    while (parser->at < parser->count && !parser->help)
        strv_add(operands, parser->args[parser->at++]);
    return true;
}

static bool check_operands(const struct cli_command *command, struct strv *operands,
                           struct err *err)
{
    if (operands->count == 0 && command->operand_default)
        strv_add(operands, command->operand_default);
    const char *name = command->operand_name ? command->operand_name : "operand";
    if (operands->count < command->operand_min)
        return err_set(err, "%s is missing", name);
    if (operands->count > command->operand_max &&
        !ends_options(command, &(struct strv){.items = operands->items, .count = 1}))
        return err_set(err, "unexpected argument '%s'", operands->items[command->operand_max]);
    return true;
}

static void fill_defaults(const struct cli_command *command, struct cli_value *values)
{
    for (size_t i = 0; i < command->option_count; i++) {
        const struct cli_option *option = &command->options[i];
        if (values[i].given || !option->default_text)
            continue;
        values[i].text = option->default_text;
        /* A default is a row of our own table: some are words ("none"), whose number stays 0. */
        if (option->type == CLI_INT || option->type == CLI_DURATION)
            read_option_value(option, option->long_name, &values[i], NULL);
    }
}

bool options_parse(const struct cli_command *command, char *const *args, size_t count,
                   struct cli_call *out, bool *help, struct err *err)
{
    struct cli_value *values = mem_array(command->option_count + 1, sizeof *values);
    *out = (struct cli_call){.command = command, .values = values};
    struct parser parser = {
        .command = command, .values = values, .args = args, .count = count, .err = err};
    bool ok = parse_arguments(&parser, &out->operands);
    *help = ok && parser.help;
    if (!ok || parser.help)
        return ok;
    fill_defaults(command, values);
    return check_operands(command, &out->operands, err);
}

void options_fini(struct cli_call *call)
{
    struct cli_value *values = (struct cli_value *)(uintptr_t)call->values;
    for (size_t i = 0; values && call->command && i < call->command->option_count; i++)
        strv_fini(&values[i].all);
    free(values);
    strv_fini(&call->operands);
    *call = (struct cli_call){0};
}
