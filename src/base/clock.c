#include "base/clock.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/value.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

int64_t clock_thread_cpu_ns(void)
{
    return now(CLOCK_THREAD_CPUTIME_ID);
}

void clock_format_iso(int64_t realtime_ns, char out[40])
{
    clock_format_iso_at(realtime_ns, clock_local_offset_s(realtime_ns), out);
}

/* The whole seconds before a moment, also right before 1970. */
static int64_t whole_seconds(int64_t ns)
{
    return ns / NS_PER_S - (ns % NS_PER_S < 0);
}

void clock_format_iso_at(int64_t realtime_ns, int64_t offset_s, char out[40])
{
    int64_t local_ns = realtime_ns + offset_s * NS_PER_S;
    time_t seconds = whole_seconds(local_ns);
    struct tm tm = {0};
    gmtime_r(&seconds, &tm);
    size_t used = strftime(out, 40, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(out + used, 40 - used, ".%06" PRId64, (local_ns - seconds * NS_PER_S) / 1000);
}

void clock_format_iso_offset(int64_t realtime_ns, int64_t offset_s, char out[40])
{
    char offset[16];
    clock_format_iso_at(realtime_ns, offset_s, out);
    clock_format_offset(offset_s, offset);
    strcat(out, offset);
}

void clock_format_offset(int64_t offset_s, char out[16])
{
    int64_t minutes = (llabs(offset_s) + 30) / 60;
    snprintf(out, 16, "%c%02" PRId64 ":%02" PRId64, offset_s < 0 ? '-' : '+', minutes / 60 % 100,
             minutes % 60);
}

static int64_t offset_at(int64_t second)
{
    time_t at = second;
    struct tm tm = {0};
    return localtime_r(&at, &tm) ? tm.tm_gmtoff : 0;
}

int64_t clock_local_offset_s(int64_t realtime_ns)
{
    return offset_at(whole_seconds(realtime_ns));
}

/* The first second after low, at or before high, whose offset differs from that of low. */
static int64_t find_offset_change(int64_t low, int64_t high)
{
    int64_t before = offset_at(low);
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        *(offset_at(middle) == before ? &low : &high) = middle;
    }
    return high;
}

static void name_zone(int64_t now_s, struct clock_zone *out)
{
    static const char database[] = "zoneinfo/";
    char path[256] = "";
    const char *variable = getenv("TZ");
    if (variable && *variable)
        snprintf(path, sizeof path, "%s", variable + (*variable == ':'));
    else if (readlink("/etc/localtime", path, sizeof path - 1) < 0)
        *path = '\0';
    const char *name = strstr(path, database);
    name = name ? name + strlen(database) : variable && *variable ? path : "";
    time_t at = now_s;
    struct tm tm = {0};
    if (!*name && localtime_r(&at, &tm) && tm.tm_zone)
        name = tm.tm_zone;
    snprintf(out->name, sizeof out->name, "%.*s", (int)sizeof out->name - 1, name);
}

void clock_zone_here(int64_t realtime_ns, struct clock_zone *out)
{
    enum { DAY_S = 24 * 3600, DAYS = 400 };
    int64_t now_s = realtime_ns / NS_PER_S;
    *out = (struct clock_zone){.count = 1, .changes[0] = {now_s, offset_at(now_s)}};
    name_zone(now_s, out);
    for (int64_t day = 0; day < DAYS && out->count < CLOCK_ZONE_CHANGES; day++) {
        int64_t from = now_s + day * DAY_S, to = from + DAY_S;
        if (offset_at(from) == offset_at(to))
            continue;
        out->changes[out->count++] =
            (struct clock_zone_change){find_offset_change(from, to), offset_at(to)};
    }
}

int64_t clock_zone_offset_s(const struct clock_zone *zone, int64_t realtime_ns)
{
    size_t i = zone->count;
    while (i > 1 && zone->changes[i - 1].from_s * NS_PER_S > realtime_ns)
        i--;
    return i ? zone->changes[i - 1].offset_s : 0;
}

void clock_format_stamp(int64_t realtime_ns, char out[20])
{
    struct tm tm = {0};
    time_t seconds = whole_seconds(realtime_ns);
    localtime_r(&seconds, &tm);
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
        EACH_OF (unit, units)
            if (strcmp(text + length, unit->name) == 0 && isfinite(count * unit->seconds)) {
                *seconds = count * unit->seconds;
                return true;
            }
    return err_set(err, "'%s' is no duration (such as 90, 1.5s, 500ms, 10m, 2h or 1d)", text);
}
