/* series: what the meter of one device has read, in the order of time, and how often it has
 * something new. All times are CLOCK_MONOTONIC of this boot. */
#ifndef TARE_MACHINE_SENSORS_SERIES_H
#define TARE_MACHINE_SENSORS_SERIES_H

#include "base/reading.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One call that read an energy counter. The value is that of some moment at most one update period
 * before the call's end. */
struct counter_reading {
    int64_t before_ns, after_ns; /* around the call */
    /* since an unknown beginning; can go backwards (driver reload, GPU reset) */
    uint64_t energy_mj;
};

struct power_sample {
    int64_t t_ns;
    double power_w;
};

struct series {
    struct counter_reading *counter;
    size_t counter_count;
    struct power_sample *power; /* strictly ascending in time */
    size_t power_count;
};

void series_fini(struct series *series);
void series_add_counter(struct series *series, struct counter_reading reading);
/* A sample that is not later than the last one is left out: drivers hand out their buffer again and
 * again. */
void series_add_power(struct series *series, struct power_sample sample);

/* How often a sensor gives something new, from what was read of it. */

/* Seconds between two updates of the counter: from changes that were each seen narrowly and with
 * nothing left unread in between (METER_EDGE, several times without pause). */
struct rhythm {
    struct reading period_s; /* mean; absent: no two such changes */
    double half_width_s; /* how far the mean can be off, as each change came between two calls */
    size_t periods;      /* that it is the mean of */
};
struct rhythm rhythm_counter(const struct series *series);

/* For how long the counter showed the same at most, as far as it was surely read: the longest time
 * between two updates is at least that. 0: it was never read twice between two updates. */
double rhythm_counter_steady_s(const struct series *series);

/* Samples of the power trace a second. */
struct reading rhythm_trace_hz(const struct series *series);

#endif
