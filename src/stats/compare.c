#include "stats/compare.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "stats/describe.h"

#include <float.h>
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
        return half > a || half > b
                   ? 0
                   : 2 * exp(log_choose(a - 1, half - 1) + log_choose(b - 1, half - 1) - all);
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
            front[i] = !(cost[k] <= cost[i] && quality[k] >= quality[i] &&
                         (cost[k] < cost[i] || quality[k] > quality[i]));
    }
}

enum { SHUFFLES = 1999 };

/* Where the sums before and behind differ most, as a share of what their lengths let expect. x:
 * less its mean. sign: 1 for rises alone, -1 for falls alone, 0 for both. */
static double strongest(const double *x, size_t n, size_t least, int sign, size_t *where)
{
    double before = 0, highest = -INFINITY;
    for (size_t i = 1; i < n; i++) {
        before += x[i - 1];
        if (i < least || n - i < least)
            continue;
        double change = sign ? -sign * before : fabs(before);
        double height = change / sqrt((double)i * (double)(n - i) / (double)n);
        if (height > highest) {
            highest = height;
            *where = i;
        }
    }
    return highest;
}

static double arithmetic_mean(const double *x, size_t n)
{
    double sum = 0;
    EACH (item, x, n)
        sum += *item;
    return sum / (double)n;
}

/* The values of each group change places among themselves. places: the indices, a group's behind
 * one another, from starts[g] on. */
static void shuffle_within(double *x, const size_t *places, const size_t *starts, size_t groups,
                           struct rng *rng)
{
    for (size_t g = 0; g < groups; g++)
        for (size_t i = starts[g + 1] - starts[g]; i > 1; i--) {
            size_t a = places[starts[g] + i - 1], b = places[starts[g] + rng_below(rng, i)];
            double kept = x[a];
            x[a] = x[b];
            x[b] = kept;
        }
}

struct stats_change stats_change_point(const double *x, const size_t *group, size_t groups,
                                       size_t n, size_t least, struct rng *rng)
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
    double found = strongest(centred, n, least, 0, &out.first);
    out.before = arithmetic_mean(centred, out.first);
    out.after = arithmetic_mean(centred + out.first, n - out.first);
    size_t as_high = 1, ignored = 0;
    for (int i = 0; i < SHUFFLES; i++) {
        shuffle_within(centred, places, starts, groups, rng);
        as_high += strongest(centred, n, least, 0, &ignored) >= found * (1 - 1e-12);
    }
    out.p = (double)as_high / (SHUFFLES + 1);
    out.found = found > 1e-9 && out.p < 1 - STATS_CONFIDENCE;
    return out;
}

/* Runs of neighbours of one group in a random order. starts: where each begins in x, and n. */
static void shuffle_runs(const double *x, const size_t *starts, size_t runs, size_t *order,
                         double *out, struct rng *rng)
{
    size_t n = 0;
    for (size_t i = 0; i < runs; i++)
        order[i] = i;
    for (size_t i = runs; i > 0; i--) {
        size_t at = rng_below(rng, i), run = order[at];
        order[at] = order[i - 1];
        size_t length = starts[run + 1] - starts[run];
        memcpy(out + n, x + starts[run], length * sizeof *x);
        n += length;
    }
}

struct stats_change stats_change_pooled(const double *x, const size_t *group, size_t n,
                                        size_t least, int sign, struct rng *rng)
{
    enum { FEWEST_RUNS = 4 };
    struct stats_change out = {.p = 1, .p_order = 1};
    if (least < 1)
        least = 1;
    if (n < 2 * least)
        return out;
    AUTO_FREE double *centred = mem_array(n, sizeof *centred);
    AUTO_FREE double *shuffled = mem_array(n, sizeof *shuffled);
    AUTO_FREE size_t *starts = mem_array(n + 1, sizeof *starts);
    AUTO_FREE size_t *order = mem_array(n, sizeof *order);
    size_t one_group[2] = {0, n}, runs = 0, ignored = 0, as_high = 1, as_high_ordered = 1;
    double mean = arithmetic_mean(x, n);
    for (size_t i = 0; i < n; i++) {
        centred[i] = x[i] - mean;
        order[i] = i;
        if (i == 0 || group[i] != group[i - 1])
            starts[runs++] = i;
    }
    starts[runs] = n;
    double found = strongest(centred, n, least, sign, &out.first);
    out.before = arithmetic_mean(x, out.first);
    out.after = arithmetic_mean(x + out.first, n - out.first);
    memcpy(shuffled, centred, n * sizeof *shuffled);
    for (int i = 0; i < SHUFFLES; i++) {
        shuffle_within(shuffled, order, one_group, 1, rng);
        as_high += strongest(shuffled, n, least, sign, &ignored) >= found * (1 - 1e-12);
    }
    for (int i = 0; i < SHUFFLES && runs >= FEWEST_RUNS; i++) {
        shuffle_runs(centred, starts, runs, order, shuffled, rng);
        as_high_ordered += strongest(shuffled, n, least, sign, &ignored) >= found * (1 - 1e-12);
    }
    out.p = (double)as_high / (SHUFFLES + 1);
    if (runs >= FEWEST_RUNS)
        out.p_order = (double)as_high_ordered / (SHUFFLES + 1);
    out.found = found > 1e-9 && out.p < 1 - STATS_CONFIDENCE;
    return out;
}

/* Log-likelihood of so many ones among n values, at their own rate. */
static double rate_likelihood(double ones, double n)
{
    double zeros = n - ones;
    return (ones > 0 ? ones * log(ones / n) : 0) + (zeros > 0 ? zeros * log(zeros / n) : 0);
}

size_t stats_change_of_rate(const double *x, size_t n, size_t least)
{
    double all = 0, before = 0, best = -INFINITY;
    size_t where = 0;
    EACH (item, x, n)
        all += *item;
    for (size_t i = 1; i < n; i++) {
        before += x[i - 1];
        if (i < least || n - i < least)
            continue;
        double likelihood =
            rate_likelihood(before, (double)i) + rate_likelihood(all - before, (double)(n - i));
        if (likelihood > best) {
            best = likelihood;
            where = i;
        }
    }
    return where;
}

enum { MOST_ORDERS = 9 /* 9! = 362,880 */, MOST_SHUFFLES = 19999, ENOUGH = 1000 };

struct ranked {
    double value;
    size_t index;
};

static int compare_value(const void *a, const void *b)
{
    const struct ranked *left = a, *right = b;
    if (left->value != right->value)
        return left->value > right->value ? 1 : -1;
    return ORDER(left->index, right->index);
}

static struct ranked *ascending(const double *x, size_t n)
{
    struct ranked *sorted = mem_array(n ? n : 1, sizeof *sorted);
    for (size_t i = 0; i < n; i++)
        sorted[i] = (struct ranked){x[i], i};
    qsort(sorted, n, sizeof *sorted, compare_value);
    return sorted;
}

/* Ranks from 1, ties at their mean; less the mean of all ranks. False: all are equal. */
static bool centred_ranks(const double *x, size_t n, double *out)
{
    AUTO_FREE struct ranked *sorted = ascending(x, n);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && sorted[to].value == sorted[from].value;)
            to++;
        for (size_t i = from; i < to; i++)
            out[sorted[i].index] = 0.5 * (double)(from + 1 + to) - 0.5 * (double)(n + 1);
    }
    return sorted[0].value != sorted[n - 1].value;
}

static double product(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Of all orders of y, the share that goes as far as this one: Heap's algorithm. */
static double exact_p(const double *x, const double *given, size_t n)
{
    double y[MOST_ORDERS];
    size_t counter[MOST_ORDERS] = {0}, far = 1, all = 1;
    for (size_t i = 0; i < n; i++)
        y[i] = given[i];
    double limit = fabs(product(x, y, n)) - 1e-9;
    for (size_t i = 1; i < n;) {
        if (counter[i] >= i) {
            counter[i++] = 0;
            continue;
        }
        size_t other = i % 2 ? counter[i] : 0;
        double kept = y[other];
        y[other] = y[i];
        y[i] = kept;
        far += fabs(product(x, y, n)) >= limit;
        all++;
        counter[i]++;
        i = 1;
    }
    return (double)far / (double)all;
}

/* The same of random orders of y, this one among them: until ENOUGH go as far, or MOST_SHUFFLES
 * were tried (Besag and Clifford 1991). Never 0. */
static double shuffled_p(const double *x, double *y, size_t n, struct rng *rng)
{
    double limit = fabs(product(x, y, n)) * (1 - 1e-12);
    size_t far = 0, tried = 0;
    while (tried < MOST_SHUFFLES) {
        for (size_t i = n; i > 1; i--) {
            size_t other = rng_below(rng, i);
            double kept = y[i - 1];
            y[i - 1] = y[other];
            y[other] = kept;
        }
        tried++;
        far += fabs(product(x, y, n)) >= limit;
        if (far == ENOUGH)
            return (double)far / (double)tried;
    }
    return (double)(far + 1) / (double)(tried + 1);
}

static struct stats_interval fisher(double rho, size_t n)
{
    if (n < 5 || fabs(rho) >= 1 - 1e-12)
        return (struct stats_interval){0};
    double half = special_normal_quantile(0.5 + STATS_CONFIDENCE / 2) *
                  sqrt((1 + rho * rho / 2) / (double)(n - 3));
    return (struct stats_interval){tanh(atanh(rho) - half), tanh(atanh(rho) + half), STATS_FISHER};
}

struct stats_rank stats_spearman(const double *x, const double *y, size_t n, struct rng *rng)
{
    if (n < 3)
        return (struct stats_rank){0};
    AUTO_FREE double *a = mem_array(n, sizeof *a);
    AUTO_FREE double *b = mem_array(n, sizeof *b);
    if (!centred_ranks(x, n, a) || !centred_ranks(y, n, b))
        return (struct stats_rank){0};
    struct stats_rank out = {.valid = true};
    out.rho = product(a, b, n) / sqrt(product(a, a, n) * product(b, b, n));
    out.rho = fmin(1, fmax(-1, out.rho));
    out.interval = fisher(out.rho, n);
    out.p = n <= MOST_ORDERS ? exact_p(a, b, n) : shuffled_p(a, b, n, rng);
    return out;
}

const char *stats_trend_test_name(enum stats_trend_test test)
{
    return test == STATS_TREND_STUDENT ? "student_t_of_r" : "permutations_of_rho";
}

/* Subtracts the mean and divides by the greatest distance from it, so that nothing overflows. */
static void center_and_scale(const double *x, size_t n, double *out)
{
    double mean = stats_mean(x, n).value, most = 0;
    for (size_t i = 0; i < n; i++) {
        out[i] = x[i] - mean;
        most = fmax(most, fabs(out[i]));
    }
    for (size_t i = 0; i < n && most > 0; i++)
        out[i] /= most;
}

struct stats_trend stats_trend(const double *x, const double *y, size_t n, struct rng *rng)
{
    struct stats_trend out = {.rank = stats_spearman(x, y, n, rng)};
    if (n < STATS_TREND_LEAST || !out.rank.valid)
        return out;
    AUTO_FREE double *a = mem_array(n, sizeof *a);
    AUTO_FREE double *b = mem_array(n, sizeof *b);
    center_and_scale(x, n, a);
    center_and_scale(y, n, b);
    out.valid = true;
    out.r = fmin(1, fmax(-1, product(a, b, n) / sqrt(product(a, a, n) * product(b, b, n))));
    out.test = n < STATS_TREND_RANKS_LEAST ? STATS_TREND_STUDENT : STATS_TREND_PERMUTATIONS;
    out.p = out.rank.p;
    if (out.test == STATS_TREND_STUDENT) {
        double df = (double)n - 2,
               t = fabs(out.r) * sqrt(df / fmax(1 - out.r * out.r, DBL_EPSILON));
        out.p = 2 * special_t_cdf(-t, df);
    }
    return out;
}

void stats_adjust_holm(double *p, size_t n)
{
    AUTO_FREE struct ranked *sorted = ascending(p, n);
    double highest = 0;
    for (size_t i = 0; i < n; i++) {
        highest = fmax(highest, fmin(1, sorted[i].value * (double)(n - i)));
        p[sorted[i].index] = highest;
    }
}
