#include "stats/interval.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "stats/describe.h"

#include <math.h>

static const double tail = (1 - STATS_CONFIDENCE) / 2;

const char *stats_method_name(enum stats_method method)
{
    static const char *const names[] = {NULL, "t", "hall", "order", "chi2", "fieller", "fisher"};
    return names[method];
}

static const struct {
    double low, high;
} bounds[] = {
    [STATS_ANY] = {-HUGE_VAL, HUGE_VAL},
    [STATS_POSITIVE] = {0, HUGE_VAL},
    [STATS_SHARE] = {0, 1},
    [STATS_PERCENT] = {0, 100},
};

static struct stats_interval refuse_interval(const char **why, const char *reason)
{
    if (why)
        *why = reason;
    return (struct stats_interval){0};
}

bool stats_scale_holds(enum stats_scale scale, double lowest, double highest)
{
    return lowest > bounds[scale].low && highest < bounds[scale].high;
}

double stats_to_scale(double x, enum stats_scale scale)
{
    return scale == STATS_ANY        ? x
           : scale == STATS_POSITIVE ? log(x)
                                     : log(x / (bounds[scale].high - x));
}

static double from_scale(double y, enum stats_scale scale)
{
    return scale == STATS_ANY        ? y
           : scale == STATS_POSITIVE ? exp(y)
                                     : bounds[scale].high / (1 + exp(-y));
}

/* Where Hall's t is this one (Hall, J. R. Statist. Soc. B 54, 1992, section 2): its cubic,
 * inverted. */
static double hall_inverse(double t, double skewness, double n)
{
    if (fabs(skewness) < 1e-9)
        return t / sqrt(n);
    return 3 / skewness * (cbrt(1 + skewness * (t / sqrt(n) - skewness / (6 * n))) - 1);
}

struct stats_interval stats_mean_interval(const double *x, size_t n, enum stats_scale scale,
                                          const char **why)
{
    if (n < STATS_MEAN_LEAST)
        return refuse_interval(why, "fewer than 3 values");
    if (why)
        *why = NULL;
    double mean = stats_mean(x, n).value, deviation = stats_deviation(x, n).value;
    double t = special_t_quantile(1 - tail, (double)(n - 1)),
           half = t * deviation / sqrt((double)n);
    double low = mean - half, high = mean + half;
    bool hall = n >= STATS_HALL_LEAST;
    if (hall) {
        double skewness = stats_skewness(x, n);
        low = fmin(low, mean - deviation * hall_inverse(t, skewness, (double)n));
        high = fmax(high, mean - deviation * hall_inverse(-t, skewness, (double)n));
    }
    return (struct stats_interval){fmax(low, bounds[scale].low), fmin(high, bounds[scale].high),
                                   hall ? STATS_HALL : STATS_T};
}

/* The largest rank k with P(Binomial(n, 1/2) < k) <= tail: the k-th value from each end is a bound.
 * 0: none. */
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
    AUTO_FREE double *sorted = stats_sorted(x, n);
    return (struct stats_interval){sorted[rank - 1], sorted[n - rank], STATS_ORDER};
}

struct stats_interval stats_median_interval_on(const double *x, size_t n, enum stats_scale scale,
                                               const char **why)
{
    if (why)
        *why = NULL;
    if (n >= STATS_ORDER_LEAST)
        return stats_median_interval(x, n);
    if (n < STATS_MEDIAN_LEAST)
        return refuse_interval(why, "fewer than 3 values");
    double scaled[STATS_ORDER_LEAST];
    for (size_t i = 0; i < n; i++) {
        if (!stats_scale_holds(scale, x[i], x[i]))
            return refuse_interval(why,
                                   "fewer than 6 values, and one at the end of what is possible");
        scaled[i] = stats_to_scale(x[i], scale);
    }
    double mean = stats_mean(scaled, n).value, deviation = stats_deviation(scaled, n).value;
    if (!(deviation > 1e-12 * fabs(mean)))
        return refuse_interval(why,
                               "fewer than 6 values, all equal: nothing is known of their spread");
    double half = special_t_quantile(1 - tail, (double)(n - 1)) * deviation / sqrt((double)n);
    return (struct stats_interval){from_scale(mean - half, scale), from_scale(mean + half, scale),
                                   STATS_T};
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

size_t stats_least(bool (*enough)(size_t n, const void *context), const void *context)
{
    static const size_t most = 1000000;
    size_t high = 2, low = 1;
    while (!enough(high, context)) {
        low = high;
        high *= 2;
        if (high > most)
            return 0;
    }
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (enough(middle, context))
            high = middle;
        else
            low = middle;
    }
    return high;
}

struct precision {
    double cv, share;
};

static bool is_precise(size_t n, const void *context)
{
    const struct precision *wanted = context;
    return !(special_t_quantile(1 - tail, (double)(n - 1)) * wanted->cv / sqrt((double)n) >
             wanted->share);
}

size_t stats_repeats(double cv, double share)
{
    struct precision wanted = {cv, share};
    if (!isfinite(cv) || !isfinite(share) || cv < 0 || share <= 0)
        return 0;
    return stats_least(is_precise, &wanted);
}
