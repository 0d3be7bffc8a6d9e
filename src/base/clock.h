/* clock: the times tare writes down. */
#ifndef TARE_BASE_CLOCK_H
#define TARE_BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define NS_PER_S  INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)

static inline double ns_to_s(int64_t ns)
{
    return (double)ns / (double)NS_PER_S;
}

int64_t clock_monotonic_ns(void);
int64_t clock_realtime_ns(void);
/* the processor's time that this thread has used: nobody else's */
int64_t clock_thread_cpu_ns(void);

/* Local time as the study writes it: 2025-11-15T16:54:19.379192 */
void clock_format_iso(int64_t realtime_ns, char out[40]);

/* The same in a zone that is so much ahead of UTC. */
void clock_format_iso_at(int64_t realtime_ns, int64_t offset_s, char out[40]);

/* And with the offset behind it: 2025-11-15T16:54:19.379192+08:00 */
void clock_format_iso_offset(int64_t realtime_ns, int64_t offset_s, char out[40]);

/* How far this process's local time is ahead of UTC at that moment. */
int64_t clock_local_offset_s(int64_t realtime_ns);

/* "+08:00", "-03:30": as ISO 8601 has it behind a local time. */
void clock_format_offset(int64_t offset_s, char out[16]);

/* A zone as a run records it, so that its times can be read anywhere: without the zone's own file,
 * and with the changes to and from summer time that may come while it lasts. */
enum { CLOCK_ZONE_CHANGES = 8 };
struct clock_zone {
    char name[64]; /* "Asia/Shanghai", as TZ or /etc/localtime say it; else an abbreviation */
    size_t count;  /* 0: nothing is known of it */
    struct clock_zone_change {
        int64_t from_s;   /* since 1970 (UTC); the first also holds before it */
        int64_t offset_s; /* local time is so much ahead of UTC from then on */
    } changes[CLOCK_ZONE_CHANGES];
};

/* That of this process, from now on for 400 days. */
void clock_zone_here(int64_t realtime_ns, struct clock_zone *out);

/* Known zones only. */
int64_t clock_zone_offset_s(const struct clock_zone *zone, int64_t realtime_ns);

/* Local time for a folder's name: 20251115_165419 */
void clock_format_stamp(int64_t realtime_ns, char out[20]);

/* For people: "3.2 s", "4 min 05 s", "2 h 03 min". */
void clock_format_duration(double seconds, char out[32]);

/* A duration as people write it: "90", "1.5s", "500ms", "10m", "2h", "1d" (without a unit:
 * seconds). */
bool clock_parse_duration(const char *text, double *seconds, struct err *err);

#endif
