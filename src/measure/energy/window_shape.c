#include "measure/energy/window_shape.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

enum { SHAPE_BLOCK = 16, SHAPE_SUPER = 64 * SHAPE_BLOCK, SHAPE_NEAR = 64 };

/* A sensor's samples differ from the counter's by a little everywhere: also a flat trace must lose
 * certainty. */
static const double flat_share = 0.001;
/* The same where power is known by the counter's steps alone, whose means hide what was within. */
static const double blind_share = 0.1;

/* The moment that a sample stands for. */
static inline double sample_time(const struct shape *shape, size_t i)
{
    return shape_seconds(shape->at[i].t_ns, shape->origin_ns) - shape->delay_s;
}

/* What the trapezoid may miss between two samples. A single change of d watts, anywhere in h
 * seconds, moves the energy by up to d·h/2, evenly spread: (d·h)²/12. Neighbouring changes tell
 * more: in the same direction it is a ramp, which the trapezoid follows; in opposite directions
 * power varies faster than it is sampled, and more is missed than is seen. */
static double step_variance(const struct shape *shape, size_t i)
{
    const struct power_sample *at = shape->at + i;
    double length_s = shape_seconds(at[1].t_ns, at[0].t_ns), rise = at[1].power_w - at[0].power_w;
    double before = i > 0 ? at[0].power_w - at[-1].power_w : 0;
    double after = i + 2 < shape->count ? at[2].power_w - at[1].power_w : 0;
    double square = (rise * rise - rise * (before + after)) / 12;
    square = square > 0 ? square : 0;
    double flat_w =
        (shape->real ? flat_share : blind_share) * 0.5 * (at[0].power_w + at[1].power_w);
    return (square + flat_w * flat_w) * length_s * length_s;
}

/* Energy of the part [0, share] of the step from sample i to the next. */
static double step_energy_j(const struct shape *shape, size_t i, double share)
{
    double length_s = shape_seconds(shape->at[i + 1].t_ns, shape->at[i].t_ns);
    double from_w = shape->at[i].power_w, to_w = shape->at[i + 1].power_w;
    return (from_w + 0.5 * (to_w - from_w) * share) * share * length_s;
}

/* Adds the part [0, share] of the step from sample i to the next. */
static void add_step_part(const struct shape *shape, size_t i, double share, struct shape_sum *sum)
{
    double length_s = shape_seconds(shape->at[i + 1].t_ns, shape->at[i].t_ns);
    double from_w = shape->at[i].power_w, to_w = shape->at[i + 1].power_w;
    double rise = (to_w - from_w) * share;
    sum->energy_j += step_energy_j(shape, i, share);
    if (shape->real && length_s > shape->gap_s)
        /* A gap may have held anything that power has ever been. */
        sum->gap_j2 += shape->range_w * shape->range_w * length_s * length_s / 12 * share;
    else
        sum->var_j2 += step_variance(shape, i) * share;
    sum->square += 0.5 * (from_w * from_w + to_w * to_w) * share * length_s;
    sum->changes += share;
    sum->power_w = from_w + rise;
}

static void widen(struct shape_range *range, const struct shape_range *other)
{
    range->power_min_w = fmin(range->power_min_w, other->power_min_w);
    range->power_max_w = fmax(range->power_max_w, other->power_max_w);
    range->gap_s = fmax(range->gap_s, other->gap_s);
}

static struct shape_range sample_range(const struct shape *shape, size_t i)
{
    double gap = i + 1 < shape->count ? shape_seconds(shape->at[i + 1].t_ns, shape->at[i].t_ns) : 0;
    return (struct shape_range){shape->at[i].power_w, shape->at[i].power_w, gap};
}

static const struct shape_range nothing = {INFINITY, -INFINITY, 0};

static void build_blocks(struct shape *shape)
{
    shape->blocks = mem_array(shape->count / SHAPE_BLOCK + 1, sizeof *shape->blocks);
    shape->supers = mem_array(shape->count / SHAPE_SUPER + 1, sizeof *shape->supers);
    struct shape_sum sum = {0};
    for (size_t i = 0; i < shape->count; i++) {
        struct shape_block *block = &shape->blocks[i / SHAPE_BLOCK];
        if (i % SHAPE_BLOCK == 0)
            *block = (struct shape_block){sum, nothing};
        if (i % SHAPE_SUPER == 0)
            shape->supers[i / SHAPE_SUPER] = nothing;
        struct shape_range range = sample_range(shape, i);
        widen(&block->range, &range);
        widen(&shape->supers[i / SHAPE_SUPER], &range);
        if (i + 1 < shape->count)
            add_step_part(shape, i, 1, &sum);
    }
}

void shape_init(struct shape *shape, int64_t origin_ns, const struct power_sample *samples,
                size_t count, bool own, bool real, const struct window_sensor *sensor)
{
    *shape = (struct shape){
        .origin_ns = origin_ns,
        .delay_s = shape_seconds(sensor->span_min_ns / 2 + sensor->span_max_ns / 2, 0) / 2,
        .gap_s = shape_seconds(sensor->gap_ns, 0),
        .at = samples,
        .count = count,
        .real = real,
    };
    if (own)
        shape->own = (struct power_sample *)samples;
    struct shape_range all = nothing;
    EACH (sample, samples, count) {
        all.power_min_w = fmin(all.power_min_w, sample->power_w);
        all.power_max_w = fmax(all.power_max_w, sample->power_w);
    }
    shape->range_w = count ? fmax(all.power_max_w - all.power_min_w, 0.5 * all.power_max_w) : 0;
    build_blocks(shape);
}

void shape_fini(struct shape *shape)
{
    free(shape->own);
    free(shape->blocks);
    free(shape->supers);
    *shape = (struct shape){0};
}

/* Index of the last sample at or before t; 0 if t is before them all. */
static size_t find_sample_before(const struct shape *shape, double t)
{
    size_t after = FIRST_PLACE(at, 0, shape->count, sample_time(shape, at) > t);
    return after ? after - 1 : 0;
}

/* The same, looked for first where it was found last; share: how far t is on the way to the next
 * sample, or NAN where there is none. */
static size_t find_near(const struct shape *shape, double t, size_t *hint, double *share)
{
    size_t at = hint ? *hint : shape->count, end = at + SHAPE_NEAR;
    if (at < shape->count && sample_time(shape, at) <= t)
        while (at < end && at + 1 < shape->count && sample_time(shape, at + 1) <= t)
            at++;
    if (at >= shape->count || at == end || sample_time(shape, at) > t)
        at = find_sample_before(shape, t);
    if (hint)
        *hint = at;
    double past = t - sample_time(shape, at);
    bool between = past >= 0 && at + 1 < shape->count;
    *share = between ? past / shape_seconds(shape->at[at + 1].t_ns, shape->at[at].t_ns) : NAN;
    return at;
}

/* Outside of what was sampled: held, with an error that is the same all the way. */
static void add_outside(const struct shape *shape, double seconds, struct shape_sum *sum)
{
    sum->energy_j += sum->power_w * seconds;
    sum->gap_j2 += copysign(shape->range_w * shape->range_w * seconds * seconds / 12, seconds);
    sum->square += sum->power_w * sum->power_w * seconds;
}

struct shape_sum shape_at(const struct shape *shape, double t, size_t *hint)
{
    if (shape->count == 0)
        return (struct shape_sum){0};
    double share;
    size_t found = find_near(shape, t, hint, &share);
    struct shape_sum sum = shape->blocks[found / SHAPE_BLOCK].before;
    for (size_t i = found / SHAPE_BLOCK * SHAPE_BLOCK; i < found; i++)
        add_step_part(shape, i, 1, &sum);
    sum.power_w = shape->at[found].power_w;
    if (isnan(share))
        add_outside(shape, t - sample_time(shape, found), &sum);
    else
        add_step_part(shape, found, share, &sum);
    return sum;
}

double shape_energy_j(const struct shape *shape, double t, size_t *hint)
{
    if (shape->count == 0)
        return 0;
    double share;
    size_t found = find_near(shape, t, hint, &share);
    double energy_j = shape->blocks[found / SHAPE_BLOCK].before.energy_j;
    for (size_t i = found / SHAPE_BLOCK * SHAPE_BLOCK; i < found; i++)
        energy_j += step_energy_j(shape, i, 1);
    if (isnan(share))
        return energy_j + shape->at[found].power_w * (t - sample_time(shape, found));
    return energy_j + step_energy_j(shape, found, share);
}

double shape_power_w(const struct shape *shape, double t, size_t *hint)
{
    if (shape->count == 0)
        return 0;
    double share;
    const struct power_sample *at = shape->at + find_near(shape, t, hint, &share);
    return isnan(share) ? at->power_w : at->power_w + (at[1].power_w - at->power_w) * share;
}

struct shape_range shape_extremes(const struct shape *shape, double from, double to)
{
    struct shape_range range = nothing;
    if (shape->count == 0)
        return (struct shape_range){0, 0, to - from};
    size_t last = find_sample_before(shape, to), first = find_sample_before(shape, from);
    if (sample_time(shape, first) < from)
        first++;
    if (first > last || sample_time(shape, last) > to || first == shape->count) {
        double a = shape_power_w(shape, from, NULL), b = shape_power_w(shape, to, NULL);
        return (struct shape_range){fmin(a, b), fmax(a, b), to - from};
    }
    for (size_t i = first; i < last;) {
        struct shape_range next = sample_range(shape, i);
        size_t step = 1;
        if (i % SHAPE_SUPER == 0 && i + SHAPE_SUPER <= last) {
            next = shape->supers[i / SHAPE_SUPER];
            step = SHAPE_SUPER;
        } else if (i % SHAPE_BLOCK == 0 && i + SHAPE_BLOCK <= last) {
            next = shape->blocks[i / SHAPE_BLOCK].range;
            step = SHAPE_BLOCK;
        }
        widen(&range, &next);
        i += step;
    }
    struct shape_range end = sample_range(shape, last);
    end.gap_s = fmax(sample_time(shape, first) - from, to - sample_time(shape, last));
    widen(&range, &end);
    return range;
}

void shape_samples(const struct shape *shape, double from, double to, size_t *first, size_t *end)
{
    *first = *end = 0;
    if (shape->count == 0 || sample_time(shape, 0) > to)
        return;
    *first = find_sample_before(shape, from);
    *end = find_sample_before(shape, to) + 1;
    if (sample_time(shape, *first) < from)
        ++*first;
}
