/* compare: two samples, or one sample's two figures, against each other. */
#ifndef TARE_STATS_COMPARE_H
#define TARE_STATS_COMPARE_H

#include "base/rng.h"
#include "stats/interval.h"

struct stats_ratio {
    double ratio;
    struct stats_interval interval; /* STATS_NONE: nothing can be told */
    bool valid;
};

struct stats_rank {
    double rho; /* Spearman's, ties at their mean rank */
    double p;   /* two-sided, of orders of y: all of them for n <= 9, else random ones; never 0 */
    /* Fisher's z with the variance of Bonett and Wright (2000); n >= 5, none at 1, -1 */
    struct stats_interval interval;
    bool valid; /* n >= 3, neither constant */
};
struct stats_rank stats_spearman(const double *x, const double *y, size_t n, struct rng *rng);

/* A trend of y over x: a straight line for few values, since of 5 no order is rarer than 1 in 60;
 * then their ranks. */
enum stats_trend_test { STATS_TREND_STUDENT, STATS_TREND_PERMUTATIONS };
/* "student_t_of_r", "permutations_of_rho" */
const char *stats_trend_test_name(enum stats_trend_test test);

#define STATS_TREND_LEAST       5
#define STATS_TREND_RANKS_LEAST 8

struct stats_trend {
    struct stats_rank rank;
    double r; /* Pearson's */
    enum stats_trend_test test;
    double p;   /* of the test, two-sided; over 0 */
    bool valid; /* n >= STATS_TREND_LEAST, neither constant */
};
struct stats_trend stats_trend(const double *x, const double *y, size_t n, struct rng *rng);

/* Adjusts p values, each in its place, for being many: the chance of any false one (Holm, 1979). */
void stats_adjust_holm(double *p, size_t n);

struct stats_change {
    size_t first;         /* index of the first value behind the change */
    double before, after; /* means */
    double p;
    /* stats_change_pooled: how often another order of the groups shows a change as great */
    double p_order;
    bool found; /* p < 0.05 */
};

/* One change of the mean of x, which is in order of time: where the difference is greatest against
 * its noise, at least `least` values on either side. p: how often a shuffled order shows one as
 * great (Good 2005), 1999 shuffles. All within groups (group[i] < groups): each value less its
 * group's mean, shuffled within its group, so that what is common to a group, and when the group
 * had its turn, makes no change. before, after: means of those differences. */
struct stats_change stats_change_point(const double *x, const size_t *group, size_t groups,
                                       size_t n, size_t least, struct rng *rng);

/* The same for what all groups share: each value less the mean of all, shuffled among all. sign:
 * 1 for a rise of the mean, -1 for a fall, 0 for either. Groups that differ by themselves also
 * look like a change where they follow one another: p_order puts whole runs (neighbouring values
 * of one group) in other orders, 1999 of them; it is 1 for fewer than 4 runs. */
struct stats_change stats_change_pooled(const double *x, const size_t *group, size_t n,
                                        size_t least, int sign, struct rng *rng);

/* Where x, of zeros and ones in order of time, most likely changes its rate of ones: the index
 * of the first value after the change, at least `least` values on either side; 0 for too few
 * values. Where ones are rare before, that is closer than the greatest difference of means. */
size_t stats_change_of_rate(const double *x, size_t n, size_t least);

/* front[i]: no other item has at least as much quality for at most the cost and is better in one of
 * the two. */
void stats_pareto(const double *cost, const double *quality, size_t n, bool *front);

/* Two groups in order of time (false: a, true: b): whether the order alone could explain a
 * difference. The number of runs of Wald and Wolfowitz (1940), exact: fewer runs than chance gives
 * in 1 of 20 cases, or one group before the other. */
bool stats_order_confounded(const bool *is_b, size_t n);

#endif
