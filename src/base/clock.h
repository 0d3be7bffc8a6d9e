/* clock: the times tare writes down. */
#ifndef TARE_BASE_CLOCK_H
#define TARE_BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define NS_PER_S INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)

int64_t clock_monotonic_ns(void);
int64_t clock_realtime_ns(void);

/* Local time as the study writes it: 2025-11-15T16:54:19.379192 */
void clock_format_iso(int64_t realtime_ns, char out[40]);

/* Local time for a folder's name: 20251115_165419 */
void clock_format_stamp(int64_t realtime_ns, char out[20]);

/* For people: "3.2 s", "4 min 05 s", "2 h 03 min". */
void clock_format_duration(double seconds, char out[32]);

/* A duration as people write it: "90", "1.5s", "500ms", "10m", "2h", "1d" (without a unit: seconds). */
bool clock_parse_duration(const char *text, double *seconds, struct err *err);

#endif
