#include "measure/energy/window_private.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

enum { SHAPE_BLOCK = 16, SHAPE_SUPER = 64 * SHAPE_BLOCK, SHAPE_NEAR = 64 };

/* A sensor's samples differ from the counter's by a little everywhere: also a flat trace must lose certainty. */
static const double flat_share = 0.001;
/* The same where power is known by the counter's steps alone, whose means hide what was within. */
static const double blind_share = 0.1;

/* The moment that a sample stands for. */
static inline double sample_time(const struct shape *shape, size_t i)
{
    return shape_seconds(shape->at[i].t_ns, shape->origin_ns) - shape->delay_s;
}

/* What the trapezoid may miss between two samples. A single change of d watts, anywhere in h seconds, moves the energy
 * by up to d·h/2, evenly spread: (d·h)²/12. Neighbouring changes tell more: in the same direction it is a ramp, which
 * the trapezoid follows; in opposite directions power varies faster than it is sampled, and more is missed than is
 * seen. */
static double step_variance(const struct shape *shape, size_t i)
{
    const struct power_sample *at = shape->at + i;
    double length_s = shape_seconds(at[1].t_ns, at[0].t_ns), rise = at[1].power_w - at[0].power_w;
    double before = i > 0 ? at[0].power_w - at[-1].power_w : 0;
    double after = i + 2 < shape->count ? at[2].power_w - at[1].power_w : 0;
    double square = (rise * rise - rise * (before + after)) / 12;
    square = square > 0 ? square : 0;
    double flat_w = (shape->real ? flat_share : blind_share) * 0.5 * (at[0].power_w + at[1].power_w);
    return (square + flat_w * flat_w) * length_s * length_s;
}

/* Adds the part [0, share] of the step from sample i to the next. */
static void add_step(const struct shape *shape, size_t i, double share, struct shape_sum *sum)
{
    double length_s = shape_seconds(shape->at[i + 1].t_ns, shape->at[i].t_ns);
    double from_w = shape->at[i].power_w, to_w = shape->at[i + 1].power_w;
    double rise = (to_w - from_w) * share;
    sum->energy_j += (from_w + 0.5 * rise) * share * length_s;
    if (shape->real && length_s > shape->gap_s)
        /* A gap may have held anything that power has ever been. */
        sum->gap_j2 += shape->range_w * shape->range_w * length_s * length_s / 12 * share;
    else
        sum->var_j2 += step_variance(shape, i) * share;
    sum->square += 0.5 * (from_w * from_w + to_w * to_w) * share * length_s;
    sum->change_w += fabs(rise);
    sum->change_w2 += rise * rise;
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
            add_step(shape, i, 1, &sum);
    }
}

void shape_init(struct shape *shape, int64_t origin_ns, const struct power_sample *samples, size_t count, bool own,
                bool real, const struct window_sensor *sensor)
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
    for (size_t i = 0; i < count; i++) {
        all.power_min_w = fmin(all.power_min_w, samples[i].power_w);
        all.power_max_w = fmax(all.power_max_w, samples[i].power_w);
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

/* Index of the last sample at or before t, 0 when t is before them all. */
static size_t find(const struct shape *shape, double t)
{
    size_t after = FIRST_PLACE(at, 0, shape->count, sample_time(shape, at) > t);
    return after ? after - 1 : 0;
}

static size_t find_near(const struct shape *shape, double t, size_t hint)
{
    if (hint >= shape->count || sample_time(shape, hint) > t)
        return find(shape, t);
    for (size_t i = hint; i < hint + SHAPE_NEAR; i++)
        if (i + 1 >= shape->count || sample_time(shape, i + 1) > t)
            return i;
    return find(shape, t);
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
    size_t found = hint ? find_near(shape, t, *hint) : find(shape, t);
    if (hint)
        *hint = found;
    struct shape_sum sum = shape->blocks[found / SHAPE_BLOCK].before;
    for (size_t i = found / SHAPE_BLOCK * SHAPE_BLOCK; i < found; i++)
        add_step(shape, i, 1, &sum);
    double past = t - sample_time(shape, found);
    sum.power_w = shape->at[found].power_w;
    if (past < 0 || found + 1 == shape->count) {
        add_outside(shape, past, &sum);
        return sum;
    }
    double length = shape_seconds(shape->at[found + 1].t_ns, shape->at[found].t_ns);
    add_step(shape, found, past / length, &sum);
    return sum;
}

struct shape_range shape_extremes(const struct shape *shape, double from, double to)
{
    struct shape_range range = nothing;
    if (shape->count == 0)
        return (struct shape_range){0, 0, to - from};
    size_t last = find(shape, to), first = find(shape, from);
    if (sample_time(shape, first) < from)
        first++;
    if (first > last || sample_time(shape, last) > to || first == shape->count) {
        double a = shape_at(shape, from, NULL).power_w, b = shape_at(shape, to, NULL).power_w;
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
    *first = find(shape, from);
    *end = find(shape, to) + 1;
    if (sample_time(shape, *first) < from)
        ++*first;
}

/* ---- Beats. */

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
