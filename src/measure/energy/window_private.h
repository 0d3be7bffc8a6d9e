/* window_private: what window*.c share: the power over time, the knots of a counter, how the two
 * are brought together, and the index of both. */
#ifndef TARE_MEASURE_ENERGY_WINDOW_PRIVATE_H
#define TARE_MEASURE_ENERGY_WINDOW_PRIVATE_H

#include "base/clock.h"
#include "measure/energy/window.h"
#include "stats/interval.h"

/* window_shape: how power went over time, as running sums that can be asked at any moment: the
 * integral, its variance (the clock by which the integral loses its certainty) and the integral of
 * the square. Times in seconds from an origin. */

struct shape_sum {
    double energy_j;
    /* where power was sampled: its differences are the variance of differences of energy_j */
    double var_j2;
    double gap_j2;  /* the same for gaps and beyond the ends */
    double square;  /* W²s */
    double changes; /* steps from one sample to the next */
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

/* Seconds from b to a; exact to the nanosecond for spans under 100 days. Static, so that it is part
 * of the loops that use it and not called from them. */
static inline double shape_seconds(int64_t a_ns, int64_t b_ns)
{
    int64_t difference;
    if (__builtin_sub_overflow(a_ns, b_ns, &difference))
        return ((double)a_ns - (double)b_ns) / NS_PER_S;
    return (double)difference / NS_PER_S;
}

/* Where in a job's steps the samples lie, and how evenly. */
struct sample_phases {
    size_t count;  /* samples within steps */
    double part_s; /* how much of the time lies in steps that were marked */
    /* 0: evenly, as far as so many samples can be; 1: always at the same part, or nobody can
     * tell */
    double uneven;
};

/* window_knots: from the readings of a counter to knots: values with the stretch of time in which
 * the counter came to show them. A counter that goes backwards, jumps or stands still is cut there:
 * each segment is a counter of its own. Times in seconds. */

/* The update instant lies between lo_a and hi_b: its probability rises from lo_a to lo_b, is even
 * up to hi_a, falls to hi_b. */
struct knot {
    double lo_a, lo_b, hi_a, hi_b;
    double at;      /* mean of the instant */
    double value_j; /* since the segment's first knot */
    bool inferred;  /* located by its successor alone: its error is not another one */
    /* Filled by window_smooth.c: the offset of the counter from the trace's integral here. */
    double sampled_j2, gap_j2;       /* the shape's variances at the instant */
    double clock;                    /* both, in the right proportion */
    double observed_j, observed_var; /* from this knot alone */
    double power_w, traced_j;        /* of the shape, in the mean over the stretch */
    /* best estimate from all knots of the segment, and its variance */
    double offset_j, offset_var;
    /* by how much offset_j falls for a second of delay, for a gain of 1 */
    double offset_w, offset_traced_j;
    double gain, gain_sd,
        /* where the gain is followed: here, and the part of the counter's rise until here that it
         * explains */
        followed_j;
    double log_link; /* sum of the links' logarithms: exp of a difference is what two knots share */
};

struct segment {
    size_t first, count;         /* knots; can be none in a segment that stands for "no counter" */
    double from;                 /* the segment reaches from here to the next one's from */
    double fault_from, fault_to; /* in which that was seen */
    /* faults of each kind up to and with this one */
    size_t backwards_before, jumped_before, stood_before;
    double energy_before_j; /* of the index's running energy */
    /* of the whole segments before this one */
    double var_before;
};

struct knots {
    struct knot *items;
    size_t count;
    struct segment *segments;
    size_t segment_count;
};

/* window_smooth: how much the counter is ahead of the trace's integral, from all knots of a segment
 * together. Both count the same joules, so the difference changes only by what the trace did not
 * see: a random walk by the clock of the shape's variance, observed at the knots with the error of
 * their instants (a Kalman filter and its smoother). How much the trace misses, how late it is and
 * by which share it is off comes from the same knots, by their likelihood (window_learn.c). */

/* What the knots say about the trace. */
struct smooth {
    /* Birge's: below 1 the counter differs from the trace by less than the trace may miss */
    double ratio;
    /* of the variance between samples, so that it agrees with the counter: the ratio, at least 1 */
    double scale;
    double df;            /* its degrees of freedom */
    double gain, gain_sd; /* the counter rises faster than the trace's integral by this share */
    /* and by more or less from time to time: the knots' gain and followed_j */
    bool followed;
    /* how uncertain the delay of the samples is; its mean becomes the shape's delay_s */
    double delay_sd;
    double span_s; /* over which a sample is a mean, accordingly: it is late by half of it */
};

/* How the knots fit: sums over them of the logarithm of each innovation's variance, and of the
 * squares and products, by that variance, of the innovation and of that of the trace's integral in
 * its place. */
struct smooth_fit {
    double log_variances, innovation2, innovation_traced, traced2;
};

/* The place of a moment among the knots of a segment: offset(t) = share_a·offset[a] +
 * share_b·offset[b] + something with variance own. */
struct smooth_place {
    size_t a, b;
    double share_b, own;
    double length; /* of the clock between a and b; 0 beyond the last knot on one side */
    int side;      /* -1 before the first knot, 1 after the last, 0 between */
    double clock;
    double offset_j, offset_w, offset_traced_j;
};

/* window_sampling: how the trace's values follow each other, and what is missed by a sensor that
 * looks for a part of the time only, of a load that is not in step with it. Times in seconds. */

struct sampling {
    double period_s; /* from one update of the trace to the next */
    double span_s;   /* over which a value may be a mean; 0: too few changes to tell */
};

/* Over the updates in a stretch of time. */
struct sampling_sums {
    double squares, products; /* of changes, W²; of neighbouring ones, by their distance, W²s */
    double near, far;         /* squares of differences over some updates, W² */
    double drift; /* above 1: power goes more slowly from one level to another than in steps */
};

/* window_index: what all windows of a series share: the running energy and what covers which time.
 * Private to window*.c. */

struct window_index {
    struct window_sensor sensor;
    int64_t origin_ns;
    bool empty;
    struct shape shape;
    struct knots knots;
    struct smooth smooth;
    struct spans traced;  /* where the trace has no gap */
    struct spans counted; /* between the first and the last knot of each segment */
    struct spans covered; /* either */
    struct sampling sampling;
    double summed;       /* how likely it is that the counter adds up the trace's readings */
    bool counter_placed; /* the counter's own lag is known */
    double lag_s;        /* the running energy shows what was drawn so long before */
    double *steps;       /* when a job's steps began, in order */
    size_t step_count;
    double power_quantum_w;
    double smoothed_s; /* and of an exponential mean, with this time constant */
};

/* A moment, and the running energy there. */
struct index_moment {
    double t, energy_j;
    size_t segment;
    struct shape_sum sum;
    struct smooth_place place;
};

/* Variance of the running energy between two moments: of what the readings tell, without what edges
 * add. */
double index_variance(const struct window_index *index, const struct index_moment *from,
                      const struct index_moment *to);

#endif
