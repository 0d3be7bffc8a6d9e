#include "measure/energy/window_beats.h"
#include "measure/energy/window_shape.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "stats/describe.h"

#include <math.h>
#include <stdlib.h>

/* Of an exponential mean each interval weighs its own end most: the weight falls by exp(-interval /
 * time constant) towards its begin. The load that hides most is at its limit where the weight is
 * least (or most), for such a share of the interval that the mean is the one shown. */
static double hidden_by_exponential_w(double interval_s, double constant_s, double limit_w,
                                      double mean_w)
{
    double rate = interval_s / constant_s, all = -expm1(-rate), shown = mean_w / limit_w;
    double longest = 1 + log(shown * all + exp(-rate)) / rate,
           shortest = -log1p(-shown * all) / rate;
    return limit_w * fmax(longest - shown, shown - shortest);
}

/* A boxcar of n + f intervals counts the share f of each interval n + 1 times, the rest n times. */
static double unevenly_counted(double interval_s, double boxcar_s, bool exactly)
{
    double whole, part = modf(boxcar_s / interval_s, &whole);
    if (!exactly) /* any shorter one, of an interval or more, may be it */
        return 3 - 2 * sqrt(2);
    return part * (1 - part) / (whole + part);
}

double sensor_held_w(const struct window_sensor *sensor)
{
    return sensor->power_held_w > 0 ? sensor->power_held_w : sensor->power_limit_w;
}

double beats_hidden_w(const struct window_sensor *sensor, double unseen_share, double interval_s,
                      double mean_w)
{
    double limit_w = fmax(sensor_held_w(sensor), mean_w),
           averaging_s = shape_seconds(sensor->averaging_ns, 0);
    double most_w = fmax(limit_w - mean_w, mean_w);
    if (unseen_share > 0)
        return unseen_share * most_w;
    if (!(averaging_s > 0) || !(limit_w > 0))
        return 0;
    if (sensor->averaging == WINDOW_EXPONENTIAL)
        return hidden_by_exponential_w(interval_s, averaging_s, limit_w, mean_w);
    if (sensor->averaging != WINDOW_BOXCAR)
        return 0;
    if (averaging_s < interval_s)
        return (1 - averaging_s / interval_s) * most_w;
    return limit_w * unevenly_counted(interval_s, averaging_s, sensor->lag_unsure_ns == 0);
}

/* Nothing finer is looked for in a step: a GPU's power takes about as long to follow. */
static const double finest_s = 0.01;
/* A step that is so many times as long as most lacks a mark; between samples, an update. */
static const double longest_part = 1.5;
/* Kuiper's statistic of n even random places is below this / sqrt(n) in 95 of 100 cases. */
static const double kuiper_by_chance = 1.747;
/* Samples whose distance differs so much from the updates' were read at moments of their own: the
 * update that one shows may have come at any moment of a period. */
static const double other_rate = 0.03;
enum { PLACES = 256, FOLDS_MOST = 32 };

/* Places within steps, as shares, that are folded into so many equal parts of each step. */
struct fold {
    size_t parts, counts[PLACES];
};

/* Kuiper's statistic: by how much the share of places within any one stretch differs from the
 * stretch's own share, at most. Where power is high for one stretch of each part, its mean at the
 * places is off by at most that share of its range. */
static double kuiper(const struct fold *fold, size_t count)
{
    double before = 0, most = 0, least = 0;
    for (size_t i = 0; i < PLACES; i++) {
        before += (double)fold->counts[i] / (double)count - 1.0 / PLACES;
        most = fmax(most, before);
        least = fmin(least, before);
    }
    return most - least;
}

/* The same of one place that is known to a standard deviation only (a share of the part): the
 * stretch around it that holds most beyond its own share is where the normal density is above 1. */
static double kuiper_of_one(double deviation)
{
    double above = 1 / (fmax(deviation, 1e-3) * sqrt(2 * M_PI));
    if (above <= 1)
        return 0;
    double reach = sqrt(2 * log(above));
    return erf(reach / sqrt(2)) - 2 * reach * deviation;
}

static void add_place(struct fold *folds, size_t fold_count, double place)
{
    for (size_t i = 0; i < fold_count; i++) {
        double whole, part = modf(place * (double)folds[i].parts, &whole);
        folds[i].counts[(size_t)fmin(part * PLACES, PLACES - 1)]++;
    }
}

/* Moments that follow each other, at least two. */
struct moments {
    const double *at;
    size_t count;
    double median_s; /* between two of them */
};

static double median_part(const double *at, size_t count)
{
    AUTO_FREE double *lengths = mem_array(count, sizeof *lengths);
    for (size_t i = 0; i + 1 < count; i++)
        lengths[i] = at[i + 1] - at[i];
    return stats_median(lengths, count - 1).value;
}

static bool is_whole_beat(const struct moments *of, size_t i)
{
    return of->at[i + 1] - of->at[i] <= longest_part * of->median_s;
}

/* By how much single moments may be off, as a variance: one that is late makes the part before it
 * longer and the next one shorter, so neighbouring parts are correlated by minus the variance. At
 * most, with 95 % certainty. */
static double time_variance(const struct moments *of)
{
    double square = 0, product = 0, pairs = 0;
    for (size_t i = 0; i + 2 < of->count; i++) {
        if (!is_whole_beat(of, i) || !is_whole_beat(of, i + 1))
            continue;
        double one = of->at[i + 1] - of->at[i] - of->median_s,
               next = of->at[i + 2] - of->at[i + 1] - of->median_s;
        square += one * one;
        product += one * next;
        pairs++;
    }
    return pairs > 0 ? fmax(0, 2 * square / sqrt(pairs) - product) / pairs : INFINITY;
}

static void fold_samples(const struct moments *samples, const struct moments *steps,
                         struct fold *folds, size_t fold_count, struct sample_phases *out)
{
    size_t step = 0;
    EACH (item, samples->at, samples->count) {
        double t = *item;
        while (step + 1 < steps->count && steps->at[step + 1] <= t)
            step++;
        if (t < steps->at[step] || step + 1 == steps->count || !is_whole_beat(steps, step))
            continue;
        add_place(folds, fold_count,
                  (t - steps->at[step]) / (steps->at[step + 1] - steps->at[step]));
        out->count++;
    }
}

/* What chance makes uneven is left out. 1 where so few samples, at moments that are known no
 * better, do not tell. */
static double unevenness_of(const struct fold *fold, size_t count, double deviation_s,
                            double step_s)
{
    double found = kuiper(fold, count), by_chance = kuiper_by_chance / sqrt((double)count);
    double whole = kuiper_of_one(deviation_s * (double)fold->parts / step_s);
    if (whole < 2 * by_chance)
        return 1;
    return fmin(sqrt(fmax(found * found - by_chance * by_chance, 0)) / whole, 1);
}

struct sample_phases sample_phases_of(const struct shape *shape, double update_s,
                                      const double *steps_at, size_t step_count, double from,
                                      double to)
{
    struct sample_phases out = {0};
    struct fold folds[FOLDS_MOST] = {0};
    size_t first, end;
    shape_samples(shape, from, to, &first, &end);
    /* Those within the window, and the one that it begins in. */
    size_t before = FIRST_PLACE(at, 0, step_count, steps_at[at] > from),
           until = FIRST_PLACE(at, before, step_count, steps_at[at] > to);
    before -= before > 0;
    until += until < step_count;
    if (until < before + 2 || end < first + 2)
        return out;
    steps_at += before;
    step_count = until - before;
    AUTO_FREE double *samples_at = mem_array(end - first, sizeof *samples_at);
    for (size_t i = first; i < end; i++)
        samples_at[i - first] = shape_seconds(shape->at[i].t_ns, shape->origin_ns) - shape->delay_s;
    struct moments samples = {samples_at, end - first, median_part(samples_at, end - first)};
    struct moments steps = {steps_at, step_count, median_part(steps_at, step_count)};
    size_t fold_count = (size_t)fmin(fmax(steps.median_s / finest_s, 1), FOLDS_MOST);
    for (size_t i = 0; i < fold_count; i++)
        folds[i].parts = i + 1;
    for (size_t i = 0; i + 1 < step_count; i++)
        if (is_whole_beat(&steps, i))
            out.part_s += fmax(0, fmin(steps_at[i + 1], to) - fmax(steps_at[i], from));
    fold_samples(&samples, &steps, folds, fold_count, &out);
    double variance = time_variance(&samples) + time_variance(&steps);
    if (fabs(samples.median_s / update_s - 1) > other_rate)
        variance += update_s * update_s / 12;
    double deviation_s = sqrt(variance);
    for (size_t i = 0; i < fold_count && out.count > 0; i++)
        out.uneven =
            fmax(out.uneven, unevenness_of(&folds[i], out.count, deviation_s, steps.median_s));
    return out;
}
