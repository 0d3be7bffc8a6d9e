#include "meter/window_index.h"

#include "base/clock.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* Power samples this far above the limit are not watts. */
static const double sane_limit = 2;
/* Between knots, where there is no trace, power is assumed to vary by so much of itself within at most so long. */
static const double unseen_share = 0.1, unseen_s = 0.5;
/* Knots that are made into samples are at least so many periods apart: closer ones show the error of their instants,
 * not power. */
static const double anchor_periods = 10;

static bool is_sane(const struct window_sensor *sensor, double power_w)
{
    return isfinite(power_w) && power_w >= 0 &&
           (sensor->power_limit_w <= 0 || power_w <= sane_limit * sensor->power_limit_w);
}

struct samples {
    struct power_sample *items;
    size_t count, capacity;
};

static void add_sample(struct samples *samples, struct power_sample sample)
{
    if (samples->count > 0 && sample.t_ns <= samples->items[samples->count - 1].t_ns)
        return;
    samples->items = mem_room(samples->items, samples->count, &samples->capacity, sizeof *samples->items);
    samples->items[samples->count++] = sample;
}

/* Mean powers between anchors of one segment, as samples at the anchors. */
static void make_anchors(const struct window_index *index, const struct segment *segment, int64_t delay_ns,
                         struct samples *out)
{
    const struct knot *items = index->knots.items;
    double least_s = fmax(anchor_periods * shape_seconds(index->sensor.update_period_ns, 0), 1e-3);
    size_t last = segment->first;
    double before_w = -1;
    for (size_t i = segment->first + 1; i < segment->first + segment->count; i++) {
        double length = items[i].at - items[last].at;
        if (length < least_s && (i + 1 < segment->first + segment->count || before_w >= 0 || length <= 0))
            continue;
        double power_w = (items[i].value_j - items[last].value_j) / length;
        double here_w = before_w < 0 ? power_w : 0.5 * (power_w + before_w);
        add_sample(out,
                   (struct power_sample){index->origin_ns + delay_ns + llround(items[last].at * NS_PER_S), here_w});
        before_w = power_w;
        last = i;
    }
    if (before_w >= 0)
        add_sample(out,
                   (struct power_sample){index->origin_ns + delay_ns + llround(items[last].at * NS_PER_S), before_w});
}

/* Is a moment further than gap_ns from both of its neighbours? */
static bool is_alone(const struct power_sample *before, const struct power_sample *after, int64_t t_ns, int64_t gap_ns)
{
    return (!before || shape_seconds(t_ns, before->t_ns) * NS_PER_S > (double)gap_ns) &&
           (!after || shape_seconds(after->t_ns, t_ns) * NS_PER_S > (double)gap_ns);
}

/* The trace without what cannot be watts, and with anchors where it has gaps. */
static struct samples merge(const struct series *series, const struct window_sensor *sensor,
                            const struct samples *anchors)
{
    struct samples out = {0};
    size_t k = 0;
    const struct power_sample *before = NULL;
    for (size_t i = 0; i <= series->power_count; i++) {
        const struct power_sample *next = i < series->power_count ? &series->power[i] : NULL;
        if (next && !is_sane(sensor, next->power_w))
            continue;
        for (; k < anchors->count && (!next || anchors->items[k].t_ns < next->t_ns); k++)
            if (is_alone(before, next, anchors->items[k].t_ns, sensor->gap_ns))
                add_sample(&out, anchors->items[k]);
        if (next)
            add_sample(&out, *next);
        before = next ? next : before;
    }
    return out;
}

/* Where real samples follow each other closely; a stretch reaches half a gap beyond its ends. Gives whether all are
 * sane. */
static bool find_traced(struct window_index *index, const struct series *series, double delay_s)
{
    bool sane = true;
    double half = shape_seconds(index->sensor.gap_ns, 0) / 2;
    for (size_t i = 0; i < series->power_count; i++) {
        if (!is_sane(&index->sensor, series->power[i].power_w)) {
            sane = false;
            continue;
        }
        double t = shape_seconds(series->power[i].t_ns, index->origin_ns) - delay_s;
        spans_add(&index->traced, t - half, t + half);
    }
    return sane;
}

static void find_counted(struct window_index *index)
{
    double reach = shape_seconds(index->sensor.update_period_ns, 0);
    for (size_t s = 0; s < index->knots.segment_count; s++) {
        const struct segment *segment = &index->knots.segments[s];
        if (segment->count < 2)
            continue;
        const struct knot *first = &index->knots.items[segment->first];
        spans_add(&index->counted, first->at - reach, first[segment->count - 1].at + reach);
    }
}

/* Does the counter know of a time that the trace does not? */
static bool counter_is_needed(const struct window_index *index)
{
    if (index->counted.count == 0)
        return false;
    for (size_t i = 0; i < index->counted.count; i++) {
        const struct span *span = &index->counted.items[i];
        if (spans_within(&index->traced, span->from, span->to) < span->to - span->from)
            return true;
    }
    return false;
}

static void make_shape(struct window_index *index, const struct series *series)
{
    double delay_s = shape_seconds(index->sensor.span_min_ns / 2 + index->sensor.span_max_ns / 2, 0) / 2;
    bool sane = find_traced(index, series, delay_s);
    find_counted(index);
    bool real = index->traced.count > 0;
    if (sane && !counter_is_needed(index)) {
        shape_init(&index->shape, index->origin_ns, series->power, series->power_count, false, real, &index->sensor);
    } else {
        struct samples anchors = {0};
        for (size_t s = 0; s < index->knots.segment_count; s++)
            make_anchors(index, &index->knots.segments[s], llround(delay_s * NS_PER_S), &anchors);
        struct samples merged = merge(series, &index->sensor, &anchors);
        shape_init(&index->shape, index->origin_ns, merged.items, merged.count, true, real, &index->sensor);
        free(anchors.items);
    }
    spans_union(&index->traced, &index->counted, &index->covered);
}

static double running_energy(const struct window_index *index, size_t segment, double t, struct index_moment *out)
{
    const struct segment *part = &index->knots.segments[segment];
    struct shape_sum sum = shape_at(&index->shape, t, NULL);
    struct smooth_place place = smooth_place(&index->knots, part, smooth_clock(&index->smooth, &sum));
    double energy = part->offset_j + (1 + index->smooth.gain) * sum.energy_j + place.ahead_j;
    if (out)
        *out = (struct index_moment){t, energy, segment, sum, place};
    return energy;
}

/* Segments are laid end to end: the running energy goes on where the one before ends. */
static void join_segments(struct window_index *index)
{
    for (size_t s = 1; s < index->knots.segment_count; s++) {
        struct segment *segment = &index->knots.segments[s];
        struct index_moment from = {0}, to;
        double end = running_energy(index, s - 1, segment->from, &to);
        segment->offset_j = end - running_energy(index, s, segment->from, NULL);
        segment->var_before = segment[-1].var_before;
        if (s > 1) {
            running_energy(index, s - 1, segment[-1].from, &from);
            segment->var_before += smooth_variance(&index->knots, &segment[-1], &from.place, &to.place);
        }
    }
}

struct window_index *window_index_new(const struct series *series, const struct window_sensor *sensor)
{
    struct window_index *index = mem_alloc(sizeof *index);
    index->sensor = *sensor;
    index->empty = series->counter_count == 0 && series->power_count == 0;
    if (series->counter_count > 0)
        index->origin_ns = series->counter[0].before_ns;
    else if (series->power_count > 0)
        index->origin_ns = series->power[0].t_ns;
    knots_read(&index->knots, series, sensor, index->origin_ns);
    make_shape(index, series);
    index->empty = index->shape.count == 0;
    index->smooth = smooth_knots(&index->knots, &index->shape, sensor);
    join_segments(index);
    return index;
}

void window_index_free(struct window_index *index)
{
    if (!index)
        return;
    shape_fini(&index->shape);
    knots_fini(&index->knots);
    spans_fini(&index->traced);
    spans_fini(&index->counted);
    spans_fini(&index->covered);
    free(index);
}

struct index_moment index_moment(const struct window_index *index, double t)
{
    size_t low = 1, high = index->knots.segment_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index->knots.segments[middle].from <= t)
            low = middle + 1;
        else
            high = middle;
    }
    struct index_moment moment;
    running_energy(index, low - 1, t, &moment);
    return moment;
}

double index_variance(const struct window_index *index, const struct index_moment *from, const struct index_moment *to)
{
    const struct segment *segments = index->knots.segments;
    if (from->segment == to->segment)
        return smooth_variance(&index->knots, &segments[from->segment], &from->place, &to->place);
    struct index_moment end, begin;
    running_energy(index, from->segment, segments[from->segment + 1].from, &end);
    running_energy(index, to->segment, segments[to->segment].from, &begin);
    return smooth_variance(&index->knots, &segments[from->segment], &from->place, &end.place) +
           segments[to->segment].var_before - segments[from->segment + 1].var_before +
           smooth_variance(&index->knots, &segments[to->segment], &begin.place, &to->place);
}

/* Where there is no trace, power between two knots is known by its mean alone. */
static double unseen_variance(const struct window_index *index, const struct index_moment *moment)
{
    const struct segment *segment = &index->knots.segments[moment->segment];
    if (segment->count == 0 || spans_within(&index->traced, moment->t, moment->t + 1e-9) > 0)
        return 0;
    const struct knot *a = &index->knots.items[moment->place.a], *b = &index->knots.items[moment->place.b];
    double length = fabs(moment->t - a->at), share = 1;
    if (a != b) {
        double place = fmin(fmax((moment->t - a->at) / (b->at - a->at), 0), 1);
        length = b->at - a->at;
        share = 4 * place * (1 - place);
    }
    double unseen_j = unseen_share * moment->sum.power_w * fmin(length, unseen_s) * share;
    return unseen_j * unseen_j;
}

double index_edge_variance(const struct window_index *index, const struct index_moment *from,
                           const struct index_moment *to)
{
    const struct index_moment *edges[2] = {from, to};
    double sum = 0;
    size_t hint = 0;
    for (int i = 0; i < 2; i++)
        sum += smooth_mean_variance(&index->shape, index->smooth.span_s, edges[i]->t, &hint) +
               unseen_variance(index, edges[i]);
    /* a second of delay adds the power at an edge, a gain its energy; the counter takes back what it saw of that at its
     * knots */
    double delayed_w = (to->sum.power_w - to->place.ahead_w) - (from->sum.power_w - from->place.ahead_w);
    double gained_j = (to->sum.energy_j - to->place.ahead_traced_j) - (from->sum.energy_j - from->place.ahead_traced_j);
    double delay_j = index->smooth.delay_sd * delayed_w, gain_j = index->smooth.gain_sd * gained_j;
    return sum + delay_j * delay_j + gain_j * gain_j;
}
