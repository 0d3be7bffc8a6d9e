/* interval: how far off a figure may be. All intervals are two-sided, 95 %. */
#ifndef TARE_STATS_INTERVAL_H
#define TARE_STATS_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>

#define STATS_CONFIDENCE 0.95
/* standard uncertainties in a half-width of 95 %, of a normal distribution */
#define HALF_WIDTH_DEVIATIONS 1.96

enum stats_method {
    STATS_NONE,
    STATS_T,
    STATS_HALL,
    STATS_ORDER,
    STATS_CHI2,
    STATS_FIELLER,
    STATS_FISHER
};

/* "t", "hall", "order", "chi2", "fieller", "fisher"; NULL of STATS_NONE. */
const char *stats_method_name(enum stats_method method);

struct stats_interval {
    double low, high;
    enum stats_method method; /* STATS_NONE: too little is known for one */
};

/* What values can be: anything, over 0, from 0 to 1, from 0 to 100. No interval leaves it. */
enum stats_scale { STATS_ANY, STATS_POSITIVE, STATS_SHARE, STATS_PERCENT };

/* Where all values are inside: the logarithm of positive ones, the logit of shares, others as they
 * are. */
bool stats_scale_holds(enum stats_scale scale, double lowest, double highest);
double stats_to_scale(double x, enum stats_scale scale);

/* Where there is no interval, `why`, if not NULL, becomes the reason, a string constant; else NULL.
 * Medians, and means from STATS_HALL_LEAST values on, hold the truth in at least 93 % of the
 * samples of each of five distributions (tests/unit/stats/coverage.c). Below, Student's t of a mean
 * assumes about normal values: of fewer than 30, more than 1 sample in 20 (0.9^n) lacks the values
 * that are one in ten, which may make any share of the mean. */
#define STATS_MEAN_LEAST 3
#define STATS_HALL_LEAST 30

/* Of the mean: Student's t; from STATS_HALL_LEAST values on also the t of Hall (1992), which
 * corrects for skewness, and the wider of the two on either side. */
struct stats_interval stats_mean_interval(const double *x, size_t n, enum stats_scale scale,
                                          const char **why);

/* Of the median between two of the ordered values, whatever the distribution: from 6 values on. */
#define STATS_ORDER_LEAST 6
struct stats_interval stats_median_interval(const double *x, size_t n);

/* Of the median: the above; of 3 to 5 values Student's t on the logarithms, logits or values, which
 * takes them to be about symmetric there. */
#define STATS_MEDIAN_LEAST 3
struct stats_interval stats_median_interval_on(const double *x, size_t n, enum stats_scale scale,
                                               const char **why);

/* Of the coefficient of variation of normal values: McKay's as Vangel (1996) modified it; n >= 2,
 * and absent where the spread is too great for it. */
struct stats_interval stats_cv_interval(double cv, size_t n);

/* The least n from 2 to a million that is enough, where all greater ones are, too; 0: none is. */
size_t stats_least(bool (*enough)(size_t n, const void *context), const void *context);

/* How many values the mean needs for a half-width of this share of it (Student's t): at least 2. 0:
 * cannot be told. */
size_t stats_repeats(double cv, double share);

#endif
