/* energy_budget: how uncertain a measured energy is, component by component: what its read-out may have missed, and the
 * sensor's gain. docs/explanation/uncertainty.md describes each of them. */
#ifndef TARE_MEASURE_ENERGY_ENERGY_BUDGET_H
#define TARE_MEASURE_ENERGY_ENERGY_BUDGET_H

#include "measure/energy/sensor_gains.h"
#include "measure/energy/window.h"
#include "stats/budget.h"

struct energy_budget {
    struct budget components;   /* those that contribute nothing are left out; the gain is the last, and always there */
    struct budget_sum read_out; /* of all but the gain and loads in step with the sensor */
    struct budget_sum total;    /* not complete: the gain is not known, or what a load in step may hide */
};

/* window: with an energy and a half-width. */
void energy_budget(const struct window_energy *window, const struct sensor_gain *gain, struct energy_budget *out);

/* Of the sum of two devices' energies. Their read-outs err independently; their gains as if both erred alike, as it is not
 * known that they do not. */
void energy_budget_add_parts(struct window_parts *to, const struct window_parts *more);
struct sensor_gain energy_budget_add_gain(double energy_j, const struct sensor_gain *gain, double more_j,
                                          const struct sensor_gain *more);

#endif
