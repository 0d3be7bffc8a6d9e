/* window_learn: learns delay, gain and noise of a counter from the power trace. */
#ifndef TARE_MEASURE_ENERGY_WINDOW_LEARN_H
#define TARE_MEASURE_ENERGY_WINDOW_LEARN_H

#include "measure/energy/window_private.h"

/* Learns all of that from the knots, then fills what they hold for it; sets the shape's delay. */
struct smooth smooth_knots(struct knots *knots, struct shape *shape,
                           const struct window_sensor *sensor);

/* Birge's ratio, at least 1, of so many innovations whose squares by their variances have this
 * sum. */
double smooth_scale(double innovation2, double innovations);

/* Variance of the integral at t because a sample is a mean over span_s: a change is bent, what was
 * within is hidden. */
double smooth_mean_variance(const struct shape *shape, double span_s, double t, size_t *hint);

#endif
