/* window_sampling: finds the sensor's update period and averaging time in a power trace. */
#ifndef TARE_MEASURE_ENERGY_WINDOW_SAMPLING_H
#define TARE_MEASURE_ENERGY_WINDOW_SAMPLING_H

#include "measure/energy/window_private.h"

/* period_s: 0 where it is to be learnt, and stays 0 where the trace changes too seldom. */
struct sampling sampling_learn(const struct power_sample *samples, size_t count, double period_s);

struct sampling_sums sampling_sums(const struct sampling *sampling, const struct shape *shape,
                                   double from, double to);

/* Variance of the energy there, J², by a sensor that looks at one instant of each period. */
double sampling_variance(const struct sampling_sums *sums, double period_s);

/* Power is rounded to step_w. Gives the share of the samples in [from,to] whose errors, were they
 * the same, would add up to those of all. Each value has its own error; neighbouring values that
 * are as frequent cancel. */
double sampling_rounded_share(const struct shape *shape, double from, double to, double step_w);

/* By how much the knots make it likelier that the counter adds at each update what the trace
 * shows then, times the period, than that it measures by itself: then what it adds differs, in
 * every second update, by up to what the trace changes there. */
double sampling_summed_odds(const struct sampling *sampling, const struct shape *shape,
                            const struct knots *knots, double period_s);

#endif
