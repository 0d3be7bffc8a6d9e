#include "stats/describe.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

static const struct reading absent = {0, false};

static struct reading finite_reading(double value)
{
    return (struct reading){value, isfinite(value)};
}

/* Neumaier's sum: the rounding errors are summed apart. */
static double sum(const double *x, size_t n)
{
    double total = 0, lost = 0;
    EACH (item, x, n) {
        double next = total + *item;
        lost += fabs(total) >= fabs(*item) ? (total - next) + *item : (*item - next) + total;
        total = next;
    }
    return total + lost;
}

struct reading stats_mean(const double *x, size_t n)
{
    return n ? finite_reading(sum(x, n) / (double)n) : absent;
}

struct reading stats_deviation(const double *x, size_t n)
{
    if (n < 2)
        return absent;
    /* Equal values have exactly none, whatever their sum is rounded to. */
    double mean = sum(x, n) / (double)n, squares = 0;
    bool constant = true;
    EACH (item, x, n) {
        squares += (*item - mean) * (*item - mean);
        constant = constant && *item == x[0];
    }
    if (constant)
        return finite_reading(0);
    return finite_reading(sqrt(squares / (double)(n - 1)));
}

struct reading stats_cv(const double *x, size_t n)
{
    struct reading mean = stats_mean(x, n), deviation = stats_deviation(x, n);
    if (!mean.valid || !deviation.valid || mean.value == 0)
        return absent;
    return finite_reading(deviation.value / fabs(mean.value));
}

static int compare_sample_values(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return ORDER(left, right);
}

double stats_skewness(const double *x, size_t n)
{
    double mean = n ? sum(x, n) / (double)n : 0, squares = 0, cubes = 0;
    EACH (item, x, n) {
        double away = *item - mean;
        squares += away * away / (double)n;
        cubes += away * away * away / (double)n;
    }
    return squares > 0 ? cubes / pow(squares, 1.5) : 0;
}

struct reading stats_skew_p(const double *x, size_t count)
{
    struct reading cv = stats_cv(x, count);
    if (count < STATS_SKEW_LEAST || !stats_deviation(x, count).valid ||
        (cv.valid && !(cv.value > 1e-12)))
        return absent;
    double n = (double)count,
           y = stats_skewness(x, count) * sqrt((n + 1) * (n + 3) / (6 * (n - 2)));
    double kurtosis =
        3 * (n * n + 27 * n - 70) * (n + 1) * (n + 3) / ((n - 2) * (n + 5) * (n + 7) * (n + 9));
    double w2 = sqrt(2 * (kurtosis - 1)) - 1, scale = y / sqrt(2 / (w2 - 1));
    double z = asinh(scale) / sqrt(log(w2) / 2);
    return finite_reading(2 * special_normal_cdf(-fabs(z)));
}

void stats_sort(double *x, size_t n)
{
    if (n > 1)
        qsort(x, n, sizeof *x, compare_sample_values);
}

double stats_quantile(const double *sorted, size_t n, double p)
{
    double place = p * (double)(n - 1);
    size_t below = (size_t)place;
    if (below + 1 >= n)
        return sorted[n - 1];
    return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

double *stats_sorted(const double *x, size_t n)
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
    AUTO_FREE double *sorted = stats_sorted(x, n);
    return finite_reading(stats_quantile(sorted, n, 0.5));
}

/* The greatest Studentized deviate of n normal values is beyond this one with less than this
 * probability; its bound is (n - 1) / sqrt(n). */
static bool deviates(double deviate, size_t n, double alpha)
{
    double count = (double)n, df = count - 2,
           left = (count - 1) * (count - 1) - count * deviate * deviate;
    return left <= 0 || 2 * count * special_t_cdf(-deviate * sqrt(count * df / left), df) < alpha;
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
    /* in which it was taken away, from 1; 0: it was not */
    AUTO_FREE size_t *step = mem_array(n + 1, sizeof *step);
    size_t count = 0;
    for (size_t taken = 1; n >= STATS_OUTLIERS_LEAST && taken <= most && taken + 2 < n; taken++) {
        double deviate;
        size_t at = furthest(x, n, step, &deviate);
        if (at == n)
            break;
        step[at] = taken;
        if (deviates(deviate, n - taken + 1, alpha))
            count = taken;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = step[i] > 0 && step[i] <= count;
    return count;
}

enum { STEPS = 500 };
static const double tiny = 1e-300, precise = 1e-15;

double special_normal_cdf(double z)
{
    return 0.5 * erfc(-z * M_SQRT1_2);
}

/* A distribution's quantile by bisection: a few dozen steps are nothing beside what is computed
 * from it. */
static double bisect(double (*cdf)(double x, double df), double p, double df, double low,
                     double high)
{
    for (int i = 0; i < STEPS && high - low > precise * fmax(fabs(low), fabs(high)); i++) {
        double middle = 0.5 * (low + high);
        if (middle == low || middle == high)
            break;
        if (cdf(middle, df) < p)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}

static double normal_cdf_of(double z, double df)
{
    (void)df;
    return special_normal_cdf(z);
}

double special_normal_quantile(double p)
{
    /* By the lower tail, where the distribution is known to full precision. */
    return p > 0.5 ? -bisect(normal_cdf_of, 1 - p, 0, -40, 0) : bisect(normal_cdf_of, p, 0, -40, 0);
}

/* A continued fraction by Lentz's method. */
struct fraction {
    double value, c, d;
};

/* The next term: numerator / (denominator + ...). False: the value no longer changes. */
static bool next_fraction_term(struct fraction *of, double numerator, double denominator)
{
    of->d = denominator + numerator * of->d;
    of->c = denominator + numerator / of->c;
    of->d = 1 / (fabs(of->d) < tiny ? tiny : of->d);
    of->c = fabs(of->c) < tiny ? tiny : of->c;
    of->value *= of->d * of->c;
    return !(fabs(of->d * of->c - 1) < precise);
}

/* That of the incomplete beta function (DLMF 8.17.22). */
static double beta_fraction(double a, double b, double x)
{
    double d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    struct fraction of = {.value = d, .c = 1, .d = d};
    for (int m = 1; m < STEPS * 20; m++) {
        double twice = 2.0 * m;
        next_fraction_term(&of, m * (b - m) * x / ((a + twice - 1) * (a + twice)), 1);
        if (!next_fraction_term(&of, -(a + m) * (a + b + m) * x / ((a + twice) * (a + twice + 1)),
                                1))
            break;
    }
    return of.value;
}

static double beta_incomplete(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                     : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double special_t_cdf(double t, double df)
{
    double tail = 0.5 * beta_incomplete(0.5 * df, 0.5, df / (df + t * t));
    return t < 0 ? tail : 1 - tail;
}

double special_t_quantile(double p, double df)
{
    if (p == 0.5)
        return 0;
    double tail = p > 0.5 ? 1 - p : p, low = -1;
    while (special_t_cdf(low, df) > tail && low > -1e300)
        low *= 2;
    double t = bisect(special_t_cdf, tail, df, low, 0);
    return p > 0.5 ? -t : t;
}

double special_f_cdf(double f, double df1, double df2)
{
    return f > 0 ? beta_incomplete(0.5 * df1, 0.5 * df2, df1 * f / (df1 * f + df2)) : 0;
}

/* The regularised lower incomplete gamma function: its series below a + 1, its continued fraction
 * above (DLMF 8.11.4, 8.9.2). */
static double gamma_incomplete(double a, double x)
{
    if (x <= 0)
        return 0;
    double front = exp(a * log(x) - x - lgamma(a));
    if (x < a + 1) {
        double term = 1 / a, total = term;
        for (int i = 1; i < STEPS * 20 && fabs(term) > precise * fabs(total); i++) {
            term *= x / (a + i);
            total += term;
        }
        return front * total;
    }
    double b = x + 1 - a;
    struct fraction of = {.value = 1 / b, .c = 1 / tiny, .d = 1 / b};
    for (int i = 1; i < STEPS * 20 && next_fraction_term(&of, -i * (i - a), b += 2); i++)
        continue;
    return 1 - front * of.value;
}

double special_chi2_cdf(double x, double df)
{
    return gamma_incomplete(0.5 * df, 0.5 * x);
}

double special_chi2_quantile(double p, double df)
{
    double high = df + 1;
    while (special_chi2_cdf(high, df) < p && high < 1e300)
        high *= 2;
    return bisect(special_chi2_cdf, p, df, 0, high);
}
