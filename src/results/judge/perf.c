#include "results/judge/perf.h"

#include "results/judge/figure.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { LONGEST_LINE = 400 };

static bool month_of(const char *name, int *out)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (int i = 0; i < 12; i++)
        if (strncmp(names + 3 * (size_t)i, name, 3) == 0) {
            *out = i;
            return true;
        }
    return false;
}

/* "# started on Tue Nov 18 16:36:59 2025" */
static void take_started(const char *line, struct perf *out)
{
    struct tm tm = {0};
    char month[4] = "";
    if (sscanf(line, "# started on %*3s %3s %2d %2d:%2d:%2d %4d", month, &tm.tm_mday, &tm.tm_hour, &tm.tm_min,
               &tm.tm_sec, &tm.tm_year) != 6 ||
        !month_of(month, &tm.tm_mon))
        return;
    if (tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_hour < 0 || tm.tm_hour > 23 || tm.tm_min < 0 || tm.tm_min > 59 ||
        tm.tm_sec < 0 || tm.tm_sec > 60 || tm.tm_year < 1970)
        return;
    tm.tm_year -= 1900;
    out->started_local_s = timegm(&tm);
    out->has_started = true;
}

/* The figure at the beginning of a line; false: none, or absent. */
static bool leading(const char *line, const char *unit, struct reading *out)
{
    const char *at = line + strspn(line, " \t");
    const char *end = strstr(at, unit);
    if (!end || figure_read(at, end, &out->value) != FIGURE_IS)
        return false;
    out->valid = true;
    return true;
}

/* "Package Energy (Joules): 733.17" */
static void trailing(const char *line, struct reading *out)
{
    const char *colon = strchr(line, ':');
    if (colon && figure_read(colon + 1, colon + strlen(colon), &out->value) == FIGURE_IS)
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
