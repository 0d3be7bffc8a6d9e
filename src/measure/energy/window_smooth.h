/* window_smooth: how much the counter is ahead of the trace's integral, from all knots of a segment together. Both
 * count the same joules, so the difference changes only by what the trace did not see: a random walk by the clock of
 * the shape's variance, observed at the knots with the error of their instants (a Kalman filter and its smoother). How much
 * the trace misses, how late it is and by which share it is off comes from the same knots, by their likelihood
 * (window_learn.c). */
#ifndef TARE_MEASURE_ENERGY_WINDOW_SMOOTH_H
#define TARE_MEASURE_ENERGY_WINDOW_SMOOTH_H

#include "measure/energy/window_knots.h"
#include "measure/energy/window_shape.h"

/* What the knots say about the trace. */
struct smooth {
    double ratio;         /* Birge's: below 1 the counter differs from the trace by less than the trace may miss */
    double scale;         /* of the variance between samples, so that it agrees with the counter: the ratio, at least 1 */
    double df;            /* its degrees of freedom */
    double gain, gain_sd; /* the counter rises faster than the trace's integral by this share */
    bool followed;        /* and by more or less from time to time: the knots' gain and followed_j */
    double delay_sd;      /* how uncertain the delay of the samples is; its mean becomes the shape's delay_s */
    double span_s;        /* over which a sample is a mean, accordingly: it is late by half of it */
};

/* Learns all of that from the knots, then fills what they hold for it; sets the shape's delay. */
struct smooth smooth_knots(struct knots *knots, struct shape *shape, const struct window_sensor *sensor);

/* How the knots fit: sums over them of the logarithm of each innovation's variance, and of the squares and products, by that variance,
 * of the innovation and of that of the trace's integral in its place. */
struct smooth_fit {
    double log_variances, innovation2, innovation_traced, traced2;
};
struct smooth_fit smooth_filter(const struct knots *knots, double scale); /* forward: offset_* know the knots before */
void smooth_back(struct knots *knots, double scale);                      /* backward: they know all */

/* The certainty that is lost from one knot to the next. */
double smooth_lost(const struct knot *from, const struct knot *to, double scale);
/* Birge's ratio, at least 1, of so many innovations whose squares by their variances have this sum. */
double smooth_scale(double innovation2, double innovations);
/* Follows a gain that changes, where the knots tell of one: fills the knots' gain, gain_sd and followed_j, and takes that out of
 * what was observed. gain_sd: before any knot is seen. */
bool smooth_follow_gain(struct knots *knots, double gain_sd);

/* Variance of the integral at t because a sample is a mean over span_s: a change is bent, what was within is hidden. */
double smooth_mean_variance(const struct shape *shape, double span_s, double t, size_t *hint);

/* The shape's variance, in the proportion of the knots' clock. */
double smooth_clock(const struct smooth *smooth, const struct shape_sum *sum);

/* The place of a moment among the knots of a segment: offset(t) = share_a·offset[a] + share_b·offset[b] + something with
 * variance own. */
struct smooth_place {
    size_t a, b;
    double share_b, own;
    double length; /* of the clock between a and b; 0 beyond the last knot on one side */
    int side;      /* -1 before the first knot, 1 after the last, 0 between */
    double clock;
    double offset_j, offset_w, offset_traced_j;
};
struct smooth_place smooth_place(const struct knots *knots, const struct segment *segment, double clock);
/* Variance of offset(second) - offset(first), both in the same segment, first not later. */
double smooth_variance(const struct knots *knots, const struct segment *segment, const struct smooth_place *first,
                       const struct smooth_place *second);

#endif
