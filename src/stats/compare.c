#include "stats/compare.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "stats/describe.h"
#include "stats/special.h"

#include <math.h>

static const double tail = (1 - STATS_CONFIDENCE) / 2;

/* Variances of the means. */
struct spread {
    double a, b;
};

/* The ratios r for which mean b - r * mean a is no more than t deviations from 0. */
static struct stats_interval fieller(double a, double b, struct spread spread, double df)
{
    double t = special_t_quantile(1 - tail, df);
    double quadratic = a * a - t * t * spread.a;
    double linear = a * b;
    double constant = b * b - t * t * spread.b;
    double root = linear * linear - quadratic * constant;
    if (!(quadratic > 0) || !(root >= 0))
        return (struct stats_interval){0};
    return (struct stats_interval){(linear - sqrt(root)) / quadratic, (linear + sqrt(root)) / quadratic, STATS_FIELLER};
}

struct stats_ratio stats_ratio_of_means(const double *a, size_t a_count, const double *b, size_t b_count)
{
    struct reading mean_a = stats_mean(a, a_count), mean_b = stats_mean(b, b_count);
    if (!mean_a.valid || !mean_b.valid || mean_a.value <= 0 || mean_b.value <= 0)
        return (struct stats_ratio){0};
    struct stats_ratio out = {.ratio = mean_b.value / mean_a.value, .valid = true};
    struct reading spread_a = stats_deviation(a, a_count), spread_b = stats_deviation(b, b_count);
    if (!spread_a.valid || !spread_b.valid)
        return out;
    struct spread spread = {.a = spread_a.value * spread_a.value / (double)a_count,
                            .b = spread_b.value * spread_b.value / (double)b_count};
    double from_a = out.ratio * out.ratio * spread.a, from_b = spread.b;
    double df = from_a + from_b > 0
                    ? (from_a + from_b) * (from_a + from_b) /
                          (from_a * from_a / (double)(a_count - 1) + from_b * from_b / (double)(b_count - 1))
                    : (double)(a_count + b_count - 2);
    out.interval = fieller(mean_a.value, mean_b.value, spread, df);
    return out;
}

struct stats_ratio stats_ratio_paired(const double *a, const double *b, size_t n)
{
    AUTO_FREE double *logs = mem_array(n + 1, sizeof *logs);
    for (size_t i = 0; i < n; i++) {
        if (!(a[i] > 0) || !(b[i] > 0))
            return (struct stats_ratio){0};
        logs[i] = log(b[i] / a[i]);
    }
    struct reading mean = stats_mean(logs, n), deviation = stats_deviation(logs, n);
    if (!mean.valid)
        return (struct stats_ratio){0};
    struct stats_ratio out = {.ratio = exp(mean.value), .valid = true};
    if (!deviation.valid)
        return out;
    double half = special_t_quantile(1 - tail, (double)(n - 1)) * deviation.value / sqrt((double)n);
    out.interval = (struct stats_interval){exp(mean.value - half), exp(mean.value + half), STATS_T};
    return out;
}

static double log_choose(double n, double k)
{
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/* Of a and b things in a random order: how likely exactly this many runs are. */
static double runs_probability(double a, double b, size_t runs)
{
    double all = log_choose(a + b, a), half = floor((double)runs / 2);
    if (runs % 2 == 0)
        return half > a || half > b ? 0 : 2 * exp(log_choose(a - 1, half - 1) + log_choose(b - 1, half - 1) - all);
    double p = 0;
    if (half + 1 <= a && half <= b)
        p += exp(log_choose(a - 1, half) + log_choose(b - 1, half - 1) - all);
    if (half <= a && half + 1 <= b)
        p += exp(log_choose(a - 1, half - 1) + log_choose(b - 1, half) - all);
    return p;
}

bool stats_order_confounded(const bool *is_b, size_t n)
{
    size_t runs = n > 0, b = 0;
    for (size_t i = 0; i < n; i++) {
        b += is_b[i];
        runs += i > 0 && is_b[i] != is_b[i - 1];
    }
    if (b == 0 || b == n)
        return false;
    double p = 0;
    for (size_t r = 2; r <= runs; r++)
        p += runs_probability((double)(n - b), (double)b, r);
    return n > 2 && (runs == 2 || p < 1 - STATS_CONFIDENCE);
}

void stats_pareto(const double *cost, const double *quality, size_t n, bool *front)
{
    for (size_t i = 0; i < n; i++) {
        front[i] = true;
        for (size_t k = 0; k < n && front[i]; k++)
            front[i] =
                !(cost[k] <= cost[i] && quality[k] >= quality[i] && (cost[k] < cost[i] || quality[k] > quality[i]));
    }
}
