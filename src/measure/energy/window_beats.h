/* window_beats: bounds the energy that a load in step with the sensor's sampling may hide. */
#ifndef TARE_MEASURE_ENERGY_WINDOW_BEATS_H
#define TARE_MEASURE_ENERGY_WINDOW_BEATS_H

#include "measure/energy/window_private.h"

/* window_beats: what a load in step with the sensor may hide, at most, and what step marks tell
 * of it. Times in seconds. */

/* The most that the device draws on average; 0: not known. */
double sensor_held_w(const struct window_sensor *sensor);

/* What a load that repeats exactly as often as the sensor shows its power may draw more or less, on
 * average, than the mean that is shown (W, at most): no reading tells it from a steady one.
 * unseen_share: of the time; 0: what is shown are averages of all power, one each interval_s, which
 * an exponential mean or a boxcar of another length than the interval weighs unevenly. Power lies
 * between 0 and the sensor's limit, which must be known. */
double beats_hidden_w(const struct window_sensor *sensor, double unseen_share, double interval_s,
                      double mean_w);

/* In the window [from,to]. update_s: the sensor's period. steps: when each begins, in order; the
 * last one is an end alone. */
struct sample_phases sample_phases_of(const struct shape *shape, double update_s,
                                      const double *steps, size_t step_count, double from,
                                      double to);

#endif
