/* Running sums over a power trace: its integral and the variance of that, at any moment. */
#ifndef TARE_MEASURE_ENERGY_WINDOW_SHAPE_H
#define TARE_MEASURE_ENERGY_WINDOW_SHAPE_H

#include "measure/energy/window_private.h"

/* Takes the array over when own is true. */
void shape_init(struct shape *shape, int64_t origin_ns, const struct power_sample *samples,
                size_t count, bool own, bool real, const struct window_sensor *sensor);
void shape_fini(struct shape *shape);

/* The sums at t. Before the first and after the last sample power is held, and the variance grows
 * with the square of the time. With hint (0 at first, updated) neighbouring questions cost
 * little. */
struct shape_sum shape_at(const struct shape *shape, double t, size_t *hint);
/* Of the same its energy or its power alone. */
double shape_energy_j(const struct shape *shape, double t, size_t *hint);
double shape_power_w(const struct shape *shape, double t, size_t *hint);

/* Over the samples in [from,to]; a window without a sample has the power at its edges. gap_s: the
 * longest stretch of the window without a sample. */
struct shape_range shape_extremes(const struct shape *shape, double from, double to);

/* Those in [from,to] are at[first] to at[end - 1]. */
void shape_samples(const struct shape *shape, double from, double to, size_t *first, size_t *end);

#endif
