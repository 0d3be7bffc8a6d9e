#include "results/judge/bins.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

void bins_begin(struct bins *bins)
{
    bins->count = 0;
    bins->first_s = 0;
    bins->width_s = 1;
    bins->shift = 0;
}

static void halve(struct bins *bins)
{
    size_t half = (bins->count + 1) / 2;
    for (size_t i = 0; i < half; i++) {
        double sum = bins->sums[2 * i];
        uint32_t count = bins->counts[2 * i];
        if (2 * i + 1 < bins->count) {
            sum += bins->sums[2 * i + 1];
            count += bins->counts[2 * i + 1];
        }
        bins->sums[i] = sum;
        bins->counts[i] = count;
    }
    bins->count = half;
    bins->width_s *= 2;
    bins->shift++;
}

/* The bin of that moment, made where there is none yet. False: the trace has no such moment. */
static bool make_place(struct bins *bins, int64_t t_s, size_t *place)
{
    if (bins->count == 0)
        bins->first_s = t_s;
    if (t_s < bins->first_s)
        return false;
    while ((t_s - bins->first_s) >> bins->shift >= BINS_MOST) {
        if (bins->width_s > INT64_MAX / 4)
            return false;
        halve(bins);
    }
    *place = (size_t)((t_s - bins->first_s) >> bins->shift);
    for (; bins->count <= *place; bins->count++) {
        bins->sums[bins->count] = 0;
        bins->counts[bins->count] = 0;
    }
    return true;
}

/* Nearly every sample is of a bin that is there, or of the next one. */
void bins_add_all(struct bins *bins, const int64_t *t_s, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t place = (size_t)((uint64_t)(t_s[i] - bins->first_s) >> bins->shift);
        if (place == bins->count && place > 0 && place < BINS_MOST) {
            bins->sums[place] = values[i];
            bins->counts[place] = 1;
            bins->count++;
            continue;
        }
        if (place >= bins->count && !make_place(bins, t_s[i], &place))
            continue;
        bins->sums[place] += values[i];
        bins->counts[place]++;
    }
}

struct level {
    double sum, n;
};

/* From the bin first on. */
static struct bins_step find(const struct bins *bins, size_t first, int64_t least_s, bool falls)
{
    struct bins_step out = {0};
    double means[BINS_MOST];
    struct level all = {0}, left = {0};
    double squares = 0, best = 0;
    for (size_t i = first; i < bins->count; i++) {
        if (!bins->counts[i])
            continue;
        double mean = means[i] = bins->sums[i] / bins->counts[i];
        all.sum += mean;
        squares += mean * mean;
        all.n++;
    }
    int64_t tenth = (int64_t)bins->count * bins->width_s / 10;
    int64_t least = least_s > tenth ? least_s : tenth;
    double spread = all.n > 0 ? squares - all.sum * all.sum / all.n : 0;
    for (size_t i = first; i < bins->count && spread > 0; i++) {
        int64_t before = (int64_t)(i - first) * bins->width_s,
                after = (int64_t)(bins->count - i) * bins->width_s;
        double right = all.n - left.n;
        if (before >= least && after >= least && left.n > 0 && right > 0) {
            double low = left.sum / left.n, high = (all.sum - left.sum) / right;
            double gained = (high - low) * (high - low) * left.n * right / all.n;
            if (gained > best && (high < low || !falls)) {
                best = gained;
                out = (struct bins_step){true, bins->first_s + (int64_t)i * bins->width_s, low,
                                         high, gained / spread};
            }
        }
        if (bins->counts[i]) {
            left.sum += means[i];
            left.n++;
        }
    }
    return out;
}

struct bins_step bins_find_step(const struct bins *bins, int64_t least_s)
{
    return find(bins, 0, least_s, false);
}

struct bins_step bins_find_fall(const struct bins *bins, int64_t least_s)
{
    return find(bins, bins->count / 5, least_s, true);
}

struct reading bins_lowest(const struct bins *bins)
{
    double lowest = INFINITY;
    for (size_t i = 2; i < bins->count; i++)
        if (bins->counts[i] && bins->counts[i - 1] && bins->counts[i - 2]) {
            double sum = bins->sums[i] / bins->counts[i] + bins->sums[i - 1] / bins->counts[i - 1] +
                         bins->sums[i - 2] / bins->counts[i - 2];
            lowest = fmin(lowest, sum / 3);
        }
    return (struct reading){lowest, isfinite(lowest)};
}
