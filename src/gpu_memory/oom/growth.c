#include "gpu_memory/oom/growth.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

enum { WARM_UP = 1 };

/* Less than this share of the limit in all is no growth, nor is less than this many bytes where
 * there is no limit. */
static const double LEAST_SHARE = 0.01;
static const double LEAST_BYTES = 64.0 * 1048576;

/* So alike must two steps be where there are only these: what slows down will not go on so. */
static const double ALIKE = 1.5;

/* So many of the steps must go up. */
static const double UPWARD_SHARE = 0.75;

static int compare_memory_values(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return ORDER(x, y);
}

double growth_slope(const double *values, size_t count)
{
    double slopes[GROWTH_POINTS_MAX * (GROWTH_POINTS_MAX - 1) / 2];
    size_t found = 0;
    if (count > GROWTH_POINTS_MAX) {
        values += count - GROWTH_POINTS_MAX;
        count = GROWTH_POINTS_MAX;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count; k++)
            slopes[found++] = (values[k] - values[i]) / (double)(k - i);
    if (found == 0)
        return 0;
    qsort(slopes, found, sizeof *slopes, compare_memory_values);
    return found % 2 ? slopes[found / 2] : (slopes[found / 2 - 1] + slopes[found / 2]) / 2;
}

static bool mostly_upward(const double *values, size_t count)
{
    size_t upward = 0;
    for (size_t i = 1; i < count; i++)
        upward += values[i] > values[i - 1];
    return (double)upward >= UPWARD_SHARE * (double)(count - 1);
}

/* What slows down is a cache that fills, or fragmentation that settles: the later half counts as
 * well. */
static double steady_slope(const double *values, size_t count)
{
    size_t late = count >= 4 ? count / 2 + 1 : count;
    double all = growth_slope(values, count), latest = growth_slope(values + count - late, late);
    return fmin(all, latest);
}

struct growth growth_of(const double *peaks, size_t count, double limit_bytes)
{
    struct growth growth = {.epochs = count};
    double least = limit_bytes > 0 ? LEAST_SHARE * limit_bytes : LEAST_BYTES;
    if (count < GROWTH_EPOCHS_LEAST)
        return growth;
    bool from_start = count == GROWTH_EPOCHS_LEAST;
    size_t skipped = from_start ? 0 : WARM_UP;
    if (count > GROWTH_POINTS_MAX)
        skipped = count - GROWTH_POINTS_MAX;
    const double *values = peaks + skipped;
    size_t used = count - skipped;
    growth.first_bytes = values[0];
    growth.last_bytes = peaks[count - 1];
    double first = values[1] - values[0], second = values[2] - values[1];
    bool only_two = used == GROWTH_EPOCHS_LEAST;
    double slope = only_two ? fmin(first, second) : steady_slope(values, used);
    bool alike = !only_two ||
                 (first > 0 && second > 0 && first <= ALIKE * second && second <= ALIKE * first);
    growth.grows = slope > 0 && alike && mostly_upward(values, used) &&
                   growth.last_bytes - growth.first_bytes >= least;
    growth.bytes_per_epoch = growth.grows ? slope : 0;
    return growth;
}

size_t growth_epochs_left(const struct growth *growth, double limit_bytes)
{
    static const double MOST = 1e9;
    if (!growth->grows || limit_bytes <= 0)
        return 0;
    double left = (limit_bytes - growth->last_bytes) / growth->bytes_per_epoch;
    if (left < 0)
        return 1;
    return left < MOST ? (size_t)left + 1 : (size_t)MOST;
}

/* Of the growth in all. */
static const double MOST_BACK = 0.25;

void growth_windows_begin(struct growth_windows *windows, double step_s)
{
    *windows = (struct growth_windows){.step_s = step_s};
}

static void merge_pairs(struct growth_windows *windows)
{
    for (size_t i = 0; i < GROWTH_POINTS_MAX / 2; i++)
        windows->peaks[i] = fmax(windows->peaks[2 * i], windows->peaks[2 * i + 1]);
    windows->open /= 2;
    windows->step_s *= 2;
}

bool growth_windows_add(struct growth_windows *windows, double t_s, double bytes)
{
    if (!isfinite(t_s) || !isfinite(bytes) || !(windows->step_s > 0))
        return false;
    if (!windows->any) {
        windows->any = true;
        windows->first_s = t_s;
        windows->peaks[0] = bytes;
        return false;
    }
    /* A window without a reading had what was read before it. */
    bool ended = false;
    while (t_s - windows->first_s >= (double)(windows->open + 1) * windows->step_s) {
        if (windows->open + 1 == GROWTH_POINTS_MAX) {
            merge_pairs(windows);
            continue;
        }
        windows->peaks[windows->open + 1] = windows->peaks[windows->open];
        windows->open++;
        ended = true;
    }
    /* The first reading in a window is its own: what the one before it had may have been given
     * back. */
    if (ended || bytes > windows->peaks[windows->open])
        windows->peaks[windows->open] = bytes;
    return ended;
}

/* Windows know nothing of the training's own rhythm: what is taken and given back with every batch
 * or validation rises in most of them too. What leaks gives little back. */
static bool gives_back(const double *values, size_t count)
{
    double back = 0;
    for (size_t i = 1; i < count; i++)
        back += fmax(0, values[i - 1] - values[i]);
    return back > MOST_BACK * (values[count - 1] - values[0]);
}

struct growth_in_time growth_in_time(const struct growth_windows *windows, double limit_bytes)
{
    struct growth_in_time out = {.windows = windows->open};
    if (windows->open < GROWTH_WINDOWS_LEAST)
        return out;
    struct growth growth = growth_of(windows->peaks, windows->open, limit_bytes);
    out.grows = growth.grows && !gives_back(windows->peaks, windows->open);
    out.bytes_per_s = out.grows ? growth.bytes_per_epoch / windows->step_s : 0;
    out.last_bytes = growth.last_bytes;
    return out;
}

double growth_seconds_left(const struct growth_in_time *growth, double limit_bytes)
{
    if (!growth->grows || limit_bytes <= 0)
        return INFINITY;
    return fmax(0, (limit_bytes - growth->last_bytes) / growth->bytes_per_s);
}
