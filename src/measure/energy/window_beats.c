#include "measure/energy/window_shape.h"

#include <math.h>

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
