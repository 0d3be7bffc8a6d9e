#include "plan/script_usage.h"

#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>

/* The usage as one line; "" if there is none. */
static void find_usage(const char *text, size_t length, struct text *out)
{
    static const char begin[] = "usage:";
    bool within = false;
    for (size_t at = 0; at < length;) {
        const char *line = text + at, *newline = memchr(line, '\n', length - at);
        size_t size = newline ? (size_t)(newline - line) : length - at;
        bool begins = size >= sizeof begin - 1 && memcmp(line, begin, sizeof begin - 1) == 0;
        if (within && (size == 0 || *line != ' '))
            return;
        within = within || begins;
        for (size_t i = begins ? sizeof begin - 1 : 0;
             within && i < size && out->length < SCRIPT_HELP_BYTES; i++)
            text_add_char(out, isspace((unsigned char)line[i]) || !line[i] ? ' ' : line[i]);
        if (within)
            text_add_char(out, ' ');
        at += size + 1;
    }
}

static bool begins_usage_option(const char *at)
{
    return at[0] == '-' &&
           (isalpha((unsigned char)at[1]) || (at[1] == '-' && isalpha((unsigned char)at[2])));
}

/* Where an option ends that begins at at: at the bracket or bar that closes it, or at the next
 * one. */
static const char *find_end(const char *at)
{
    int depth = 0;
    for (const char *begin = at; *at; at++) {
        bool closes = *at == ']' || *at == ')' || *at == '}';
        if (depth == 0 &&
            (closes || *at == '|' ||
             (at > begin && at[-1] == ' ' && (begins_usage_option(at) || *at == '['))))
            /* "[N ...]" of a value that repeats belongs to it. */
            if (*at != '[' || begins_usage_option(at + 1))
                return at;
        depth += *at == '[' || *at == '(' || *at == '{';
        depth -= closes;
    }
    return at;
}

/* "--amp | --no-amp": one switch. */
static bool is_negation(const char *option, const char *before, size_t length)
{
    return strncmp(option, "--no-", 5) == 0 && length > 2 &&
           strncmp(option + 5, before + 2, length - 2) == 0 &&
           !isalnum((unsigned char)option[3 + length]);
}

void script_usage_parse(const char *text, size_t length, struct script_help *out)
{
    AUTO_TEXT struct text usage = {0};
    AUTO_TEXT struct text lines = {0};
    const char *before = NULL;
    size_t before_length = 0;
    find_usage(text, length, &usage);
    for (const char *at = text_get(&usage); *at;) {
        if (!begins_usage_option(at)) {
            at++;
            continue;
        }
        const char *end = find_end(at);
        size_t size = (size_t)(end - at);
        while (size > 0 && at[size - 1] == ' ')
            size--;
        text_add(&lines, before && is_negation(at, before, before_length) ? ", " : "\n  ");
        text_add_bytes(&lines, at, size);
        before = at;
        before_length = size;
        at = end;
    }
    script_help_parse(text_get(&lines), lines.length, out);
}
