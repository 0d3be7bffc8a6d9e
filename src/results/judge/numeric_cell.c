#include "results/judge/numeric_cell.h"
#include "base/mem.h"

#include "base/value.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum { MOST_DIGITS = 18, LONGEST = 100 };

/* Powers of ten that are doubles exactly. */
static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,
                                1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19};

static bool is_digit(char c)
{
    return (unsigned)(c - '0') < 10;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Digits with at most one point and nothing else: both mantissa and power of ten are exact, so one
 * division rounds once, and correctly. False: something else, or too long for it. */
static inline bool read_plain(const char *at, const char *end, double *out)
{
    bool negative = at < end && *at == '-';
    at += negative;
    uint64_t mantissa = 0;
    const char *from = at;
    while (at < end && is_digit(*at))
        mantissa = mantissa * 10 + (uint64_t)(*at++ - '0');
    long digits = at - from, fraction = 0;
    if (digits == 0 || digits > MOST_DIGITS)
        return false;
    if (at < end && *at == '.') {
        from = ++at;
        while (at < end && is_digit(*at))
            mantissa = mantissa * 10 + (uint64_t)(*at++ - '0');
        fraction = at - from;
        if (fraction == 0 || digits + fraction > MOST_DIGITS)
            return false;
    }
    if (at != end || mantissa > (UINT64_C(1) << 53))
        return false;
    double value = (double)mantissa / powers[fraction];
    *out = negative ? -value : value;
    return true;
}

static bool is_absent(const char *at, const char *end)
{
    static const char *const words[] = {"",
                                        "[N/A]",
                                        "[Not Supported]",
                                        "nan",
                                        "NaN",
                                        "[Unknown Error]",
                                        "[GPU requires reset]",
                                        "Not Supported",
                                        "None",
                                        "null",
                                        "-",
                                        "<not supported>",
                                        "<not counted>",
                                        "ERR!"};
    size_t length = (size_t)(end - at);
    if (length == 3 && memcmp(at, "N/A", 3) == 0)
        return true;
    EACH_OF (word, words)
        if (strlen(*word) == length && memcmp(*word, at, length) == 0)
            return true;
    return false;
}

/* Groups of three digits behind the first comma: "1,234,567.8". Copies without the commas; 0: not
 * so. */
static size_t without_commas(const char *at, const char *end, char out[LONGEST])
{
    size_t length = 0;
    const char *s = at < end && *at == '-' ? at + 1 : at;
    long group = 0, groups = 0;
    if (s > at)
        out[length++] = '-';
    for (; s < end && (is_digit(*s) || *s == ','); s++) {
        if (*s != ',') {
            group++;
            out[length++] = *s;
            continue;
        }
        if (group == 0 || group > 3 || (groups > 0 && group != 3))
            return 0;
        group = 0;
        groups++;
    }
    if (groups > 0 && group != 3)
        return 0;
    while (s < end)
        out[length++] = *s++;
    return length;
}

static const char *before_unit(const char *at, const char *end)
{
    static const char *const units[] = {"W", "%", "C", "J", "MiB", "Joules"};
    EACH_OF (unit, units) {
        long length = (long)strlen(*unit);
        if (end - at <= length || memcmp(end - length, *unit, (size_t)length) != 0)
            continue;
        end -= length;
        while (end > at && is_blank(end[-1]))
            end--;
        return end;
    }
    return end;
}

/* All that is not plain. */
static enum numeric_cell_kind read_slow(const char *at, const char *end, double *out)
{
    char text[LONGEST + 1];
    if (is_absent(at, end))
        return FIGURE_ABSENT;
    if (end - at >= LONGEST)
        return FIGURE_BAD;
    end = before_unit(at, end);
    size_t length = without_commas(at, end, text);
    text[length] = '\0';
    if (length == 0 || strlen(text) != length)
        return FIGURE_BAD;
    return number_parse(text, out) && isfinite(*out) ? FIGURE_IS : FIGURE_BAD;
}

enum numeric_cell_kind numeric_cell_read(const char *at, const char *end, double *out)
{
    if (read_plain(at, end, out))
        return FIGURE_IS;
    while (at < end && is_blank(*at))
        at++;
    while (end > at && is_blank(end[-1]))
        end--;
    return read_plain(at, end, out) ? FIGURE_IS : read_slow(at, end, out);
}

bool numeric_cell_read_whole(const char *at, const char *end, int64_t *out)
{
    if (at == end || end - at > MOST_DIGITS)
        return false;
    int64_t value = 0;
    for (; at < end; at++) {
        if (!is_digit(*at))
            return false;
        value = value * 10 + (*at - '0');
    }
    *out = value;
    return true;
}

enum { LONGEST_LINE = 400 };

/* "# started on Tue Nov 18 16:36:59 2025" */
static void take_started(const char *line, struct perf *out)
{
    struct tm tm = {0};
    if (!strptime(line, "# started on %a %b %d %H:%M:%S %Y", &tm) || tm.tm_year < 70)
        return;
    out->started_local_s = timegm(&tm);
    out->has_started = true;
}

/* The figure at the beginning of a line; false: none, or absent. */
static bool leading(const char *line, const char *unit, struct reading *out)
{
    const char *at = line + strspn(line, " \t");
    const char *end = strstr(at, unit);
    if (!end || numeric_cell_read(at, end, &out->value) != FIGURE_IS)
        return false;
    out->valid = true;
    return true;
}

/* "Package Energy (Joules): 733.17" */
static void trailing(const char *line, struct reading *out)
{
    const char *colon = strchr(line, ':');
    if (colon && numeric_cell_read(colon + 1, colon + strlen(colon), &out->value) == FIGURE_IS)
        out->valid = true;
}

static void take_line(const char *line, struct perf *out)
{
    if (strncmp(line, "# started on ", 13) == 0)
        take_started(line, out);
    else if (strstr(line, "Joules power/energy-pkg/"))
        leading(line, " Joules", &out->package_j);
    else if (strstr(line, "Joules power/energy-ram/"))
        leading(line, " Joules", &out->dram_j);
    else if (strstr(line, " seconds time elapsed"))
        leading(line, " seconds", &out->elapsed_s);
    else if (strncmp(line, "Package Energy (Joules)", 23) == 0)
        trailing(line, &out->package_j);
    else if (strncmp(line, "RAM Energy (Joules)", 19) == 0)
        trailing(line, &out->dram_j);
}

void perf_parse(const char *text, size_t count, struct perf *out)
{
    *out = (struct perf){0};
    for (const char *at = text, *end = text + count; at < end;) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        const char *next = line_end ? line_end + 1 : end;
        char line[LONGEST_LINE];
        size_t length = (size_t)((line_end ? line_end : end) - at);
        if (length < sizeof line) {
            memcpy(line, at, length);
            line[length] = '\0';
            take_line(line, out);
        }
        at = next;
    }
}

enum { MOST_DECIMALS = 6 };

unsigned numeric_decimals(double value, unsigned least)
{
    /* Far less than the next decimal would be, far more than a binary fraction is off. */
    static const double near = 1e-5;
    while (least < MOST_DECIMALS &&
           fabs(value * powers[least] - nearbyint(value * powers[least])) > near)
        least++;
    return least;
}

double numeric_half_unit(unsigned decimals)
{
    return 0.5 / powers[decimals];
}
