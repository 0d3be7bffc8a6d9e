#include "gpu_memory/oom/growth_windows.h"

#include <math.h>

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
    /* The first reading in a window is its own: what the one before it had may have been given back. */
    if (ended || bytes > windows->peaks[windows->open])
        windows->peaks[windows->open] = bytes;
    return ended;
}

/* Windows know nothing of the training's own rhythm: what is taken and given back with every batch or validation rises in
 * most of them too. What leaks gives little back. */
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
