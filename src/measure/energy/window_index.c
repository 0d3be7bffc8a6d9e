#include "measure/energy/window_index.h"
#include "measure/energy/window_beats.h"
#include "measure/energy/window_knots.h"
#include "measure/energy/window_learn.h"
#include "measure/energy/window_misses.h"
#include "measure/energy/window_sampling.h"
#include "measure/energy/window_shape.h"
#include "measure/energy/window_smooth.h"

#include "base/mem.h"
#include "measure/energy/sensor_behaviour.h"

#include <math.h>
#include <stdlib.h>

/* Power samples this far above the limit are not watts. */
static const double sane_limit = 2;
/* Between knots, where there is no trace, power is assumed to vary by so much of itself within at
 * most so long. */
static const double unseen_share = 0.1, unseen_s = 0.5;
/* Knots that are made into samples are at least so many periods apart: closer ones show the error
 * of their instants, not power. */
static const double anchor_periods = 10;
/* 95 % of an even error, as a share of its whole range: a change within the unseen part of its
 * period, a rounded power. */
static const double even_share = 0.475;
/* Of the energy in a period: a load in step with the averaging shows nothing of itself. */
static const double in_step_share = 0.08;
/* A step of power, as a share of its mean, that adds less than other parts ever do. */
static const double negligible_step = 1e-5;
/* A coarser step is one of the load's, which has few levels. */
static const double most_quantum_w = 1;
/* What the trace shows of the length of a mean may be as much less than it is. */
static const double span_slack = 1.3;
/* A counter that measures by itself is late by no more of its period. */
static const double counter_lag = 0.25;
/* Readings of the counter over which a gain that is followed is as uncertain as between two. */
static const double followed_knots = 4;
/* Samples further apart than so many updates of the trace leave a gap. */
static const double gap_periods = 1.5;

static bool is_sane(const struct window_sensor *sensor, double power_w)
{
    return isfinite(power_w) && power_w >= 0 &&
           (sensor->power_limit_w <= 0 || power_w <= sane_limit * sensor->power_limit_w);
}

struct samples {
    struct power_sample *items;
    size_t count;
};

static void append_later_sample(struct samples *samples, struct power_sample sample)
{
    if (samples->count > 0 && sample.t_ns <= samples->items[samples->count - 1].t_ns)
        return;
    MEM_ADD(samples->items, samples->count) = sample;
}

/* Mean powers between anchors of one segment, as samples at the anchors. */
static void make_anchors(const struct window_index *index, const struct segment *segment,
                         int64_t delay_ns, struct samples *out)
{
    const struct knot *items = index->knots.items;
    double least_s = fmax(anchor_periods * shape_seconds(index->sensor.update_period_ns, 0), 1e-3);
    size_t last = segment->first;
    double before_w = -1;
    for (size_t i = segment->first + 1; i < segment->first + segment->count; i++) {
        double length = items[i].at - items[last].at;
        if (length < least_s &&
            (i + 1 < segment->first + segment->count || before_w >= 0 || length <= 0))
            continue;
        double power_w = (items[i].value_j - items[last].value_j) / length;
        double here_w = before_w < 0 ? power_w : 0.5 * (power_w + before_w);
        append_later_sample(out, (struct power_sample){index->origin_ns + delay_ns +
                                                           llround(items[last].at * NS_PER_S),
                                                       here_w});
        before_w = power_w;
        last = i;
    }
    if (before_w >= 0)
        append_later_sample(out, (struct power_sample){index->origin_ns + delay_ns +
                                                           llround(items[last].at * NS_PER_S),
                                                       before_w});
}

/* Whether the moment is further than gap_ns from both neighbours. */
static bool is_isolated_moment(const struct power_sample *before, const struct power_sample *after,
                               int64_t t_ns, int64_t gap_ns)
{
    return (!before || shape_seconds(t_ns, before->t_ns) * NS_PER_S > (double)gap_ns) &&
           (!after || shape_seconds(after->t_ns, t_ns) * NS_PER_S > (double)gap_ns);
}

/* If the sensor updates less often than its profile says, the trace repeats each value; if it
 * updates more often, a value that was read again may be in the trace once: it held until one
 * update before the next. */
static bool is_repeated_value(const struct power_sample *last, const struct power_sample *next,
                              int64_t shown_ns)
{
    return last->power_w == next->power_w && next->t_ns - last->t_ns < 3 * shown_ns / 2;
}

static bool is_held(const struct power_sample *last, const struct power_sample *next,
                    int64_t shown_ns, int64_t gap_ns)
{
    return next->t_ns - last->t_ns > 3 * shown_ns / 2 && next->t_ns - last->t_ns < gap_ns;
}

/* From one update of the trace to the next where that is not the profile's and the trace is to
 * be made even; else 0. */
static int64_t find_shown_ns(const struct window_index *index, const struct series *series)
{
    int64_t shown_ns = llround(index->sampling.period_s * NS_PER_S),
            update_ns = index->sensor.update_period_ns;
    if (2 * shown_ns > 3 * update_ns)
        return shown_ns;
    for (size_t i = 1; i < series->power_count && shown_ns > 0 && 3 * shown_ns < 2 * update_ns; i++)
        if (is_held(&series->power[i - 1], &series->power[i], shown_ns, index->sensor.gap_ns))
            return shown_ns;
    return 0;
}

/* Drops samples that cannot be powers and inserts anchors into gaps. */
static struct samples merge_trace_with_anchors(const struct series *series,
                                               const struct window_sensor *sensor,
                                               const struct samples *anchors, int64_t shown_ns)
{
    struct samples out = {0};
    size_t k = 0;
    const struct power_sample *before = NULL;
    for (size_t i = 0; i <= series->power_count; i++) {
        const struct power_sample *next = i < series->power_count ? &series->power[i] : NULL;
        const struct power_sample *kept = out.count > 0 ? &out.items[out.count - 1] : NULL;
        if (next && (!is_sane(sensor, next->power_w) ||
                     (kept && 2 * shown_ns > 3 * sensor->update_period_ns &&
                      is_repeated_value(kept, next, shown_ns))))
            continue;
        if (next && before && shown_ns > 0 && is_held(before, next, shown_ns, sensor->gap_ns))
            append_later_sample(&out,
                                (struct power_sample){next->t_ns - shown_ns, before->power_w});
        for (; k < anchors->count && (!next || anchors->items[k].t_ns < next->t_ns); k++)
            if (is_isolated_moment(before, next, anchors->items[k].t_ns, sensor->gap_ns))
                append_later_sample(&out, anchors->items[k]);
        if (next)
            append_later_sample(&out, *next);
        before = next ? next : before;
    }
    return out;
}

/* Where real samples follow each other closely; a stretch reaches half a gap beyond its ends. Gives
 * whether all are sane. */
static bool find_traced(struct window_index *index, const struct series *series, double delay_s)
{
    bool sane = true;
    double half = shape_seconds(index->sensor.gap_ns, 0) / 2;
    EACH (item, series->power, series->power_count) {
        if (!is_sane(&index->sensor, item->power_w)) {
            sane = false;
            continue;
        }
        double t = shape_seconds(item->t_ns, index->origin_ns) - delay_s;
        spans_add(&index->traced, t - half, t + half);
    }
    return sane;
}

static void find_counted(struct window_index *index)
{
    double reach = shape_seconds(index->sensor.update_period_ns, 0);
    EACH (segment, index->knots.segments, index->knots.segment_count) {
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
    EACH (span, index->counted.items, index->counted.count) {
        if (spans_within(&index->traced, span->from, span->to) < span->to - span->from)
            return true;
    }
    return false;
}

static void make_shape(struct window_index *index, const struct series *series)
{
    double delay_s =
        shape_seconds(index->sensor.span_min_ns / 2 + index->sensor.span_max_ns / 2, 0) / 2;
    bool sane = find_traced(index, series, delay_s);
    find_counted(index);
    bool real = index->traced.count > 0;
    int64_t shown_ns = find_shown_ns(index, series);
    if (sane && !counter_is_needed(index) && shown_ns == 0) {
        shape_init(&index->shape, index->origin_ns, series->power, series->power_count, false, real,
                   &index->sensor);
    } else {
        struct samples anchors = {0};
        for (size_t s = 0; s < index->knots.segment_count; s++)
            make_anchors(index, &index->knots.segments[s], llround(delay_s * NS_PER_S), &anchors);
        struct samples merged =
            merge_trace_with_anchors(series, &index->sensor, &anchors, shown_ns);
        shape_init(&index->shape, index->origin_ns, merged.items, merged.count, true, real,
                   &index->sensor);
        free(anchors.items);
    }
    spans_union(&index->traced, &index->counted, &index->covered);
}

/* Of a gain that changes: between two knots in proportion to the trace's integral. */
static double followed_j(const struct window_index *index, const struct smooth_place *place,
                         double traced_j)
{
    if (!index->smooth.followed)
        return 0;
    const struct knot *a = &index->knots.items[place->a], *b = &index->knots.items[place->b];
    double length_j = b->traced_j - a->traced_j,
           share = length_j > 0 ? (traced_j - a->traced_j) / length_j : 0;
    return a->followed_j + fmin(fmax(share, 0), 1) * (b->followed_j - a->followed_j);
}

static double running_energy(const struct window_index *index, size_t segment, double t,
                             struct index_moment *out)
{
    const struct segment *part = &index->knots.segments[segment];
    struct shape_sum sum = shape_at(&index->shape, t, NULL);
    struct smooth_place place =
        smooth_place(&index->knots, part, smooth_clock(&index->smooth, &sum));
    double energy =
        part->energy_before_j + (1 + index->smooth.gain) * sum.energy_j + place.offset_j;
    if (part->count > 0)
        energy += followed_j(index, &place, sum.energy_j);
    if (out)
        *out = (struct index_moment){t, energy, segment, sum, place};
    return energy;
}

/* The trace is late by a known time. What the counter is less late than the trace has been learnt;
 * so much of the lag is in the running energy. Of an exponential mean it is undone exactly: what
 * was drawn exceeds what was shown by the time constant times the rise of the mean. */
static void find_lag(struct window_index *index)
{
    double lag_s = fmax(shape_seconds(index->sensor.lag_ns, 0) - index->shape.delay_s, 0);
    index->lag_s = lag_s;
    if (index->counter_placed) {
        index->lag_s = shape_seconds(index->sensor.counter_lag_ns, 0);
        return;
    }
    if (index->sensor.averaging != WINDOW_EXPONENTIAL)
        return;
    index->smoothed_s = fmin(lag_s, shape_seconds(index->sensor.averaging_ns, 0));
    index->lag_s -= index->smoothed_s;
}

/* Segments are laid end to end: the running energy goes on where the one before ends. */
static void join_segments(struct window_index *index)
{
    for (size_t s = 1; s < index->knots.segment_count; s++) {
        struct segment *segment = &index->knots.segments[s];
        struct index_moment from = {0}, to;
        double end = running_energy(index, s - 1, segment->from, &to);
        segment->energy_before_j = end - running_energy(index, s, segment->from, NULL);
        segment->var_before = segment[-1].var_before;
        if (s > 1) {
            running_energy(index, s - 1, segment[-1].from, &from);
            segment->var_before +=
                smooth_variance(&index->knots, &segment[-1], &from.place, &to.place);
        }
    }
}

/* What the trace tells of its sensor: the step in which power is rounded, and whether updates are
 * missed. */
static void study_trace(struct window_index *index, const struct series *series)
{
    uint64_t step_mw = 0;
    size_t missed = 0;
    for (size_t i = 0; i < series->power_count; i++) {
        uint64_t value_mw = (uint64_t)llround(fmin(fabs(series->power[i].power_w), 1e9) * 1000);
        while (value_mw > 0) { /* the greatest common divisor */
            uint64_t rest = step_mw % value_mw;
            step_mw = value_mw;
            value_mw = rest;
        }
        if (i > 0 && series->power[i].t_ns - series->power[i - 1].t_ns >
                         3 * index->sensor.update_period_ns / 2)
            missed++;
    }
    index->power_quantum_w =
        series->power_count > 1 ? fmin((double)step_mw / 1000, most_quantum_w) : 0;
    index->sensor.misses_updates = missed > series->power_count / 100;
}

/* Where the profile has bounds only: the trace shows over how long its values are means, at
 * most, and whether the counter is as late. */
static void bound_averaging(struct window_index *index, bool counted)
{
    struct window_sensor *sensor = &index->sensor;
    double span_s = span_slack * index->sampling.span_s;
    if (span_s > 0 && span_s < shape_seconds(sensor->averaging_ns, 0))
        sensor->averaging_ns = sensor->span_max_ns = llround(span_s * NS_PER_S);
    /* Without a counter the trace's own delay is uncertain, as the span says. */
    sensor->lag_unsure_ns = counted ? sensor->averaging_ns / 2 : 0;
}

/* Where the counter's own lag is known, the samples are later than it by the rest of theirs. */
static void place_counter(struct window_index *index)
{
    struct window_sensor *sensor = &index->sensor;
    int64_t unsure_ns = sensor->lag_unsure_ns, half_ns = sensor->counter_lag_half_ns;
    int64_t least_ns = sensor->lag_ns > 0 ? sensor->lag_ns - unsure_ns : 0;
    sensor->span_min_ns = 2 * (least_ns - sensor->counter_lag_ns - half_ns);
    sensor->span_max_ns = 2 * (sensor->lag_ns + unsure_ns - sensor->counter_lag_ns + half_ns);
    sensor->lag_unsure_ns = half_ns;
}

static void bound_counter_lag(struct window_index *index)
{
    struct window_sensor *sensor = &index->sensor;
    sensor->lag_unsure_ns = llround(fmax(index->summed * (double)sensor->lag_unsure_ns,
                                         counter_lag * (double)sensor->update_period_ns));
}

static void learn_sampling(struct window_index *index, const struct series *series)
{
    bool told = series->counter_count == 0 && !index->sensor.share_unsure;
    index->sampling = sampling_learn(series->power, series->power_count,
                                     told ? shape_seconds(index->sensor.update_period_ns, 0) : 0);
    index->sensor.gap_ns = llround(
        fmax((double)index->sensor.gap_ns, gap_periods * index->sampling.period_s * NS_PER_S));
}

struct window_index *window_index_new(const struct series *series,
                                      const struct window_sensor *sensor)
{
    struct window_index *index = mem_alloc(sizeof *index);
    index->sensor = *sensor;
    if (series->counter_count == 0 && sensor->reading)
        sensor_behaviour_apply(sensor->reading, &index->sensor);
    index->empty = series->counter_count == 0 && series->power_count == 0;
    if (series->counter_count > 0)
        index->origin_ns = series->counter[0].before_ns;
    else if (series->power_count > 0)
        index->origin_ns = series->power[0].t_ns;
    if (index->sensor.bounded)
        study_trace(index, series);
    bool counted = series->counter_count > 0;
    if (index->sensor.bounded)
        learn_sampling(index, series);
    if (index->sensor.lag_unsure_ns > 0 && index->sensor.lag_ns == 0)
        bound_averaging(index, counted);
    index->counter_placed = counted && index->sensor.counter_lag_half_ns > 0;
    if (index->counter_placed)
        place_counter(index);
    knots_read(&index->knots, series, &index->sensor, index->origin_ns);
    make_shape(index, series);
    index->empty = index->shape.count == 0;
    index->smooth = smooth_knots(&index->knots, &index->shape, &index->sensor);
    if (!(index->sampling.period_s > 0))
        index->sampling.period_s = shape_seconds(index->sensor.update_period_ns, 0);
    if (index->sensor.share_unsure && index->counted.count > 0) {
        index->summed = misses_learn(index);
        bound_counter_lag(index);
    }
    find_lag(index);
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
    free(index->steps);
    free(index);
}

struct index_moment index_moment(const struct window_index *index, double t)
{
    t += index->lag_s;
    size_t next =
        FIRST_PLACE(at, 1, index->knots.segment_count, index->knots.segments[at].from > t);
    struct index_moment moment;
    running_energy(index, next - 1, t, &moment);
    moment.energy_j += index->smoothed_s * moment.sum.power_w;
    return moment;
}

static double reading_variance(const struct window_index *index, const struct index_moment *from,
                               const struct index_moment *to)
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
    const struct knot *a = &index->knots.items[moment->place.a],
                      *b = &index->knots.items[moment->place.b];
    double length = fabs(moment->t - a->at), share = 1;
    if (a != b) {
        double place = fmin(fmax((moment->t - a->at) / (b->at - a->at), 0), 1);
        length = b->at - a->at;
        share = 4 * place * (1 - place);
    }
    double unseen_j = unseen_share * moment->sum.power_w * fmin(length, unseen_s) * share;
    return unseen_j * unseen_j;
}

/* A gain that is followed is no surer than at the less certain edge; over more than a few
 * readings of the counter these say what the samples are off by. */
static double followed_part(const struct window_index *index, const struct index_moment *from,
                            const struct index_moment *to)
{
    const struct segment *segment = &index->knots.segments[from->segment];
    if (!index->smooth.followed || from->segment != to->segment || segment->count == 0)
        return 0;
    const struct knot *a = &index->knots.items[from->place.a],
                      *b = &index->knots.items[to->place.b];
    double mean_j = (to->sum.energy_j - from->sum.energy_j) / (double)(b - a + 1);
    return fmax(a->gain_sd, b->gain_sd) * mean_j * fmin((double)(b - a + 1), followed_knots);
}

static void edge_parts(const struct window_index *index, const struct index_moment *from,
                       const struct index_moment *to, struct window_parts *out)
{
    const struct index_moment *edges[2] = {from, to};
    double sum = 0;
    size_t hint = 0;
    for (int i = 0; i < 2; i++)
        sum += smooth_mean_variance(&index->shape, index->smooth.span_s, edges[i]->t, &hint) +
               unseen_variance(index, edges[i]);
    /* a second of delay adds the power at an edge, a gain its energy; the counter takes back what
     * it saw of that at its knots */
    double delayed_w =
        (to->sum.power_w - to->place.offset_w) - (from->sum.power_w - from->place.offset_w);
    double gained_j = (to->sum.energy_j - to->place.offset_traced_j) -
                      (from->sum.energy_j - from->place.offset_traced_j);
    /* the counter's own lag, which nothing takes back */
    if (index->sensor.lag_ns > 0 && !index->counter_placed)
        delayed_w = hypot(delayed_w, to->sum.power_w - from->sum.power_w);
    out->j[WINDOW_PART_EDGES] = sqrt(sum);
    out->j[WINDOW_PART_DELAY] = fabs(index->smooth.delay_sd * delayed_w);
    out->j[WINDOW_PART_AGREEMENT] =
        hypot(index->smooth.gain_sd * gained_j, followed_part(index, from, to));
    out->delay_s = index->smooth.delay_sd;
    out->agreement = index->smooth.gain_sd;
}

/* How far power went to and fro around a moment. */
static double range_around(const struct window_index *index, double t, double reach_s)
{
    double early_w = shape_power_w(&index->shape, t - reach_s, NULL);
    double late_w = shape_power_w(&index->shape, t + reach_s, NULL);
    struct shape_range range = shape_extremes(&index->shape, t - reach_s, t + reach_s);
    return fmax(range.power_max_w, fmax(early_w, late_w)) -
           fmin(range.power_min_w, fmin(early_w, late_w));
}

/* Of a boxcar the slope tells what was averaged: it is (power now - power a span ago) / span. */
static double range_averaged(const struct window_index *index, double t, double span_s,
                             double step_s)
{
    double range_w = 0;
    for (double at = t - span_s / 2; at <= t + span_s / 2; at += step_s) {
        double rise_w = shape_power_w(&index->shape, at + step_s, NULL) -
                        shape_power_w(&index->shape, at, NULL);
        range_w = fmax(range_w, fabs(rise_w) * span_s / step_s);
    }
    return range_w;
}

/* How far the running energy may be off at an edge. Between two updates power may have gone to and
 * fro by its range: a quarter of that times the period. A boxcar bends it around a step of d by up
 * to d·s/8; of a load that is faster than the boxcar only a part of d is seen, in which case what
 * is seen counts four times. An exponential mean has been undone by the trace, whose power is known
 * to a step. */
static double edge_bound(const struct window_index *index, const struct index_moment *edge)
{
    double averaging_s = shape_seconds(index->sensor.averaging_ns, 0);
    double period_s = shape_seconds(index->sensor.update_period_ns, 0);
    double reach_s = 1.5 * period_s;
    double samples = shape_at(&index->shape, edge->t + reach_s, NULL).changes -
                     shape_at(&index->shape, edge->t - reach_s, NULL).changes;
    double step_j =
        range_around(index, edge->t, reach_s) * fmin(2 * reach_s / fmax(samples, 1), period_s) / 4;
    double mean_j = 0;
    if (index->sensor.averaging == WINDOW_EXPONENTIAL)
        mean_j = hypot(index->smoothed_s * range_around(index, edge->t, period_s) / 2,
                       (averaging_s - index->smoothed_s) *
                           range_around(index, edge->t, averaging_s) / 3);
    else if (averaging_s > 0)
        mean_j = fmin(range_around(index, edge->t, averaging_s / 2 + period_s) * averaging_s / 2,
                      range_averaged(index, edge->t, averaging_s, period_s) * averaging_s / 8);
    double hidden_j = in_step_share * edge->sum.power_w * fmin(averaging_s, period_s);
    return hypot(step_j, hypot(mean_j, hidden_j));
}

/* A counter that does not add up the samples has none. One value hides at most half a step; of
 * several the errors are independent. */
static double rounding_bound(const struct window_index *index, const struct index_moment *from,
                             const struct index_moment *to)
{
    double step_w = index->power_quantum_w, step_j = step_w * (to->t - from->t);
    if (!misses_summed(index))
        return 0;
    if (step_j <= negligible_step * (to->sum.energy_j - from->sum.energy_j))
        return even_share * step_j;
    double share = sampling_rounded_share(&index->shape, from->t, to->t, step_w);
    return fmin(even_share, HALF_WIDTH_DEVIATIONS / sqrt(12) * share) * step_j;
}

/* As half-widths of 95 %; they are not independent of where the lag is, so that is added to the
 * others. */
static void bound_parts(const struct window_index *index, const struct index_moment *from,
                        const struct index_moment *to, struct window_parts *out)
{
    double bounds[WINDOW_PARTS] = {0}, whole_j = 0, known_j = 0;
    bounds[WINDOW_PART_AVERAGING] = hypot(edge_bound(index, from), edge_bound(index, to));
    bounds[WINDOW_PART_ROUNDING] = rounding_bound(index, from, to);
    for (int i = 0; i < WINDOW_PARTS; i++)
        whole_j = hypot(whole_j, bounds[i]);
    double unsure_s = shape_seconds(index->sensor.lag_unsure_ns, 0);
    if (unsure_s > 0) {
        double shown_j = to->sum.energy_j - from->sum.energy_j;
        double later_j = shape_energy_j(&index->shape, to->t + unsure_s, NULL) -
                         shape_energy_j(&index->shape, from->t + unsure_s, NULL);
        double lag_j = fabs(later_j - shown_j);
        bounds[WINDOW_PART_LAG] = sqrt(lag_j * (lag_j + 2 * whole_j)); /* (whole + lag)² - whole² */
    }
    double between_j = out->j[WINDOW_PART_INTERPOLATION];
    for (int i = 0; i < WINDOW_PARTS; i++) {
        out->j[i] += bounds[i] / HALF_WIDTH_DEVIATIONS;
        if (i != WINDOW_PART_INTERPOLATION)
            known_j = hypot(known_j, out->j[i]);
    }
    double half = misses_half_width(index, from, to, known_j, between_j) / HALF_WIDTH_DEVIATIONS;
    double rest_j = sqrt(fmax(half * half - known_j * known_j, 0));
    out->j[WINDOW_PART_INTERPOLATION] = fmin(between_j, rest_j);
    out->j[WINDOW_PART_UNSEEN] = sqrt(fmax(rest_j * rest_j - between_j * between_j, 0));
}

void index_parts(const struct window_index *index, const struct index_moment *from,
                 const struct index_moment *to, struct window_parts *out)
{
    *out = (struct window_parts){.df = index->smooth.df};
    edge_parts(index, from, to, out);
    /* A difference of two counter values, each even within a step: step²/12 twice, where the
     * counter is what tells. */
    double step_j = index->sensor.quantum_mj / 1000,
           variance = fmax(reading_variance(index, from, to), 0);
    double resolution = index->counted.count > 0 ? fmin(step_j * step_j / 6, variance) : 0;
    out->j[WINDOW_PART_INTERPOLATION] = sqrt(variance - resolution);
    out->j[WINDOW_PART_RESOLUTION] = sqrt(resolution);
    if (index->sensor.bounded)
        bound_parts(index, from, to, out);
}

void window_index_steps(struct window_index *index, const int64_t *begin_ns, size_t count)
{
    free(index->steps);
    index->steps = mem_array(count + 1, sizeof *index->steps);
    index->step_count = count;
    for (size_t i = 0; i < count; i++)
        index->steps[i] = shape_seconds(begin_ns[i], index->origin_ns);
}

struct reading index_aliasing_j(const struct window_index *index, const struct index_moment *from,
                                const struct index_moment *to)
{
    double length_s = to->t - from->t, unseen = misses_unseen(index),
           limit_w = sensor_held_w(&index->sensor);
    if (unseen <= 0 && !misses_summed(index))
        return (struct reading){0, true};
    if (!(limit_w > 0))
        return (struct reading){0};
    double interval_s = fmax(shape_seconds(index->sensor.update_period_ns, 0),
                             length_s / fmax(to->sum.changes - from->sum.changes, 1));
    double hidden_w = beats_hidden_w(&index->sensor, unseen, interval_s,
                                     fmax(to->energy_j - from->energy_j, 0) / length_s);
    struct sample_phases phases =
        sample_phases_of(&index->shape, shape_seconds(index->sensor.update_period_ns, 0),
                         index->steps, index->step_count, from->t, to->t);
    if (phases.count == 0)
        return (struct reading){length_s * hidden_w, true};
    return (struct reading){(length_s - phases.part_s) * hidden_w +
                                phases.part_s * fmin(hidden_w, phases.uneven * limit_w),
                            true};
}
