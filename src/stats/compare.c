#include "stats/compare.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "stats/describe.h"
#include "stats/special.h"

#include <math.h>

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
