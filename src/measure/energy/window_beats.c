#include "measure/energy/window_private.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "stats/describe.h"

#include <math.h>
#include <stdlib.h>

/* Checked before and after the window. */
static const double around_s = 10;
/* Power has two levels where so many samples lie in the outer twentieths of its range. */
static const double outer_part = 0.05, two_levels = 0.5, clear_levels = 0.7;
/* Below and above these shares of the range it is on the low or on the high level. */
static const double low_part = 0.25, high_part = 0.75;
/* Changes are undone by the next one: the mean product of neighbouring changes is so far below 0, as a share of their mean square. It is
 * 0 where a level lasts for more than a sample, and above 0 in a ramp. */
static const double undone_share = 0.02;
/* Nevertheless the levels last: over two samples power changes by less than so much of what chance would give, or it hardly ever goes
 * from one to the other. */
static const double lasting_share = 0.35, rare_share = 0.05;
/* Two levels so near each other, as a share of the higher, are a part of a larger change. */
static const double near_share = 0.3;
/* The longest stay on a level by the shortest: of a load that repeats slowly all are as long. The second counts where the
 * window itself is quiet: less than so much of the range is in it. */
static const double uneven = 30, uneven_around = 4, quiet_share = 0.1, least_change = 0.02;
static const size_t least_stays = 4;

/* Stays on a level, in samples; only one that is complete can be the shortest. */
struct stays {
    size_t count; /* of those that are complete */
    double shortest, longest;
};

/* Sums over samples; powers are those above the lowest. */
struct look {
    double lowest_w, range_w;
    size_t samples, outer, crossings;
    double sum, square;
    double change2, undone,
        change2_of_two; /* squares of changes, products of neighbouring ones, squares over two samples */
    struct stays low, high;
    /* Of the samples before. */
    double last_w, change_w;
    int level; /* -1: low, 1: high, 0: none yet */
    double stay;
};

static void end_stay(struct look *look, bool complete)
{
    struct stays *stays = look->level < 0 ? &look->low : &look->high;
    stays->longest = fmax(stays->longest, look->stay);
    if (!complete)
        return;
    stays->shortest = stays->count > 0 ? fmin(stays->shortest, look->stay) : look->stay;
    stays->count++;
}

static void add_level(struct look *look, double part)
{
    int level = part < low_part ? -1 : part > high_part ? 1 : 0;
    look->outer += part < outer_part || part > 1 - outer_part;
    if (level == 0)
        return;
    if (look->level != 0 && look->level != level) {
        end_stay(look, look->crossings > 0);
        look->crossings++;
        look->stay = 0;
    }
    look->level = level;
    look->stay++;
}

static void add_sample(struct look *look, double power_w)
{
    double above_w = power_w - look->lowest_w, change_w = look->samples > 0 ? above_w - look->last_w : 0;
    if (look->samples > 1) {
        look->undone -= change_w * look->change_w;
        look->change2_of_two += (change_w + look->change_w) * (change_w + look->change_w);
    }
    look->change2 += change_w * change_w;
    look->sum += above_w;
    look->square += above_w * above_w;
    look->samples++;
    look->last_w = above_w;
    look->change_w = change_w;
    add_level(look, above_w / look->range_w);
}

static double unevenness(const struct stays *stays)
{
    return stays->count > 0 ? (stays->longest + 1) / (stays->shortest + 1) : 0;
}

static bool in_step(const struct look *look, double window_range_w)
{
    double count = (double)look->samples, mean = look->sum / count;
    double by_chance = 2 * (look->square / count - mean * mean);
    double changes = look->change2_of_two / fmax(count - 2, 1) / by_chance; /* 0: the levels last, 1: as by chance */
    double outer = (double)look->outer / count, most = fmax(unevenness(&look->low), unevenness(&look->high));
    if (outer < two_levels)
        return false;
    bool lasting = changes < lasting_share || (double)look->crossings < rare_share * count;
    bool near = look->range_w < near_share * (look->lowest_w + look->range_w);
    if (look->undone > undone_share * look->change2 && (lasting || near))
        return true;
    if (outer > clear_levels && changes > least_change && most > uneven)
        return true;
    return look->low.count + look->high.count >= least_stays && most > uneven_around &&
           window_range_w < quiet_share * look->range_w;
}

struct beats beats_find(const struct shape *shape, double from, double to)
{
    size_t first, end;
    struct beats out = {false, INFINITY, -INFINITY};
    shape_samples(shape, from - around_s, to + around_s, &first, &end);
    for (size_t i = first; i < end; i++) {
        out.power_min_w = fmin(out.power_min_w, shape->at[i].power_w);
        out.power_max_w = fmax(out.power_max_w, shape->at[i].power_w);
    }
    struct look look = {.lowest_w = out.power_min_w, .range_w = out.power_max_w - out.power_min_w};
    if (!(look.range_w > 0))
        return out;
    for (size_t i = first; i < end; i++)
        add_sample(&look, shape->at[i].power_w);
    end_stay(&look, false);
    struct shape_range window = shape_extremes(shape, from, to);
    out.suspected = in_step(&look, window.power_max_w - window.power_min_w);
    return out;
}

/* Of an exponential mean each interval weighs its own end most: the weight falls by exp(-interval / time constant) towards its begin. The
 * load that hides most is at its limit where the weight is least (or most), for such a share of the interval that the mean is the one
 * shown. */
static double hidden_by_exponential_w(double interval_s, double constant_s, double limit_w, double mean_w)
{
    double rate = interval_s / constant_s, all = -expm1(-rate), shown = mean_w / limit_w;
    double longest = 1 + log(shown * all + exp(-rate)) / rate, shortest = -log1p(-shown * all) / rate;
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

double beats_hidden_w(const struct window_sensor *sensor, double unseen_share, double interval_s, double mean_w)
{
    double limit_w = fmax(sensor_held_w(sensor), mean_w), averaging_s = shape_seconds(sensor->averaging_ns, 0);
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
/* Samples whose distance differs so much from the updates' were read at moments of their own: the update that one shows may have come at
 * any moment of a period. */
static const double other_rate = 0.03;
enum { PLACES = 256, FOLDS_MOST = 32 };

/* Places within steps, as shares, that are folded into so many equal parts of each step. */
struct fold {
    size_t parts, counts[PLACES];
};

/* Kuiper's statistic: by how much the share of places within any one stretch differs from the stretch's own share, at most. Where power
 * is high for one stretch of each part, its mean at the places is off by at most that share of its range. */
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

/* The same of one place that is known to a standard deviation only (a share of the part): the stretch around it that holds most beyond
 * its own share is where the normal density is above 1. */
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

static bool is_whole(const struct moments *of, size_t i)
{
    return of->at[i + 1] - of->at[i] <= longest_part * of->median_s;
}

/* By how much single moments may be off, as a variance: one that is late makes the part before it longer and the next one shorter, so
 * neighbouring parts are correlated by minus the variance. At most, with 95 % certainty. */
static double time_variance(const struct moments *of)
{
    double square = 0, product = 0, pairs = 0;
    for (size_t i = 0; i + 2 < of->count; i++) {
        if (!is_whole(of, i) || !is_whole(of, i + 1))
            continue;
        double one = of->at[i + 1] - of->at[i] - of->median_s, next = of->at[i + 2] - of->at[i + 1] - of->median_s;
        square += one * one;
        product += one * next;
        pairs++;
    }
    return pairs > 0 ? fmax(0, 2 * square / sqrt(pairs) - product) / pairs : INFINITY;
}

static void fold_samples(const struct moments *samples, const struct moments *steps, struct fold *folds,
                         size_t fold_count, struct sample_phases *out)
{
    size_t step = 0;
    EACH (item, samples->at, samples->count) {
        double t = *item;
        while (step + 1 < steps->count && steps->at[step + 1] <= t)
            step++;
        if (t < steps->at[step] || step + 1 == steps->count || !is_whole(steps, step))
            continue;
        add_place(folds, fold_count, (t - steps->at[step]) / (steps->at[step + 1] - steps->at[step]));
        out->count++;
    }
}

/* What chance makes uneven is left out. 1 where so few samples, at moments that are known no better, do not tell. */
static double unevenness_of(const struct fold *fold, size_t count, double deviation_s, double step_s)
{
    double found = kuiper(fold, count), by_chance = kuiper_by_chance / sqrt((double)count);
    double whole = kuiper_of_one(deviation_s * (double)fold->parts / step_s);
    if (whole < 2 * by_chance)
        return 1;
    return fmin(sqrt(fmax(found * found - by_chance * by_chance, 0)) / whole, 1);
}

struct sample_phases sample_phases_of(const struct shape *shape, double update_s, const double *steps_at,
                                      size_t step_count, double from, double to)
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
        if (is_whole(&steps, i))
            out.part_s += fmax(0, fmin(steps_at[i + 1], to) - fmax(steps_at[i], from));
    fold_samples(&samples, &steps, folds, fold_count, &out);
    double variance = time_variance(&samples) + time_variance(&steps);
    if (fabs(samples.median_s / update_s - 1) > other_rate)
        variance += update_s * update_s / 12;
    double deviation_s = sqrt(variance);
    for (size_t i = 0; i < fold_count && out.count > 0; i++)
        out.uneven = fmax(out.uneven, unevenness_of(&folds[i], out.count, deviation_s, steps.median_s));
    return out;
}
