/* The options behind a script: which hyperparameters they are, and which values they get. */
#include "plan/starter.h"

#include "base/mem.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/value.h"
#include "plan/config/problem.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void starter_args_fini(struct starter_args *args)
{
    for (size_t i = 0; i < args->count; i++) {
        free(args->values[i].name);
        free(args->values[i].flag);
        strv_fini(&args->values[i].words);
    }
    free(args->values);
    strv_fini(&args->operands);
    strv_fini(&args->several);
    strv_fini(&args->warnings);
    *args = (struct starter_args){0};
}

static bool is_integer(const char *word)
{
    word += *word == '-';
    size_t digits = strspn(word, "0123456789");
    return digits > 0 && digits < 17 && word[digits] == '\0';
}

static bool is_number(const char *word)
{
    double number;
    return number_parse(word, &number);
}

/* ".5", "+1", "1." and "1E3" as number_parse reads them; what is no number stays as it is. Fresh. */
static char *plain_number(const char *word)
{
    const char *at = word + (*word == '+' || *word == '-');
    struct text out = {0};
    if (*word == '-')
        text_add_char(&out, '-');
    if (*at == '.')
        text_add_char(&out, '0');
    for (; *at; at++)
        if (*at != '.' || isdigit((unsigned char)at[1]))
            text_add_char(&out, (char)tolower((unsigned char)*at));
    char *plain = text_take(&out);
    if (is_number(plain))
        return plain;
    free(plain);
    return mem_strdup(word);
}

/* "1..3": all integers from one to the other. False: an error; not a range: 0 words are added and *is stays false. */
static bool add_range(const char *flag, const char *word, struct strv *words, bool *is, struct err *err)
{
    const char *dots = strstr(word, "..");
    *is = false;
    if (!dots)
        return true;
    AUTO_FREE char *low = mem_strndup(word, (size_t)(dots - word));
    const char *high = dots + 2;
    if (!is_number(low) || !is_number(high))
        return true;
    *is = true;
    if (!is_integer(low) || !is_integer(high))
        return err_set(err, "%s: %s: a range is made of integers, as 1..3; write other values with commas between",
                       flag, word);
    long long from = strtoll(low, NULL, 10), to = strtoll(high, NULL, 10);
    if (from > to)
        return err_set(err, "%s: the range %s begins above its end", flag, word);
    if (to - from >= STARTER_VALUES_MAX)
        return err_set(err, "%s: %s has more than %d values", flag, word, STARTER_VALUES_MAX);
    for (; from <= to; from++)
        strv_add_owned(words, mem_printf("%lld", from));
    return true;
}

static bool add_words(const struct starter_value *value, const char *given, struct strv *words, struct err *err)
{
    AUTO_TEXT struct text word = {0};
    bool ranges = value->type != SCRIPT_TEXT && value->type != SCRIPT_CHOICE;
    const char *initial = value->option ? value->option->initial : NULL;
    if (value->type == SCRIPT_TEXT && initial && strchr(initial, ',')) { /* commas belong to its values */
        strv_add(words, given);
        return true;
    }
    for (const char *at = given;; at++) {
        if (*at == '\\' && at[1] == ',') {
            text_add_char(&word, *++at);
            continue;
        }
        if (*at && *at != ',') {
            text_add_char(&word, *at);
            continue;
        }
        bool is_range = false;
        if (word.length == 0 && *given)
            return err_set(err, "%s: '%s' has an empty value between its commas", value->flag, given);
        if (ranges && !add_range(value->flag, text_get(&word), words, &is_range, err))
            return false;
        if (!is_range)
            strv_add(words, text_get(&word));
        if (words->count > STARTER_VALUES_MAX)
            return err_set(err, "%s has more than %d values", value->flag, STARTER_VALUES_MAX);
        if (!*at)
            return true;
        text_clear(&word);
    }
}

/* Written again as a number, it is the same to the script: 007 and 1.10 are not. */
static bool is_plainly_number(const char *word)
{
    struct value value = value_parse(word);
    AUTO_FREE char *again = value_format(&value);
    bool same = strcmp(again, word) == 0 || strpbrk(word, "eE");
    bool number = value.kind == VALUE_INT || value.kind == VALUE_FLOAT;
    value_fini(&value);
    return number && same;
}

static bool all_words(const struct strv *words, bool (*is)(const char *word))
{
    for (size_t i = 0; i < words->count; i++)
        if (!is(words->items[i]))
            return false;
    return true;
}

/* The words are of the type that the help says, or of a wider one. */
static void settle_type(struct starter_value *value, struct starter_args *out)
{
    bool known = value->type == SCRIPT_INT || value->type == SCRIPT_FLOAT;
    if (value->type != SCRIPT_UNKNOWN && !known)
        return;
    if (!known && !all_words(&value->words, is_plainly_number)) {
        value->type = SCRIPT_TEXT;
        return;
    }
    for (size_t i = 0; i < value->words.count; i++) {
        char *plain = plain_number(value->words.items[i]);
        free(value->words.items[i]);
        value->words.items[i] = plain;
    }
    bool numbers = all_words(&value->words, is_number);
    if (!numbers)
        strv_add_owned(
            &out->warnings,
            mem_printf(
                "%s: not all of its values are numbers, as its help makes one expect: they are passed as they are",
                value->flag));
    value->type = !numbers                                                              ? SCRIPT_TEXT
                  : all_words(&value->words, is_integer) && value->type != SCRIPT_FLOAT ? SCRIPT_INT
                                                                                        : SCRIPT_FLOAT;
}

static bool check_choices(const struct starter_value *value, struct err *err)
{
    const struct strv *choices = &value->option->choices;
    for (size_t i = 0; i < value->words.count; i++) {
        if (strv_has(choices, value->words.items[i]))
            continue;
        AUTO_FREE char *nearest =
            problem_nearest(value->words.items[i], (const char *const *)choices->items, choices->count);
        AUTO_FREE char *all = strv_join(choices, ", ");
        return err_set(err, "%s: '%s' is none of %s%s", value->flag, value->words.items[i], all, nearest);
    }
    return true;
}

static bool check_switch(const struct starter_value *value, struct err *err)
{
    for (size_t i = 0; i < value->words.count; i++) {
        const char *word = value->words.items[i];
        if (strcmp(word, "true") != 0 && strcmp(word, "false") != 0)
            return err_set(err, "%s takes no value, or =true,false for both, not '%s'", value->flag, word);
    }
    return true;
}

/* Takes value, whatever comes of it. */
static bool add_value(struct starter_args *out, struct starter_value value, const char *given, struct err *err)
{
    out->values = mem_room(out->values, out->count, &out->capacity, sizeof *out->values);
    struct starter_value *added = &out->values[out->count++];
    *added = value;
    for (size_t i = 0; i + 1 < out->count; i++)
        if (strcmp(out->values[i].name, value.name) == 0)
            return err_set(err, "%s is given twice: several values stand behind one, with commas between", value.flag);
    if (!add_words(added, given, &added->words, err))
        return false;
    settle_type(added, out);
    return added->type == SCRIPT_CHOICE   ? check_choices(added, err)
           : added->type == SCRIPT_SWITCH ? check_switch(added, err)
                                          : true;
}

static bool unknown(const char *flag, const struct script_help *help, struct err *err)
{
    AUTO_FREE const char **names = mem_array(2 * help->count + 1, sizeof *names);
    size_t count = 0;
    for (size_t i = 0; i < help->count; i++) {
        names[count++] = help->options[i].flag;
        if (help->options[i].off)
            names[count++] = help->options[i].off;
    }
    AUTO_FREE char *nearest = problem_nearest(flag, names, count);
    return err_set(err, "the script's help lists no option %s%s", flag, nearest);
}

/* A word that is a value though it begins with a dash: -0.1, -3..-1. */
static bool may_be_value(const char *word)
{
    return word && (word[0] != '-' || word[1] == '\0' || word[1] == '.' || isdigit((unsigned char)word[1]));
}

/* The option at args[*at], and what belongs to it. */
static bool take_option(char *const *args, size_t count, size_t *at, const struct script_help *help,
                        struct starter_args *out, struct err *err)
{
    const char *arg = args[*at], *equals = strchr(arg, '=');
    AUTO_FREE char *flag = mem_strndup(arg, equals ? (size_t)(equals - arg) : strlen(arg));
    const char *next = *at + 1 < count ? args[*at + 1] : NULL, *given = equals ? equals + 1 : NULL;
    bool off = false;
    const struct script_option *option = help ? script_help_find(help, flag, &off) : NULL;
    if (help && !option)
        return unknown(flag, help, err);
    struct starter_value value = {.option = option, .type = option ? option->type : SCRIPT_UNKNOWN};
    if (option && option->many) {
        strv_add(&out->several, arg);
        while (!equals && *at + 1 < count && may_be_value(args[*at + 1]))
            strv_add(&out->several, args[++*at]);
        return true;
    }
    bool is_switch = option ? option->type == SCRIPT_SWITCH : !given && !may_be_value(next);
    if (is_switch) {
        value.type = SCRIPT_SWITCH;
        given = given && !off ? given : off ? "false" : "true";
    } else if (!given) {
        if (!may_be_value(next))
            return err_set(err, "%s needs a value", flag);
        given = next;
        ++*at;
    }
    value.name = option ? mem_strdup(option->name) : script_param_name(flag);
    value.flag = option ? mem_strdup(option->flag) : steal_ptr(flag);
    return add_value(out, value, given, err);
}

bool starter_args_parse(char *const *args, size_t count, const struct script_help *help, struct starter_args *out,
                        struct err *err)
{
    *out = (struct starter_args){0};
    for (size_t i = 0; i < count; i++)
        if (!utf8_is_valid(args[i], strlen(args[i])))
            return err_set(err, "argument %zu behind the script is not UTF-8, which settings are written in", i + 1);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(args[i], "--") == 0) {
            for (i++; i < count; i++)
                if (args[i][0] == '-')
                    return err_set(
                        err,
                        "'%s' behind -- cannot be handed over: options come behind it on the script's command line",
                        args[i]);
                else
                    strv_add(&out->operands, args[i]);
            break;
        }
        if (may_be_value(args[i]))
            strv_add(&out->operands, args[i]);
        else if (!take_option(args, count, &i, help, out, err))
            return false;
    }
    return true;
}
