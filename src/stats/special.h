/* special: the distributions that intervals and tests need. */
#ifndef TARE_STATS_SPECIAL_H
#define TARE_STATS_SPECIAL_H

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
