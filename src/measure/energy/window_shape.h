/* window_shape: how power went over time, as running sums that can be asked at any moment: the integral, its variance
 * (the clock by which the integral loses its certainty) and the integral of the square. Times in seconds from an
 * origin. */
#ifndef TARE_MEASURE_ENERGY_WINDOW_SHAPE_H
#define TARE_MEASURE_ENERGY_WINDOW_SHAPE_H

#include "base/clock.h"
#include "measure/energy/window.h"

struct shape_sum {
    double energy_j;
    double var_j2; /* where power was sampled: its differences are the variance of differences of energy_j */
    double gap_j2; /* the same for gaps and beyond the ends */
    double square; /* W²s */
    double change_w, change_w2,
        changes; /* by how much power went up and down between samples, its squares, how often */
    double power_w;
};

struct shape_range {
    double power_min_w, power_max_w;
    double gap_s; /* longest step that begins in it */
};

struct shape_block {
    struct shape_sum before; /* of all steps before the block; power_w unused */
    struct shape_range range;
};

struct shape {
    int64_t origin_ns;
    double delay_s; /* a sample stands for the moment so long before its time */
    double gap_s;
    const struct power_sample *at; /* the series' own array, or own */
    struct power_sample *own;
    size_t count;
    bool real;                  /* there is a trace: not all samples were made from the counter */
    double range_w;             /* how far power may be off in a gap */
    struct shape_block *blocks; /* each of the same number of samples */
    struct shape_range *supers; /* each of the same number of blocks */
};

/* Seconds from b to a; exact to the nanosecond for spans under 100 days. Static, so that it is part of the loops that use it and not called from
 * them. */
static inline double shape_seconds(int64_t a_ns, int64_t b_ns)
{
    int64_t difference;
    if (__builtin_sub_overflow(a_ns, b_ns, &difference))
        return ((double)a_ns - (double)b_ns) / NS_PER_S;
    return (double)difference / NS_PER_S;
}

/* Takes the array over when own is true. */
void shape_init(struct shape *shape, int64_t origin_ns, const struct power_sample *samples, size_t count, bool own,
                bool real, const struct window_sensor *sensor);
void shape_fini(struct shape *shape);

/* The sums at t. Before the first and after the last sample power is held, and the variance grows with the square of
 * the time. With hint (0 at first, updated) neighbouring questions cost little. */
struct shape_sum shape_at(const struct shape *shape, double t, size_t *hint);

/* Over the samples in [from,to]; a window without a sample has the power at its edges. gap_s: the longest stretch of
 * the window without a sample. */
struct shape_range shape_extremes(const struct shape *shape, double from, double to);

/* Those in [from,to] are at[first] to at[end - 1]. */
void shape_samples(const struct shape *shape, double from, double to, size_t *first, size_t *end);

/* window_beats: does power look as if the load were in step with the sensor? Of a load that repeats about as often as the sensor looks,
 * the samples show a slower one, or one level of it alone. Some of these samples a slow load would not give. Times in seconds. */

struct beats {
    bool suspected;
    double power_min_w, power_max_w; /* of all samples that were checked; there is none: INFINITY, -INFINITY */
};

/* In the window [from,to] and some seconds around it. */
struct beats beats_find(const struct shape *shape, double from, double to);

#endif
