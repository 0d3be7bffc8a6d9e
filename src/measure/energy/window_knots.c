
#include "measure/energy/window_knots.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* Short peaks may pass the limit; a counter that counts them is not broken. */
static const double limit_slack = 1.2;
/* A counter that has missed so much has stopped: in periods and, with a trace, in joules. */
static const double stood_periods = 5, stood_j = 1, stood_blind_s = 5;

/* Readings in a row that gave one value. */
struct group {
    struct counter_reading before, first, last;
    bool has_before;
};

struct reader {
    struct knots *knots;
    const struct series *series;
    const struct window_sensor *sensor;
    int64_t origin_ns;
    uint64_t base_mj;            /* value of the segment's first knot */
    struct counter_reading last; /* of the last knot's group */
};

void knots_fini(struct knots *knots)
{
    free(knots->items);
    free(knots->segments);
    *knots = (struct knots){0};
}

static double seconds_from_origin(const struct reader *reader, int64_t t_ns)
{
    return shape_seconds(t_ns, reader->origin_ns);
}

static struct segment *add_segment(struct knots *knots, double from, unsigned why)
{
    struct segment segment = {.first = knots->count, .from = from};
    if (knots->segment_count > 0) {
        const struct segment *last = &knots->segments[knots->segment_count - 1];
        segment.backwards_before = last->backwards_before + (why == WINDOW_BACKWARDS);
        segment.jumped_before = last->jumped_before + (why == WINDOW_JUMPED);
        segment.stood_before = last->stood_before + (why == WINDOW_STOOD);
    }
    struct segment *added = &MEM_ADD(knots->segments, knots->segment_count);
    *added = segment;
    return added;
}

/* Mean power of the raw trace; negative without a sample. */
static double trace_mean_w(const struct series *series, int64_t from_ns, int64_t to_ns)
{
    size_t i = FIRST_PLACE(at, 0, series->power_count, series->power[at].t_ns >= from_ns),
           count = 0;
    double sum = 0;
    for (; i < series->power_count && series->power[i].t_ns <= to_ns && count < 4096; i++, count++)
        sum += series->power[i].power_w;
    return count ? sum / (double)count : -1;
}

static bool stood(const struct reader *reader, const struct group *group)
{
    double period_s = shape_seconds(reader->sensor->update_period_ns, 0);
    double still_s =
        shape_seconds(group->last.before_ns, group->first.after_ns) - stood_periods * period_s;
    if (still_s <= 0)
        return false;
    double mean_w = trace_mean_w(reader->series, group->first.after_ns, group->last.before_ns);
    if (mean_w < 0)
        return still_s > stood_blind_s;
    return mean_w * still_s > fmax(stood_j, 100 * reader->sensor->quantum_mj / 1000);
}

static void order_knot_edges(struct knot *knot)
{
    if (knot->lo_b <= knot->hi_a)
        return;
    double middle = fmin(fmax(0.5 * (knot->lo_b + knot->hi_a), knot->lo_a), knot->hi_b);
    knot->lo_b = knot->hi_a = middle;
}

/* The first reading with a value bounds its instant from above; from below it is the last one
 * without it, or that the next update had not come by the group's last reading. */
static struct knot locate(const struct reader *reader, const struct group *group, bool has_stood)
{
    double period_s = shape_seconds(reader->sensor->update_period_ns, 0);
    double late_s = 2 * shape_seconds(reader->sensor->update_jitter_ns, 0);
    if (reader->sensor->misses_updates)
        period_s *= 2;
    const struct counter_reading *last = has_stood ? &group->first : &group->last;
    struct knot knot = {
        .lo_a = seconds_from_origin(reader, last->before_ns) - period_s - late_s,
        .lo_b = seconds_from_origin(reader, last->after_ns) - period_s + late_s,
        .hi_a = seconds_from_origin(reader, group->first.before_ns),
        .hi_b = seconds_from_origin(reader, group->first.after_ns),
    };
    double lo_a = seconds_from_origin(reader, group->before.before_ns),
           lo_b = seconds_from_origin(reader, group->before.after_ns);
    if (group->has_before && (lo_a + lo_b > knot.lo_a + knot.lo_b || knot.lo_a > knot.hi_b)) {
        knot.lo_a = lo_a;
        knot.lo_b = lo_b;
    }
    /* held for longer than a period, and nothing before: the sensor is slower than it should be */
    if (knot.lo_a >= knot.hi_b)
        knot.lo_a = knot.lo_b = knot.hi_a - period_s;
    order_knot_edges(&knot);
    return knot;
}

static double risen_j(uint64_t from_mj, uint64_t to_mj)
{
    return to_mj >= from_mj ? (double)(to_mj - from_mj) / 1000 : -(double)(from_mj - to_mj) / 1000;
}

static unsigned fault_between(const struct reader *reader, const struct group *group,
                              const struct knot *knot)
{
    const struct knot *last = &reader->knots->items[reader->knots->count - 1];
    double risen = risen_j(reader->last.energy_mj, group->first.energy_mj);
    if (risen < 0)
        return WINDOW_BACKWARDS;
    if (reader->sensor->power_limit_w > 0 &&
        risen > limit_slack * reader->sensor->power_limit_w * (knot->hi_b - last->lo_a) +
                    2 * reader->sensor->quantum_mj / 1000)
        return WINDOW_JUMPED;
    return 0;
}

/* Dense reading ends at the first change: the update before it came one period earlier, whenever it
 * was first seen. */
static void locate_by_successor(const struct reader *reader, const struct group *group,
                                const struct knot *next)
{
    struct knot *knot = &reader->knots->items[reader->knots->count - 1];
    double period_s = shape_seconds(reader->sensor->update_period_ns, 0);
    double late_s = 2 * shape_seconds(reader->sensor->update_jitter_ns, 0);
    double width = next->hi_b - next->lo_a + 2 * late_s;
    if (reader->sensor->misses_updates ||
        shape_seconds(group->first.after_ns, reader->last.before_ns) > period_s / 2 ||
        2 * width > knot->hi_b - knot->lo_a)
        return;
    knot->lo_a = next->lo_a - period_s - late_s;
    knot->lo_b = next->lo_b - period_s;
    knot->hi_a = next->hi_a - period_s;
    knot->hi_b = next->hi_b - period_s + late_s;
    knot->inferred = true;
}

static void close_group(struct reader *reader, const struct group *group)
{
    struct knots *knots = reader->knots;
    struct segment *segment = &knots->segments[knots->segment_count - 1];
    bool has_stood = stood(reader, group);
    struct knot knot = locate(reader, group, has_stood);
    if (segment->count > 0) {
        unsigned why = fault_between(reader, group, &knot);
        if (why) {
            segment = add_segment(knots, seconds_from_origin(reader, group->first.before_ns), why);
            segment->fault_from = seconds_from_origin(reader, reader->last.before_ns);
            segment->fault_to = seconds_from_origin(reader, group->first.after_ns);
        } else {
            locate_by_successor(reader, group, &knot);
        }
    }
    if (segment->count == 0)
        reader->base_mj = group->first.energy_mj;
    knot.value_j = risen_j(reader->base_mj, group->first.energy_mj);
    MEM_ADD(knots->items, knots->count) = knot;
    segment->count++;
    reader->last = group->last;
    if (has_stood) {
        segment =
            add_segment(knots, seconds_from_origin(reader, group->first.after_ns), WINDOW_STOOD);
        segment->fault_from = seconds_from_origin(reader, group->first.after_ns);
        segment->fault_to = seconds_from_origin(reader, group->last.after_ns);
    }
}

void knots_read(struct knots *knots, const struct series *series,
                const struct window_sensor *sensor, int64_t origin_ns)
{
    struct reader reader = {
        .knots = knots, .series = series, .sensor = sensor, .origin_ns = origin_ns};
    struct group group = {0};
    bool open = false;
    *knots = (struct knots){0};
    add_segment(knots, -INFINITY, 0);
    EACH (item, series->counter, series->counter_count) {
        struct counter_reading next = *item;
        if (next.after_ns < next.before_ns || (open && next.before_ns < group.last.after_ns))
            continue; /* no order in time: not of this clock */
        if (open && next.energy_mj == group.last.energy_mj) {
            group.last = next;
            continue;
        }
        if (open)
            close_group(&reader, &group);
        group = (struct group){group.last, next, next, open};
        open = true;
    }
    if (open)
        close_group(&reader, &group);
    EACH (entry, knots->items, knots->count) {
        double variance;
        knot_moments(entry, &entry->at, &variance);
    }
}

/* The density is a rising triangle, a rectangle and a falling triangle side by side. */
void knot_moments(const struct knot *knot, double *mean, double *variance)
{
    double rise = knot->lo_b - knot->lo_a, even = knot->hi_a - knot->lo_b,
           fall = knot->hi_b - knot->hi_a;
    double weight[3] = {rise / 2, even, fall / 2};
    double place[3] = {knot->lo_a + rise * 2 / 3, knot->lo_b + even / 2, knot->hi_a + fall / 3};
    double own[3] = {rise * rise / 18, even * even / 12, fall * fall / 18};
    double sum = weight[0] + weight[1] + weight[2];
    *mean = knot->lo_a;
    *variance = 0;
    if (!(sum > 0))
        return;
    double first = 0, second = 0;
    for (int i = 0; i < 3; i++) {
        double off = place[i] - knot->lo_a;
        first += weight[i] / sum * off;
        second += weight[i] / sum * (own[i] + off * off);
    }
    *mean = knot->lo_a + first;
    *variance = fmax(second - first * first, 0);
}
