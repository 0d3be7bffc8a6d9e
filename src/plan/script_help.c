#include "plan/script_help.h"

#include "base/mem.h"
#include "base/text.h"
#include "base/utf8.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LINE_BYTES = 4096, HELP_BYTES = 2000, SPELLINGS_MAX = 20 };

static void option_fini(struct script_option *option)
{
    free(option->name);
    free(option->flag);
    free(option->off);
    free(option->initial);
    free(option->help);
    strv_fini(&option->spellings);
    strv_fini(&option->choices);
    *option = (struct script_option){0};
}

void script_help_fini(struct script_help *help)
{
    EACH (option, help->options, help->count)
        option_fini(option);
    free(help->options);
    *help = (struct script_help){0};
}

/* A letter must follow the dashes: -1 is a number. "--[no]amp" is absl's. */
static bool begins_help_option(const char *at)
{
    if (at[0] != '-')
        return false;
    return isalpha((unsigned char)at[1]) ||
           (at[1] == '-' && (isalnum((unsigned char)at[2]) || strncmp(at + 2, "[no]", 4) == 0));
}

static bool is_option_char(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.';
}

/* ---- One option. */

struct reader {
    struct script_help *out;
    struct script_option option; /* the one that is read; flag NULL: none */
    struct text help;            /* what the lines say of it */
    struct text metavar;
    size_t indent; /* of it */
    bool skipped;  /* a module of a library (absl) */
    bool in_usage;
    struct text usage; /* argparse's, to tell what is needed */
};

static void add_option_spelling(struct script_option *option, const char *spelling, size_t length,
                                bool off)
{
    if (option->spellings.count >= SPELLINGS_MAX)
        return;
    AUTO_FREE char *text = mem_strndup(spelling, length);
    const char *first = option->spellings.count ? option->spellings.items[0] : "--";
    const char *name = first + strspn(first, "-");
    /* "--amp, --no-amp", "--amp / --noamp" */
    if (strncmp(text, "--no", 4) == 0 && option->spellings.count)
        off = off || strcmp(text + 4, name) == 0 || strcmp(text + 4 + (text[4] == '-'), name) == 0;
    if (!off)
        strv_add_once(&option->spellings, text);
    else if (!option->off)
        option->off = steal_ptr(text);
}

/* A word of the description ends at a blank outside brackets. */
static size_t description_word_length(const char *at)
{
    size_t length = 0;
    int depth = 0;
    for (; at[length] && (depth > 0 || at[length] != ' '); length++) {
        depth += at[length] == '{' || at[length] == '[' || at[length] == '<';
        depth -= depth > 0 && (at[length] == '}' || at[length] == ']' || at[length] == '>');
    }
    return length;
}

/* "-b", "--batch-size=N", "--amp/--no-amp", "--[no]amp" */
static void read_spelling(struct reader *reader, const char *word, size_t length, bool off)
{
    struct script_option *option = &reader->option;
    size_t end = 0;
    if (length > 6 && strncmp(word, "--[no]", 6) == 0) {
        size_t name =
            strspn(word + 6, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");
        AUTO_FREE char *on = mem_printf("--%.*s", (int)name, word + 6);
        AUTO_FREE char *no = mem_printf("--no%.*s", (int)name, word + 6);
        add_option_spelling(option, on, strlen(on), false);
        add_option_spelling(option, no, strlen(no), true);
        return;
    }
    while (end < length && is_option_char(word[end]))
        end++;
    add_option_spelling(option, word, end, off);
    if (end + 1 < length && word[end] == '/' && begins_help_option(word + end + 1))
        read_spelling(reader, word + end + 1, length - end - 1, true);
    else if (end + 1 < length && word[end] == ',' && begins_help_option(word + end + 1))
        read_spelling(reader, word + end + 1, length - end - 1, off);
    else if (end + 1 < length && (word[end] == '=' || word[end] == '['))
        text_add_bytes(&reader->metavar, word + end + (word[end] == '='),
                       length - end - (word[end] == '='));
}

/* "-b N, --batch-size N": the value's name comes with each spelling up to Python 3.12. */
static void add_metavar(struct reader *reader, const char *word, size_t length)
{
    while (length > 0 && (word[length - 1] == ',' || word[length - 1] == ':'))
        length--;
    if (length == 0)
        return;
    if (reader->metavar.length)
        text_add_char(&reader->metavar, ' ');
    text_add_bytes(&reader->metavar, word, length);
}

static void read_description(struct reader *reader, const char *at, const char *end)
{
    AUTO_FREE char *copy = mem_strndup(at, (size_t)(end - at));
    bool off = false;
    for (const char *word = copy; *(word += strspn(word, " "));) {
        size_t length = description_word_length(word);
        if (length == 1 && *word == '/') {
            off = true;
        } else if (begins_help_option(word)) {
            if (reader->option.spellings.count && !off)
                text_clear(&reader->metavar);
            read_spelling(reader, word, length, off);
        } else {
            add_metavar(reader, word, length);
        }
        word += length;
    }
}

/* ---- The list. */

static bool only_prints(const char *name)
{
    static const char *const names[] = {"help",
                                        "h",
                                        "version",
                                        "helpfull",
                                        "helpshort",
                                        "helpxml",
                                        "help_all",
                                        "install_completion",
                                        "show_completion",
                                        "only_check_args",
                                        "flagfile",
                                        "undefok",
                                        NULL};
    for (size_t i = 0; names[i]; i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool has_name(const struct script_help *help, const char *name)
{
    EACH (option, help->options, help->count)
        if (strcmp(option->name, name) == 0)
            return true;
    return false;
}

static void name_option(struct script_option *option)
{
    const struct strv *all = &option->spellings;
    const char *flag = all->items[0];
    EACH (item, all->items, all->count)
        if (strncmp(*item, "--", 2) == 0) {
            flag = *item;
            break;
        }
    option->flag = mem_strdup(flag);
    option->name = script_param_name(flag);
}

/* In argparse's usage, options outside brackets are required. */
static bool is_needed_in_usage(const char *usage, const struct script_option *option)
{
    int depth = 0;
    for (const char *at = usage; *at; at++) {
        depth += *at == '[' || *at == '(';
        depth -= depth > 0 && (*at == ']' || *at == ')');
        for (size_t i = 0;
             depth == 0 && (at == usage || at[-1] == ' ') && i < option->spellings.count; i++) {
            size_t length = strlen(option->spellings.items[i]);
            if (strncmp(at, option->spellings.items[i], length) == 0 &&
                (at[length] == ' ' || at[length] == '\0'))
                return true;
        }
    }
    return false;
}

/* Takes what was read of one into the list. */
static void finish_option(struct reader *reader)
{
    struct script_option *option = &reader->option;
    if (option->spellings.count > 0) {
        name_option(option);
        script_option_describe(option, text_get(&reader->metavar), text_get(&reader->help));
        option->needed = option->needed || is_needed_in_usage(text_get(&reader->usage), option);
    }
    struct script_help *out = reader->out;
    if (option->name && *option->name && !only_prints(option->name) &&
        !has_name(out, option->name) && out->count < SCRIPT_OPTIONS_MAX) {
        out->options = mem_room(out->options, out->count, sizeof *out->options);
        out->options[out->count++] = *option;
    } else {
        option_fini(option);
    }
    *option = (struct script_option){0};
    text_clear(&reader->help);
    text_clear(&reader->metavar);
}

/* ---- The lines. */

/* Without what steers a terminal, and without the borders of a box: rich draws U+2502 at both ends,
 * or '|'. boxed: it had one. */
static void clean_line(const char *at, size_t length, struct text *out, bool *boxed)
{
    static const char bar[] = "\xe2\x94\x82";
    text_clear(out);
    *boxed = false;
    for (size_t i = 0; i < length && out->length < LINE_BYTES;) {
        if (at[i] == '\033' && i + 1 < length && at[i + 1] == '[') {
            for (i += 2; i < length && !(at[i] >= '@' && at[i] <= '~'); i++)
                continue;
            i++;
            continue;
        }
        struct utf8_step step = utf8_step(at + i, length - i);
        bool edge = strspn(text_get(out), " ") == out->length;
        if (step.length == 3 && memcmp(at + i, bar, 3) == 0) {
            *boxed = *boxed || edge;
            text_add_char(out, ' ');
        } else if (at[i] == '|' && edge && length - i > 1) {
            *boxed = true;
            text_add_char(out, ' ');
        } else if (at[i] == '\t') {
            text_add(out, "    ");
        } else {
            utf8_add_printable(at + i, step.length, "", out);
        }
        i += step.length;
    }
    while (out->length > 0 &&
           (out->data[out->length - 1] == ' ' || (*boxed && out->data[out->length - 1] == '|')))
        out->data[--out->length] = '\0';
}

/* In a box the columns are parted by blanks: spellings, the value's name (in capitals or brackets),
 * then the help. */
static const char *end_of_boxed(const char *at)
{
    const char *end = at;
    bool value = false;
    while (*end) {
        const char *next = end + strspn(end, " ");
        size_t length = description_word_length(next);
        bool upper = length > 0 && !value;
        for (size_t i = 0; i < length && upper; i++)
            upper = isupper((unsigned char)next[i]) || next[i] == '_';
        bool listed =
            *next == '[' && memchr(next, '|', length) && next[length - 1] == ']' && !value;
        bool range = value && next - end == 1 && strncmp(next, "RANGE", 5) == 0;
        bool bounds = value && next - end == 1 && *next == '[' && memchr(next, '<', length);
        if (!begins_help_option(next) && !upper && !listed && !range && !bounds)
            break;
        value = value || upper || listed;
        end = next + length;
    }
    return end;
}

/* absl: where "--name:" ends; NULL: it is not of that form. */
static const char *end_of_absl(const char *at)
{
    const char *end = at;
    while (*end && (is_option_char(*end) || *end == '[' || *end == ']' || *end == ','))
        end++;
    return *end == ':' && (end[1] == ' ' || end[1] == '\0') ? end : NULL;
}

static void begin_option(struct reader *reader, const char *at, size_t indent, bool boxed)
{
    finish_option(reader);
    reader->indent = indent;
    const char *absl = end_of_absl(at), *gap = strstr(at, "  ");
    const char *end = boxed ? end_of_boxed(at) : absl ? absl : gap ? gap : at + strlen(at);
    read_description(reader, at, end);
    at = end;
    if (absl && !boxed) {
        at++;
        at += strspn(at, " ");
        size_t length = description_word_length(at);
        bool listed = *at == '<' && length > 2 && at[length - 1] == ':';
        if (listed)
            text_add_bytes(&reader->metavar, at, length - 1);
        else if (!reader->option.off)
            text_add(&reader->metavar, "VALUE");
        at += listed ? length : 0;
    }
    text_add(&reader->help, at + strspn(at, " "));
}

/* A module of absl's own, or of a library that has many: what is listed below it is no option of
 * the script. */
static bool is_library(const char *line)
{
    static const char *const libraries[] = {"absl.", "jax",   "tensorflow", "tensorboard",
                                            "flax.", "orbax", "tensorstore"};
    EACH_OF (library, libraries)
        if (strncmp(line, *library, strlen(*library)) == 0 && line[strlen(line) - 1] == ':')
            return true;
    return false;
}

static void read_help_line(struct reader *reader, const char *line, bool boxed)
{
    size_t indent = strspn(line, " ");
    const char *at = line + indent;
    bool has = reader->option.spellings.count > 0;
    if (strstr(line, "--helpfull"))
        reader->out->more = true;
    if (!*at) {
        reader->in_usage = false;
        return;
    }
    if (strncasecmp(at, "usage:", 6) == 0 && reader->usage.length == 0) {
        reader->in_usage = true;
        if (*at == 'u') /* argparse's */
            text_add(&reader->usage, at + 6);
        return;
    }
    if (reader->in_usage) {
        if (reader->usage.length && reader->usage.length < LINE_BYTES * 4)
            text_addf(&reader->usage, " %s", at);
        return;
    }
    if (boxed && at[0] == '*' && at[1] == ' ' && begins_help_option(at + 1 + strspn(at + 1, " "))) {
        at += 1 + strspn(at + 1, " ");
        begin_option(reader, at, indent, true);
        reader->option.needed = true;
        return;
    }
    if (indent == 0 && !boxed && !begins_help_option(at)) {
        finish_option(reader);
        reader->skipped = is_library(line);
    } else if (strncmp(at, "\xe2\x95\xad", 3) == 0 || strncmp(at, "\xe2\x95\xb0", 3) == 0 ||
               strncmp(at, "+-", 2) == 0) {
        finish_option(reader);
    } else if (!reader->skipped && begins_help_option(at) &&
               (!has || indent <= reader->indent || (boxed && indent <= reader->indent + 4))) {
        begin_option(reader, at, indent, boxed);
    } else if (has && indent > reader->indent && reader->help.length < HELP_BYTES) {
        text_addf(&reader->help, "%s%s", reader->help.length ? " " : "", at);
    }
}

void script_help_parse(const char *text, size_t length, struct script_help *out)
{
    *out = (struct script_help){0};
    struct reader reader = {.out = out};
    AUTO_TEXT struct text line = {0};
    length = length < SCRIPT_HELP_BYTES ? length : SCRIPT_HELP_BYTES;
    for (size_t at = 0; at < length;) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t size = end ? (size_t)(end - (text + at)) : length - at;
        bool boxed;
        clean_line(text + at, size, &line, &boxed);
        read_help_line(&reader, text_get(&line), boxed);
        at += size + 1;
    }
    finish_option(&reader);
    text_fini(&reader.help);
    text_fini(&reader.metavar);
    text_fini(&reader.usage);
}

const struct script_option *script_help_find(const struct script_help *help, const char *spelling,
                                             bool *off)
{
    EACH (option, help->options, help->count) {
        *off = option->off && strcmp(option->off, spelling) == 0;
        if (*off || strv_has(&option->spellings, spelling))
            return option;
    }
    return NULL;
}
