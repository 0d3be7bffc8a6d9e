#include "base/clock.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/value.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t now(clockid_t which)
{
    struct timespec t = {0};
    clock_gettime(which, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

int64_t clock_monotonic_ns(void)
{
    return now(CLOCK_MONOTONIC);
}

int64_t clock_realtime_ns(void)
{
    return now(CLOCK_REALTIME);
}

/* Broken-down local time; the part of a second is returned, also right before 1970. */
static int64_t split(int64_t realtime_ns, struct tm *out)
{
    int64_t rest = realtime_ns % NS_PER_S;
    time_t seconds = realtime_ns / NS_PER_S;
    if (rest < 0) {
        rest += NS_PER_S;
        seconds--;
    }
    localtime_r(&seconds, out);
    return rest;
}

void clock_format_iso(int64_t realtime_ns, char out[40])
{
    struct tm tm = {0};
    int64_t rest = split(realtime_ns, &tm);
    size_t used = strftime(out, 40, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(out + used, 40 - used, ".%06" PRId64, rest / 1000);
}

void clock_format_stamp(int64_t realtime_ns, char out[20])
{
    struct tm tm = {0};
    split(realtime_ns, &tm);
    strftime(out, 20, "%Y%m%d_%H%M%S", &tm);
}

void clock_format_duration(double seconds, char out[32])
{
    if (!(fabs(seconds) < 1e12)) {
        strcpy(out, "unknown");
        return;
    }
    double magnitude = fabs(seconds);
    /* Rounded first, divided after: 59.97 s are "1 min 00 s", never "60.0 s". */
    long long tenths = llround(magnitude * 10);
    long long whole = llround(magnitude);
    long long minutes = llround(magnitude / 60);
    const char *sign = seconds < 0 && tenths ? "-" : "";
    if (tenths < 600)
        snprintf(out, 32, "%s%lld.%lld s", sign, tenths / 10, tenths % 10);
    else if (whole < 3600)
        snprintf(out, 32, "%s%lld min %02lld s", sign, whole / 60, whole % 60);
    else
        snprintf(out, 32, "%s%lld h %02lld min", sign, minutes / 60, minutes % 60);
}

static const struct {
    const char *name;
    double seconds;
} units[] = {{"", 1}, {"ms", 0.001}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};

bool clock_parse_duration(const char *text, double *seconds, struct err *err)
{
    size_t length = strcspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    AUTO_FREE char *number = mem_strndup(text, length);
    double count;
    if (*number != '-' && number_parse(number, &count))
        for (size_t i = 0; i < sizeof units / sizeof *units; i++)
            if (strcmp(text + length, units[i].name) == 0 && isfinite(count * units[i].seconds)) {
                *seconds = count * units[i].seconds;
                return true;
            }
    return err_set(err, "'%s' is no duration (such as 90, 1.5s, 500ms, 10m, 2h or 1d)", text);
}
