/* bins: a trace of any length as at most BINS_MOST means of equal spans; and the one lasting change in it. Private to
 * judge/. */
#ifndef TARE_RESULTS_JUDGE_BINS_H
#define TARE_RESULTS_JUDGE_BINS_H

#include "base/reading.h"

#include <stddef.h>
#include <stdint.h>

#define BINS_MOST 512

struct bins {
    int64_t first_s, width_s; /* the span doubles when there are too many */
    unsigned shift;           /* width_s is 1 << shift: no division for each sample */
    size_t count;
    double sums[BINS_MOST];
    uint32_t counts[BINS_MOST];
};

void bins_begin(struct bins *bins);
void bins_add_all(struct bins *bins, const int64_t *t_s, const double *values, size_t count); /* none before the first */

struct bins_step {
    bool found;
    int64_t at_s;         /* where the new level begins */
    double before, after; /* means */
    double explained;     /* share of the variance that the two levels leave no more, 0 to 1 */
};

/* The two levels, each at least least_s seconds and a tenth of the whole, that leave the least variance. */
struct bins_step bins_find_step(const struct bins *bins, int64_t least_s);

/* The same of falls alone, behind the first fifth, in which a training starts up. */
struct bins_step bins_find_fall(const struct bins *bins, int64_t least_s);

/* The lowest mean of three neighbouring spans that all have values: one alone may be a sample gone wrong. */
struct reading bins_lowest(const struct bins *bins);

#endif
