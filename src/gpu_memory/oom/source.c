#include "gpu_memory/oom/source.h"

#include <string.h>

static size_t span(const char *line, size_t length, size_t from, const char *allowed)
{
    size_t i = from;
    while (i < length && line[i] && strchr(allowed, line[i]))
        i++;
    return i - from;
}

#define DIGITS  "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

static size_t literal(const char *line, size_t length, size_t from, const char *text)
{
    size_t count = strlen(text);
    return from + count <= length && memcmp(line + from, text, count) == 0 ? count : 0;
}

/* Each gives the length of all, and where the name begins and how long it is. */
static size_t bracketed(const char *line, size_t length, size_t *begin, size_t *count)
{
    size_t letters = span(line, length, 1, LETTERS), digits = span(line, length, 1 + letters, DIGITS);
    size_t end = 1 + letters + digits;
    *begin = 1;
    *count = end - 1;
    if (line[0] != '[' || digits == 0)
        return 0;
    if (letters > 0)
        return literal(line, length, end, "]:") ? end + 2 : 0;
    size_t more = literal(line, length, end, ",") ? span(line, length, end + 1, DIGITS) : 0;
    end += 1 + more;
    *count = end - 1;
    size_t which = literal(line, length, end, "]<stderr>:");
    which = which ? which : literal(line, length, end, "]<stdout>:");
    return more > 0 && which ? end + which : 0;
}

static size_t numbered(const char *line, size_t length, size_t *begin, size_t *count)
{
    size_t digits = span(line, length, 0, DIGITS);
    *begin = 0;
    *count = digits;
    return digits > 0 && digits < 6 && literal(line, length, digits, ": ") ? digits + 2 : 0;
}

static size_t of_ray(const char *line, size_t length, size_t *begin, size_t *count)
{
    size_t letters = span(line, length, 1, LETTERS DIGITS "."), at = 1 + letters;
    if (line[0] != '(' || letters == 0 || !literal(line, length, at, " pid="))
        return 0;
    size_t digits = span(line, length, at + 5, DIGITS);
    *begin = 1;
    *count = letters + 5 + digits;
    at += 5 + digits;
    if (literal(line, length, at, ", ip="))
        at += 5 + span(line, length, at + 5, DIGITS ".:abcdef");
    return digits > 0 && literal(line, length, at, ")") ? at + 1 : 0;
}

size_t source_read(const char *line, size_t length, char *out, size_t size)
{
    size_t begin = 0, count = 0, all = 0;
    out[0] = '\0';
    if (length > 0)
        all = bracketed(line, length, &begin, &count);
    if (length > 0 && all == 0)
        all = of_ray(line, length, &begin, &count);
    if (length > 0 && all == 0)
        all = numbered(line, length, &begin, &count);
    if (all == 0)
        return 0;
    count = count < size ? count : size - 1;
    memcpy(out, line + begin, count);
    out[count] = '\0';
    return all;
}
