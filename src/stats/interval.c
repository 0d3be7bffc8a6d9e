#include "stats/interval.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "stats/describe.h"
#include "stats/special.h"

#include <math.h>
#include <string.h>

static const double tail = (1 - STATS_CONFIDENCE) / 2;

const char *stats_method_name(enum stats_method method)
{
    static const char *const names[] = {NULL, "t", "bca", "order", "chi2", "fieller", "fisher"};
    return names[method];
}

static double mean_of(const double *x, size_t n)
{
    return stats_mean(x, n).value;
}

/* What leaving out one value at a time tells of the skewness: Efron's acceleration. */
static double acceleration(const double *x, size_t n)
{
    AUTO_FREE double *without = mem_array(n, sizeof *without);
    AUTO_FREE double *rest = mem_array(n, sizeof *rest);
    double mean = 0, squares = 0, cubes = 0;
    for (size_t i = 0; i < n; i++) {
        memcpy(rest, x, i * sizeof *x);
        memcpy(rest + i, x + i + 1, (n - i - 1) * sizeof *x);
        without[i] = mean_of(rest, n - 1);
        mean += without[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        double away = mean - without[i];
        squares += away * away;
        cubes += away * away * away;
    }
    return squares > 0 ? cubes / (6 * pow(squares, 1.5)) : 0;
}

/* The share of the resampled figures below the sample's own, ties counted half, kept off 0 and 1. */
static double share_below(const double *figures, double own)
{
    double below = 0.5;
    for (size_t i = 0; i < STATS_RESAMPLES; i++)
        below += figures[i] < own ? 1.0 : figures[i] == own ? 0.5 : 0.0;
    return below / (STATS_RESAMPLES + 1.0);
}

/* BCa (Efron 1987) of the mean, its tails widened for small samples as Hesterberg (2015, section 3.3) does for percentiles. */
static struct stats_interval bootstrap(const double *x, size_t n, struct rng *rng)
{
    AUTO_FREE double *figures = mem_array(STATS_RESAMPLES, sizeof *figures);
    AUTO_FREE double *drawn = mem_array(n, sizeof *drawn);
    for (size_t i = 0; i < STATS_RESAMPLES; i++) {
        for (size_t k = 0; k < n; k++)
            drawn[k] = x[rng_below(rng, n)];
        figures[i] = mean_of(drawn, n);
    }
    double bias = special_normal_quantile(share_below(figures, mean_of(x, n)));
    double skew = acceleration(x, n);
    /* A resample's deviation is sqrt((n-1)/n) of what it should be, and the normal's quantile is below Student's. */
    double wide = sqrt((double)n / (double)(n - 1)) * special_t_quantile(1 - tail, (double)(n - 1));
    double low = special_normal_cdf(bias + (bias - wide) / (1 - skew * (bias - wide)));
    double high = special_normal_cdf(bias + (bias + wide) / (1 - skew * (bias + wide)));
    stats_sort(figures, STATS_RESAMPLES);
    return (struct stats_interval){stats_quantile(figures, STATS_RESAMPLES, low),
                                   stats_quantile(figures, STATS_RESAMPLES, high), STATS_BOOTSTRAP};
}

struct stats_interval stats_mean_interval(const double *x, size_t n, struct rng *rng)
{
    if (n < 2)
        return (struct stats_interval){0};
    if (n >= STATS_BOOTSTRAP_LEAST)
        return bootstrap(x, n, rng);
    double mean = stats_mean(x, n).value;
    double half = special_t_quantile(1 - tail, (double)(n - 1)) * stats_deviation(x, n).value / sqrt((double)n);
    return (struct stats_interval){mean - half, mean + half, STATS_T};
}

/* The largest rank k with P(Binomial(n, 1/2) < k) <= tail: the k-th value from each end is a bound. 0: none. */
static size_t median_rank(size_t n)
{
    double log_probability = -(double)n * M_LN2, below = 0;
    size_t rank = 0;
    for (size_t i = 0; i < n; i++) {
        below += exp(log_probability);
        if (below > tail)
            break;
        rank = i + 1;
        log_probability += log((double)(n - i)) - log((double)(i + 1));
    }
    return rank;
}

struct stats_interval stats_median_interval(const double *x, size_t n)
{
    size_t rank = median_rank(n);
    if (rank == 0)
        return (struct stats_interval){0};
    AUTO_FREE double *sorted = mem_array(n, sizeof *sorted);
    memcpy(sorted, x, n * sizeof *x);
    stats_sort(sorted, n);
    return (struct stats_interval){sorted[rank - 1], sorted[n - rank], STATS_ORDER};
}

struct stats_interval stats_cv_interval(double cv, size_t n)
{
    if (n < 2 || !isfinite(cv) || cv < 0)
        return (struct stats_interval){0};
    double df = (double)(n - 1);
    double upper = special_chi2_quantile(1 - tail, df), lower = special_chi2_quantile(tail, df);
    double under_low = ((upper + 2) / (double)n - 1) * cv * cv + upper / df;
    double under_high = ((lower + 2) / (double)n - 1) * cv * cv + lower / df;
    if (under_low <= 0 || under_high <= 0)
        return (struct stats_interval){0};
    return (struct stats_interval){cv / sqrt(under_low), cv / sqrt(under_high), STATS_CHI2};
}

size_t stats_repeats(double cv, double share)
{
    static const size_t most = 1000000;
    if (!isfinite(cv) || !isfinite(share) || cv < 0 || share <= 0)
        return 0;
    /* The half-width falls with n: a search by halves. */
    size_t enough = 2, short_of = 1;
    while (special_t_quantile(1 - tail, (double)(enough - 1)) * cv / sqrt((double)enough) > share) {
        short_of = enough;
        enough *= 2;
        if (enough > most)
            return 0;
    }
    while (enough - short_of > 1) {
        size_t n = short_of + (enough - short_of) / 2;
        if (special_t_quantile(1 - tail, (double)(n - 1)) * cv / sqrt((double)n) > share)
            short_of = n;
        else
            enough = n;
    }
    return enough;
}
