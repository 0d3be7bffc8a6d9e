#include "stats/describe.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "stats/special.h"

#include <math.h>
#include <string.h>

static const struct reading absent = {0, false};

static struct reading known(double value)
{
    return (struct reading){value, isfinite(value)};
}

/* Neumaier's sum: the rounding errors are summed apart. */
static double sum(const double *x, size_t n)
{
    double total = 0, lost = 0;
    for (size_t i = 0; i < n; i++) {
        double next = total + x[i];
        lost += fabs(total) >= fabs(x[i]) ? (total - next) + x[i] : (x[i] - next) + total;
        total = next;
    }
    return total + lost;
}

struct reading stats_mean(const double *x, size_t n)
{
    return n ? known(sum(x, n) / (double)n) : absent;
}

struct reading stats_deviation(const double *x, size_t n)
{
    if (n < 2)
        return absent;
    double mean = sum(x, n) / (double)n, squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    return known(sqrt(squares / (double)(n - 1)));
}

struct reading stats_cv(const double *x, size_t n)
{
    struct reading mean = stats_mean(x, n), deviation = stats_deviation(x, n);
    if (!mean.valid || !deviation.valid || mean.value == 0)
        return absent;
    return known(deviation.value / fabs(mean.value));
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

void stats_sort(double *x, size_t n)
{
    if (n > 1)
        qsort(x, n, sizeof *x, compare);
}

double stats_quantile(const double *sorted, size_t n, double p)
{
    double place = p * (double)(n - 1);
    size_t below = (size_t)place;
    if (below + 1 >= n)
        return sorted[n - 1];
    return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

static double *sorted_copy(const double *x, size_t n)
{
    double *copy = mem_array(n, sizeof *copy);
    memcpy(copy, x, n * sizeof *copy);
    stats_sort(copy, n);
    return copy;
}

struct reading stats_median(const double *x, size_t n)
{
    if (n == 0)
        return absent;
    AUTO_FREE double *sorted = sorted_copy(x, n);
    return known(stats_quantile(sorted, n, 0.5));
}

/* What the greatest Studentized deviate of n normal values exceeds with this probability. */
static double deviate_limit(size_t n, double alpha)
{
    double df = (double)n - 2, t = special_t_quantile(1 - alpha / (2 * (double)n), df);
    return ((double)n - 1) * t / sqrt((df + t * t) * (double)n);
}

/* The furthest from the mean of those that are left. */
static size_t furthest(const double *x, size_t n, const size_t *step, double *deviate)
{
    AUTO_FREE double *left = mem_array(n, sizeof *left);
    size_t count = 0, found = n;
    *deviate = 0;
    for (size_t i = 0; i < n; i++)
        if (step[i] == 0)
            left[count++] = x[i];
    double mean = stats_mean(left, count).value;
    struct reading deviation = stats_deviation(left, count);
    for (size_t i = 0; i < n && deviation.valid && deviation.value > 0; i++)
        if (step[i] == 0 && fabs(x[i] - mean) / deviation.value > *deviate) {
            *deviate = fabs(x[i] - mean) / deviation.value;
            found = i;
        }
    return found;
}

size_t stats_outliers(const double *x, size_t n, size_t most, double alpha, bool *out)
{
    AUTO_FREE size_t *step = mem_array(n + 1, sizeof *step); /* in which it was taken away, from 1; 0: it was not */
    size_t count = 0;
    for (size_t taken = 1; n >= STATS_OUTLIERS_LEAST && taken <= most && taken + 2 < n; taken++) {
        double deviate;
        size_t at = furthest(x, n, step, &deviate);
        if (at == n)
            break;
        step[at] = taken;
        if (deviate > deviate_limit(n - taken + 1, alpha))
            count = taken;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = step[i] > 0 && step[i] <= count;
    return count;
}
