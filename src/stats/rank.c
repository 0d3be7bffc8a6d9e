#include "base/cleanup.h"
#include "base/mem.h"
#include "stats/compare.h"
#include "stats/describe.h"

#include <math.h>

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
    return (left->index > right->index) - (left->index < right->index);
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

/* The same of random orders of y, this one among them: until ENOUGH go as far, or MOST_SHUFFLES were tried (Besag and
 * Clifford 1991). Never 0. */
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
    double half = special_normal_quantile(0.5 + STATS_CONFIDENCE / 2) * sqrt((1 + rho * rho / 2) / (double)(n - 3));
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

void stats_adjust_holm(double *p, size_t n)
{
    AUTO_FREE struct ranked *sorted = ascending(p, n);
    double highest = 0;
    for (size_t i = 0; i < n; i++) {
        highest = fmax(highest, fmin(1, sorted[i].value * (double)(n - i)));
        p[sorted[i].index] = highest;
    }
}
