#include "measure/marks/mark_line.h"

#include "base/utf8.h"

#include <string.h>

#define CLOCK_DIGITS_MAX 19

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void trim(const char **at, const char **end)
{
    while (*at < *end && is_blank(**at))
        ++*at;
    while (*at < *end && is_blank((*end)[-1]))
        --*end;
}

bool mark_label_is_valid(const char *label, size_t length)
{
    return length <= MARK_LABEL_MAX && utf8_is_printable(label, length);
}

static bool take_name(const char **at, const char *end, struct mark *out)
{
    const char *start = *at;
    while (*at < end && !is_blank(**at))
        ++*at;
    size_t length = (size_t)(*at - start);
    if (length > MARK_NAME_MAX || memchr(start, '\0', length))
        return false;
    memcpy(out->name, start, length);
    out->name[length] = '\0';
    return mark_name_is_valid(out->name);
}

/* The last word, when it is "@" and digits, is no part of the label. */
static bool take_clock(const char *at, const char **end, int64_t *out)
{
    const char *digits = *end;
    uint64_t number = 0;
    while (digits > at && digits[-1] >= '0' && digits[-1] <= '9')
        digits--;
    size_t count = (size_t)(*end - digits);
    if (count == 0 || digits == at || digits[-1] != '@' || (digits - 1 > at && !is_blank(digits[-2])))
        return false;
    for (size_t i = 0; i < count && count <= CLOCK_DIGITS_MAX; i++)
        number = number * 10 + (uint64_t)(digits[i] - '0');
    *end = digits - 1;
    *out = count <= CLOCK_DIGITS_MAX && number <= INT64_MAX ? (int64_t)number : -1;
    return true;
}

bool mark_line_parse(const char *line, size_t length, int64_t now_ns, struct mark *out)
{
    const char *at = line, *end = line + length;
    int64_t clock_ns;
    *out = (struct mark){.source = MARK_FIFO, .t_ns = now_ns};
    trim(&at, &end);
    if (at < end && *at == '/') {
        out->is_end = true;
        at++;
    }
    if (!take_name(&at, end, out))
        return false;
    trim(&at, &end);
    if (take_clock(at, &end, &clock_ns) && clock_ns <= now_ns && clock_ns >= now_ns - MARK_CLOCK_BACK_NS)
        out->t_ns = clock_ns;
    trim(&at, &end);
    if (!mark_label_is_valid(at, (size_t)(end - at)))
        return false;
    memcpy(out->label, at, (size_t)(end - at));
    return true;
}
