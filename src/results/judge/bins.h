/* bins: sums of a trace in bins of equal length. */
#ifndef TARE_RESULTS_JUDGE_BINS_H
#define TARE_RESULTS_JUDGE_BINS_H

#include "results/judge/read.h"

void bins_begin(struct bins *bins);
void bins_add_all(struct bins *bins, const int64_t *t_s, const double *values,
                  size_t count); /* none before the first */

/* The two levels, each at least least_s seconds and a tenth of the whole, that leave the least
 * variance. */
struct bins_step bins_find_step(const struct bins *bins, int64_t least_s);

/* The same of falls alone, behind the first fifth, in which a training starts up. */
struct bins_step bins_find_fall(const struct bins *bins, int64_t least_s);

/* The lowest mean of three neighbouring spans that all have values: one alone may be a sample gone
 * wrong. */
struct reading bins_lowest(const struct bins *bins);

#endif
