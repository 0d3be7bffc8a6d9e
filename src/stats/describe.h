/* describe: a sample in a few numbers, and the distributions that stand behind them. What too few
 * values cannot tell is not valid, never 0. All values must be finite. */
#ifndef TARE_STATS_DESCRIBE_H
#define TARE_STATS_DESCRIBE_H

#include "base/reading.h"

#include <stddef.h>

struct reading stats_mean(const double *x, size_t n); /* n >= 1; summed with compensation */
/* of the sample, divisor n - 1; n >= 2 */
struct reading stats_deviation(const double *x, size_t n);
/* deviation over |mean|; n >= 2, mean not 0 */
struct reading stats_cv(const double *x, size_t n);
struct reading stats_median(const double *x, size_t n); /* n >= 1 */

/* Hyndman and Fan (1996) type 7, what R, NumPy and Python's "inclusive" do. sorted: ascending; 0 <=
 * p <= 1; n >= 1. */
double stats_quantile(const double *sorted, size_t n, double p);

void stats_sort(double *x, size_t n);
double *stats_sorted(const double *x, size_t n); /* a sorted copy; the caller frees */

/* Two-sided p of the skewness under normality (D'Agostino, Biometrika 57, 1970); n >=
 * STATS_SKEW_LEAST, not constant. */
#define STATS_SKEW_LEAST 8
struct reading stats_skew_p(const double *x, size_t n);

/* The third central moment over the second's power 1.5, both with the divisor n; 0 of constant
 * values. */
double stats_skewness(const double *x, size_t n);

/* Which of the values are outliers (out: n, true where one is; returned: how many), by Rosner's
 * generalized extreme Studentized deviate test (Technometrics 25, 1983): each candidate is measured
 * by the mean and deviation of the others, so that up to most of them do not hide one another. In a
 * normal sample one or more is called an outlier with about the probability alpha (> 0), and for
 * few values at most with alpha times most. None of fewer than STATS_OUTLIERS_LEAST values. */
#define STATS_OUTLIERS_LEAST 5
size_t stats_outliers(const double *x, size_t n, size_t most, double alpha, bool *out);

/* The distributions that intervals and tests need. */

double special_normal_cdf(double z);
double special_normal_quantile(double p); /* 0 < p < 1 */

/* Student's t with df > 0 degrees of freedom. */
double special_t_cdf(double t, double df);
double special_t_quantile(double p, double df); /* 0 < p < 1 */

/* Snedecor's F. */
double special_f_cdf(double f, double df1, double df2);

double special_chi2_cdf(double x, double df);
double special_chi2_quantile(double p, double df); /* 0 < p < 1 */

#endif
