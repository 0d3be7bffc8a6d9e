/* window_smooth: the Kalman filter and smoother that join the counter and the power trace. */
#ifndef TARE_MEASURE_ENERGY_WINDOW_SMOOTH_H
#define TARE_MEASURE_ENERGY_WINDOW_SMOOTH_H

#include "measure/energy/window_private.h"

/* forward: offset_* know the knots before */
struct smooth_fit smooth_filter(const struct knots *knots, double scale);

/* backward: they know all */
void smooth_back(struct knots *knots, double scale);

/* The certainty that is lost from one knot to the next. */
double smooth_lost(const struct knot *from, const struct knot *to, double scale);

/* Follows a gain that changes, where the knots tell of one: fills the knots' gain, gain_sd and
 * followed_j, and takes that out of what was observed. gain_sd: before any knot is seen. */
bool smooth_follow_gain(struct knots *knots, double gain_sd);

/* The shape's variance, in the proportion of the knots' clock. */
double smooth_clock(const struct smooth *smooth, const struct shape_sum *sum);

struct smooth_place smooth_place(const struct knots *knots, const struct segment *segment,
                                 double clock);

/* Variance of offset(second) - offset(first), both in the same segment, first not later. */
double smooth_variance(const struct knots *knots, const struct segment *segment,
                       const struct smooth_place *first, const struct smooth_place *second);

#endif
