/* measurement: uncertainty of the measurement in means and ratios of energies. */
#ifndef TARE_RESULTS_JUDGE_MEASUREMENT_H
#define TARE_RESULTS_JUDGE_MEASUREMENT_H

#include "results/judge/summary_stats.h"

/* Of the mean of a quantity ("gpu_energy_j", "gpu_power_w", ...) over some experiments. */
void measurement_of_mean(const struct dataset *dataset, const char *quantity, const size_t *items,
                         size_t count, struct measurement *out);

/* Of the ratio of B to A within strata (below strata), as stats_effect weighs them. */
void measurement_of_ratio(const struct dataset *dataset, const char *quantity,
                          const struct measurement_row *rows, size_t count, size_t strata,
                          struct measurement *out);

/* The ratio's interval with the measurement in it, and the gains of sensors that do not cancel:
 * sampling is of type A, with its degrees of freedom; never narrower than the ratio's own.
 * STATS_NONE: one of them is not known. */
struct stats_interval measurement_interval(const struct measurement *measurement,
                                           const struct stats_effect *effect);

/* Of a mean: both half-widths in squares, without the gain. */
struct stats_interval measurement_mean_interval(const struct measurement *measurement, double mean,
                                                const struct stats_interval *sampling);

/* null: not valid. ratio: says whether the gain cancels. */
json_t *measurement_json(const struct measurement *measurement, bool ratio);

#endif
