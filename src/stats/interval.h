/* interval: how far off a figure may be. All intervals are two-sided, 95 %. */
#ifndef TARE_STATS_INTERVAL_H
#define TARE_STATS_INTERVAL_H

#include "base/rng.h"

#include <stdbool.h>
#include <stddef.h>

#define STATS_CONFIDENCE 0.95

enum stats_method { STATS_NONE, STATS_T, STATS_BOOTSTRAP, STATS_ORDER, STATS_CHI2, STATS_FIELLER, STATS_FISHER };

/* "t", "bca", "order", "chi2", "fieller", "fisher"; NULL of STATS_NONE. */
const char *stats_method_name(enum stats_method method);

struct stats_interval {
    double low, high;
    enum stats_method method; /* STATS_NONE: too little is known for one */
};

/* From this many values on a bootstrap of the mean covers what it says; below, Student's t does. */
#define STATS_BOOTSTRAP_LEAST 8
#define STATS_RESAMPLES       4000

/* Of the mean: the bootstrap from STATS_BOOTSTRAP_LEAST values on, else Student's t; n >= 2. */
struct stats_interval stats_mean_interval(const double *x, size_t n, struct rng *rng);

/* Of the median: between two of the ordered values, whatever the distribution; n >= 6. */
struct stats_interval stats_median_interval(const double *x, size_t n);

/* Of the coefficient of variation of normal values: McKay's as Vangel (1996) modified it; n >= 2, and absent where the
 * spread is too great for it. */
struct stats_interval stats_cv_interval(double cv, size_t n);

/* How many values the mean needs for a half-width of this share of it (Student's t): at least 2. 0: cannot be told. */
size_t stats_repeats(double cv, double share);

#endif
