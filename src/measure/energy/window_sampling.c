#include "measure/energy/window_sampling.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "measure/energy/window_shape.h"

#include <math.h>
#include <stdlib.h>

/* The third of the shortest stays of a value is one update, where there are so many changes; the
 * first of the trace tell it. */
enum { LEAST_CHANGES = 8, SHORT_STAYS = 2, SAMPLES_MOST = 4096 };
/* Where samples are closer than updates, a value that is repeated within so many periods is the
 * same update. Changes further apart than so many are not neighbours. */
static const double closer = 0.75, repeated = 1.5, apart = 2.5;
/* No sensor's mean is longer; of one, changes come back to so much of their squares. */
static const double longest_s = 1.2, undone = 0.25;
/* Slow changes: over FAR updates power differs by more than steps would over NEAR ones. */
enum { NEAR = 2, FAR = 6 };

static int compare_changes(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return ORDER(left, right);
}

static bool is_repeat_of_last(const struct power_sample *samples, size_t i, size_t last,
                              double period_s)
{
    return samples[i].power_w == samples[last].power_w &&
           shape_seconds(samples[i].t_ns, samples[i - 1].t_ns) < closer * period_s &&
           shape_seconds(samples[i].t_ns, samples[last].t_ns) < repeated * period_s;
}

/* The time over which the values may be means. A mean repeats each change with the opposite sign
 * when its cause leaves the mean; until then a rise is spread evenly over the length. */
static double averaging_span(const double *changes_w, size_t count, double period_s)
{
    double square = 0, alike = 0, most = 0, before = 0;
    size_t lags = (size_t)(longest_s / period_s), length = 1;
    for (size_t i = 0; i < count; i++)
        square += changes_w[i] * changes_w[i];
    for (size_t lag = 1; lag <= lags && lag < count && square > 0; lag++) {
        double product = 0;
        for (size_t i = lag; i < count; i++)
            product -= changes_w[i] * changes_w[i - lag] / square;
        if (lag == 1)
            alike = fmin(fmax(-product, 0), 0.99);
        if (fmax(product, 0) + before > most) { /* updates come a little early or late */
            most = fmax(product, 0) + before;
            length = lag;
        }
        before = fmax(product, 0);
    }
    return period_s * fmax(1 / (1 - alike), most > undone ? (double)length : 0);
}

struct sampling sampling_learn(const struct power_sample *samples, size_t count, double period_s)
{
    struct sampling out = {.period_s = period_s};
    count = count < SAMPLES_MOST ? count : SAMPLES_MOST;
    AUTO_FREE double *stays = mem_array(count + 1, sizeof *stays);
    size_t changes = 0, last = 0;
    for (size_t i = 1; i < count; i++) {
        if (samples[i].power_w == samples[last].power_w)
            continue;
        if (last > 0)
            stays[changes++] = shape_seconds(samples[i].t_ns, samples[last].t_ns);
        last = i;
    }
    if (changes < LEAST_CHANGES)
        return out;
    qsort(stays, changes, sizeof *stays, compare_changes);
    if (!(period_s > 0))
        out.period_s = stays[SHORT_STAYS];
    /* a level counts once, however long it lasts: the end of a pulse then follows its begin */
    changes = last = 0;
    for (size_t i = 1; i < count; i++) {
        double length_s = shape_seconds(samples[i].t_ns, samples[last].t_ns);
        if (samples[i].power_w == samples[last].power_w && length_s < repeated * out.period_s)
            continue;
        stays[changes++] = samples[i].power_w - samples[last].power_w;
        last = i;
    }
    out.span_s = averaging_span(stays, changes, out.period_s);
    return out;
}

struct sampling_sums sampling_sums(const struct sampling *sampling, const struct shape *shape,
                                   double from, double to)
{
    struct sampling_sums sums = {0};
    /* the last ones, in turn */
    double period_s = sampling->period_s, change_w = 0, values_w[FAR] = {0};
    size_t first, end, count = 0;
    /* with what its first differ from */
    shape_samples(shape, from - repeated * FAR * period_s, to, &first, &end);
    for (size_t i = first, last = first; i < end; i++) {
        double power_w = shape->at[i].power_w;
        bool within = shape_seconds(shape->at[i].t_ns, shape->origin_ns) - shape->delay_s >= from;
        if (i > first && is_repeat_of_last(shape->at, i, last, period_s))
            continue;
        if (count > 0) {
            double length_s = shape_seconds(shape->at[i].t_ns, shape->at[last].t_ns);
            double next_w = power_w - shape->at[last].power_w;
            sums.squares += within ? next_w * next_w : 0;
            sums.products +=
                within && length_s < apart * period_s ? length_s * next_w * change_w : 0;
            change_w = next_w;
        }
        if (within && count >= FAR) {
            double near_w = power_w - values_w[(count - NEAR) % FAR],
                   far_w = power_w - values_w[count % FAR];
            sums.near += near_w * near_w;
            sums.far += far_w * far_w;
        }
        values_w[count++ % FAR] = power_w;
        last = i;
    }
    if (sums.far > 0)
        sums.drift = sums.far * NEAR / (FAR * fmax(sums.near, 1e-9 * sums.far));
    return sums;
}

double sampling_variance(const struct sampling_sums *sums, double period_s)
{
    double levels = period_s * sums->squares / 12, independent = -(5.0 / 6) * sums->products;
    return fmax(period_s * (levels + independent), 0);
}

static int compare_steps(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return ORDER(left, right);
}

static size_t count_equal(const int64_t *steps, size_t first, size_t end)
{
    size_t next = first;
    while (next < end && steps[next] == steps[first])
        next++;
    return next - first;
}

double sampling_rounded_share(const struct shape *shape, double from, double to, double step_w)
{
    size_t first, end, count = 0, before = 0;
    shape_samples(shape, from, to, &first, &end);
    size_t stride = 1 + (end - first) / SAMPLES_MOST;
    AUTO_FREE int64_t *steps = mem_array(SAMPLES_MOST, sizeof *steps);
    for (size_t i = first; i < end; i += stride)
        steps[count++] = llround(shape->at[i].power_w / step_w);
    qsort(steps, count, sizeof *steps, compare_steps);
    double square = 0;
    for (size_t i = 0, here; i < count; i += here, before = here) {
        here = count_equal(steps, i, count);
        size_t next = i + here, after = 0;
        if (i > 0 && steps[i - 1] != steps[i] - 1)
            before = 0;
        if (next < count && steps[next] == steps[i] + 1)
            after = count_equal(steps, next, count);
        double alone = fmax((double)here - (double)(before + after) / 2, 0);
        square += alone * alone;
    }
    return count > 0 ? sqrt(square) / (double)count : 1;
}

/* An update is known so sharply, as a share of the period, and what it adds so well, as a share
 * of the power. */
static const double sharp = 0.15, added_share = 0.03;
/* However unlikely either makes an update, it may be this likely (as a density, 1/W). */
static const double rare = 1e-4;

double sampling_summed_odds(const struct sampling *sampling, const struct shape *shape,
                            const struct knots *knots, double period_s)
{
    double said = 0;
    for (size_t i = 1; i < knots->count; i++) {
        const struct knot *a = &knots->items[i - 1], *b = &knots->items[i];
        double length_s = b->at - a->at, added_w = (b->value_j - a->value_j) / period_s;
        if (b->hi_b - b->lo_a > sharp * period_s || a->hi_b - a->lo_a > sharp * period_s ||
            fabs(length_s - period_s) > sharp * period_s)
            continue;
        /* What is shown nearest to the update, and before. */
        double at = b->at - shape->delay_s, shown_w = 0, before_w = 0, off_s = INFINITY;
        size_t first, end, updates = 0;
        shape_samples(shape, at - 3 * sampling->period_s, at + period_s / 2, &first, &end);
        for (size_t k = first, last = first; k < end; k++) {
            double t = shape_seconds(shape->at[k].t_ns, shape->origin_ns);
            if (k > first && is_repeat_of_last(shape->at, k, last, sampling->period_s))
                continue;
            if (fabs(t - b->at) < off_s) {
                off_s = fabs(t - b->at);
                shown_w = shape->at[k].power_w;
                before_w = shape->at[last].power_w;
                updates++;
            }
            last = k;
        }
        if (updates < 2 || off_s > period_s / 2)
            continue;
        double off_w = added_w - shown_w, changed_w = shown_w - before_w;
        double summed2 = pow(added_share * shown_w, 2) + 1e-12,
               own2 = summed2 + changed_w * changed_w / 3;
        double summed = exp(-off_w * off_w / (2 * summed2)) / sqrt(summed2);
        double own = exp(-off_w * off_w / (2 * own2)) / sqrt(own2);
        said += log((summed + rare) / ((summed + own) / 2 + rare));
    }
    return exp(fmin(fmax(said, -30), 30));
}
