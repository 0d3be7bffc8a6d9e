#include "stats/describe.h"

#include "base/cleanup.h"
#include "base/mem.h"

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

static double median_distance(const double *x, size_t n, double from)
{
    AUTO_FREE double *distance = mem_array(n, sizeof *distance);
    for (size_t i = 0; i < n; i++)
        distance[i] = fabs(x[i] - from);
    stats_sort(distance, n);
    return stats_quantile(distance, n, 0.5);
}

struct stats_robust stats_robust(const double *x, size_t n)
{
    if (n < 3)
        return (struct stats_robust){0};
    double median = stats_median(x, n).value;
    double scale = median_distance(x, n, median) / 0.6745;
    if (scale == 0) {
        double distances = 0;
        for (size_t i = 0; i < n; i++)
            distances += fabs(x[i] - median);
        scale = 1.2533141373155 * distances / (double)n;
    }
    return (struct stats_robust){median, scale, scale > 0};
}

struct reading stats_modified_z(const struct stats_robust *robust, double value)
{
    return robust->valid ? known((value - robust->median) / robust->scale) : absent;
}

/* The 99 % point of the greatest |modified z| in normal samples of at least n values, simulated (100,000 samples
 * each). */
static const struct {
    size_t n;
    double limit;
} outlier_limits[] = {{5, 18.5}, {6, 10.6}, {8, 8.3}, {10, 7.0}, {12, 6.4}, {15, 6.0}, {20, 5.3}, {30, 4.8}, {50, 4.5}};

double stats_outlier_limit(size_t n)
{
    double limit = INFINITY;
    for (size_t i = 0; i < sizeof outlier_limits / sizeof *outlier_limits && n >= outlier_limits[i].n; i++)
        limit = outlier_limits[i].limit;
    return limit;
}
