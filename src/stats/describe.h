/* describe: a sample in a few numbers. What too few values cannot tell is not valid, never 0. All values must be
 * finite. */
#ifndef TARE_STATS_DESCRIBE_H
#define TARE_STATS_DESCRIBE_H

#include "base/reading.h"

#include <stddef.h>

struct reading stats_mean(const double *x, size_t n);      /* n >= 1; summed with compensation */
struct reading stats_deviation(const double *x, size_t n); /* of the sample, divisor n - 1; n >= 2 */
struct reading stats_cv(const double *x, size_t n);        /* deviation over |mean|; n >= 2, mean not 0 */
struct reading stats_median(const double *x, size_t n);    /* n >= 1 */

/* Hyndman and Fan (1996) type 7, what R, NumPy and Python's "inclusive" do. sorted: ascending; 0 <= p <= 1; n >= 1. */
double stats_quantile(const double *sorted, size_t n, double p);

void stats_sort(double *x, size_t n);

/* Where the middle of some values is, and how far from it they are: what a modified z is measured by. */
struct stats_robust {
    double median, scale;
    bool valid; /* not: n < 3 or all equal */
};
struct stats_robust stats_robust(const double *x, size_t n);

/* Iglewicz and Hoaglin's modified z: 0.6745 times the distance from the median over the median distance. Where more
 * than half of the values are equal, the mean distance takes its place, times 1.2533. */
struct reading stats_modified_z(const struct stats_robust *robust, double value);

/* Beyond which |modified z| a value is an outlier: of a normal sample of n values, any one of them is beyond it in
 * about 1 % of the cases (docs/stats.md says how that was found). n >= 5, else infinite. */
double stats_outlier_limit(size_t n);

#endif
