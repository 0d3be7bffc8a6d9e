#include "stats/compare.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "stats/describe.h"

#include <math.h>
#include <string.h>

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

enum { SHUFFLES = 1999 };

/* Where the sums before and behind differ most, as a share of what their lengths let expect. x: less its mean. */
static double strongest(const double *x, size_t n, size_t least, size_t *where)
{
    double before = 0, highest = -1;
    for (size_t i = 1; i < n; i++) {
        before += x[i - 1];
        if (i < least || n - i < least)
            continue;
        double height = fabs(before) / sqrt((double)i * (double)(n - i) / (double)n);
        if (height > highest) {
            highest = height;
            *where = i;
        }
    }
    return highest;
}

static double mean_of(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

/* The values of each group change places among themselves. places: the indices, a group's behind one another, from
 * starts[g] on. */
static void shuffle_within(double *x, const size_t *places, const size_t *starts, size_t groups, struct rng *rng)
{
    for (size_t g = 0; g < groups; g++)
        for (size_t i = starts[g + 1] - starts[g]; i > 1; i--) {
            size_t a = places[starts[g] + i - 1], b = places[starts[g] + rng_below(rng, i)];
            double kept = x[a];
            x[a] = x[b];
            x[b] = kept;
        }
}

struct stats_change stats_change_point(const double *x, const size_t *group, size_t groups, size_t n, size_t least,
                                       struct rng *rng)
{
    struct stats_change out = {.p = 1};
    if (least < 1)
        least = 1;
    if (n < 2 * least)
        return out;
    AUTO_FREE double *centred = mem_array(n, sizeof *centred);
    AUTO_FREE double *sums = mem_array(groups, sizeof *sums);
    AUTO_FREE size_t *starts = mem_array(groups + 2, sizeof *starts);
    AUTO_FREE size_t *places = mem_array(n, sizeof *places);
    for (size_t i = 0; i < n; i++) {
        sums[group[i]] += x[i];
        starts[group[i] + 2]++;
    }
    for (size_t g = 2; g < groups + 2; g++)
        starts[g] += starts[g - 1];
    for (size_t i = 0; i < n; i++)
        places[starts[group[i] + 1]++] = i; /* starts[g + 1] ends where g ends */
    for (size_t i = 0; i < n; i++)
        centred[i] = x[i] - sums[group[i]] / (double)(starts[group[i] + 1] - starts[group[i]]);
    double found = strongest(centred, n, least, &out.first);
    out.before = mean_of(centred, out.first);
    out.after = mean_of(centred + out.first, n - out.first);
    size_t as_high = 1, ignored = 0;
    for (int i = 0; i < SHUFFLES; i++) {
        shuffle_within(centred, places, starts, groups, rng);
        as_high += strongest(centred, n, least, &ignored) >= found * (1 - 1e-12);
    }
    out.p = (double)as_high / (SHUFFLES + 1);
    out.found = found > 1e-9 && out.p < 1 - STATS_CONFIDENCE;
    return out;
}
