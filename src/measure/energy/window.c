#include "measure/energy/window.h"
#include "measure/energy/window_index.h"
#include "measure/energy/window_learn.h"
#include "measure/energy/window_shape.h"
#include "measure/energy/window_smooth.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Two figures disagree when they differ by more than their half-widths times this: three
 * deviations, not two, or one window in twenty would be evidence by chance. */
static const double disagreement = 1.5;
/* Less than this of a window seen: its energy is not a measurement. */
static const double least_covered = 0.5;

const struct window_sensor window_sensor_gpu = {
    .counter_source = "gpu-counter",
    .power_source = "gpu-power",
    .update_period_ns = 100 * NS_PER_MS,
    .update_jitter_ns = 2 * NS_PER_MS,
    .quantum_mj = 1,
    .span_max_ns = 100 * NS_PER_MS,
    .gap_ns = 150 * NS_PER_MS,
    .agreement_share = 0.005,
};

const struct window_sensor window_sensor_rapl = {
    .counter_source = "rapl-perf",
    .power_source = "none",
    .update_period_ns = 1 * NS_PER_MS,
    .update_jitter_ns = NS_PER_MS / 20,
    .quantum_mj = 1,
    .gap_ns = 150 * NS_PER_MS,
    .agreement_share = 0.005,
};

static struct reading valid(double value)
{
    return (struct reading){value, isfinite(value)};
}

static double half_width_of_variance(double variance)
{
    return HALF_WIDTH_DEVIATIONS * sqrt(fmax(variance, 0));
}

/* How many faults of one kind touch the window: those that began by its end, less those that were
 * over by its start. */
static unsigned faults_within(const struct knots *knots, double from, double to)
{
    size_t begun =
        FIRST_PLACE(at, 1, knots->segment_count, knots->segments[at].fault_from > to) - 1;
    size_t over =
        FIRST_PLACE(at, 1, knots->segment_count, knots->segments[at].fault_to >= from) - 1;
    if (begun <= over)
        return 0;
    const struct segment *a = &knots->segments[over], *b = &knots->segments[begun];
    return (unsigned)((b->backwards_before > a->backwards_before ? WINDOW_BACKWARDS : 0) |
                      (b->jumped_before > a->jumped_before ? WINDOW_JUMPED : 0) |
                      (b->stood_before > a->stood_before ? WINDOW_STOOD : 0));
}

/* Power's extremes, its variation and the integral, as far as the trace tells. */
static void fill_trace(const struct window_index *index, const struct index_moment *from,
                       const struct index_moment *to, struct window_energy *out)
{
    double length = to->t - from->t, traced = spans_within(&index->traced, from->t, to->t);
    struct shape_range range = shape_extremes(&index->shape, from->t, to->t);
    out->longest_gap_ns = llround(range.gap_s * NS_PER_S);
    double untraced = length - traced;
    if (index->traced.count > 0 && untraced > 1e-9)
        out->flags |= WINDOW_GAP;
    if (traced < 0.5 * length)
        return;
    double integral = to->sum.energy_j - from->sum.energy_j, mean = integral / length;
    double square = (to->sum.square - from->sum.square) / length;
    out->power_max_w = valid(range.power_max_w);
    out->power_min_w = valid(range.power_min_w);
    if (mean > 0)
        out->power_cv_within = valid(sqrt(fmax(square - mean * mean, 0)) / mean);
    if (untraced > 1e-9)
        return;
    double means = smooth_mean_variance(&index->shape, index->smooth.span_s, from->t, NULL) +
                   smooth_mean_variance(&index->shape, index->smooth.span_s, to->t, NULL);
    double rise_w = to->sum.power_w - from->sum.power_w, delay_j = index->smooth.delay_sd * rise_w;
    out->integral_j = valid(integral);
    out->integral_half_width_j = valid(half_width_of_variance(
        smooth_clock(&index->smooth, &to->sum) - smooth_clock(&index->smooth, &from->sum) +
        delay_j * delay_j + means));
}

static bool counter_disagrees(const struct window_index *index, const struct window_energy *out)
{
    if (!out->integral_j.valid || !out->energy_j.valid ||
        out->source != index->sensor.counter_source)
        return false;
    double both = hypot(out->half_width_j.value, out->integral_half_width_j.value);
    return fabs(out->energy_j.value - out->integral_j.value) >
           disagreement * both + index->sensor.agreement_share * fabs(out->energy_j.value);
}

static void fill_window_energy(const struct window_index *index, const struct index_moment *from,
                               const struct index_moment *to, struct window_energy *out)
{
    double length = to->t - from->t, covered = spans_within(&index->covered, from->t, to->t);
    out->covered_share = fmin(covered / length, 1);
    if (length - covered > 1e-9)
        out->flags |= WINDOW_UNCOVERED;
    out->flags |= faults_within(&index->knots, from->t, to->t);
    fill_trace(index, from, to, out);
    if (out->covered_share < least_covered)
        return;
    bool counted = spans_within(&index->counted, from->t, to->t) > 0.5 * length;
    out->source = counted ? index->sensor.counter_source : index->sensor.power_source;
    out->energy_j = valid(fmax(to->energy_j - from->energy_j, 0));
    index_parts(index, from, to, &out->parts);
    double variance = 0;
    for (int i = 0; i < WINDOW_PARTS; i++)
        variance += out->parts.j[i] * out->parts.j[i];
    out->half_width_j = valid(half_width_of_variance(variance));
    out->aliasing_bound_j = index_aliasing_j(index, from, to);
    out->power_mean_w = valid(out->energy_j.value / length);
    out->disagrees = counter_disagrees(index, out);
}

void window_index_energy(const struct window_index *index, int64_t start_ns, int64_t end_ns,
                         struct window_energy *out)
{
    *out = (struct window_energy){.start_ns = start_ns, .end_ns = end_ns, .source = "none"};
    if (end_ns <= start_ns) {
        out->flags = WINDOW_EMPTY;
        return;
    }
    if (index->empty) {
        out->flags = WINDOW_UNCOVERED;
        return;
    }
    struct index_moment from = index_moment(index, shape_seconds(start_ns, index->origin_ns));
    struct index_moment to = index_moment(index, shape_seconds(end_ns, index->origin_ns));
    fill_window_energy(index, &from, &to, out);
}

void spans_fini(struct spans *spans)
{
    free(spans->items);
    *spans = (struct spans){0};
}

void spans_add(struct spans *spans, double from, double to)
{
    if (!(to > from))
        return;
    struct span *last = spans->count ? &spans->items[spans->count - 1] : NULL;
    if (last && from <= last->to) {
        if (to > last->to)
            last->to = to;
        return;
    }
    double before = last ? last->before + (last->to - last->from) : 0;
    MEM_ADD(spans->items, spans->count) = (struct span){from, to, before};
}

/* The length of all that lies before t. */
static double length_before(const struct spans *spans, double t)
{
    size_t begun = FIRST_PLACE(at, 0, spans->count, spans->items[at].from >= t);
    if (begun == 0)
        return 0;
    const struct span *last = &spans->items[begun - 1];
    return last->before + (t < last->to ? t : last->to) - last->from;
}

double spans_within(const struct spans *spans, double from, double to)
{
    return length_before(spans, to) - length_before(spans, from);
}

void spans_union(const struct spans *a, const struct spans *b, struct spans *out)
{
    size_t i = 0, k = 0;
    while (i < a->count || k < b->count) {
        bool from_a = k == b->count || (i < a->count && a->items[i].from <= b->items[k].from);
        const struct span *next = from_a ? &a->items[i++] : &b->items[k++];
        spans_add(out, next->from, next->to);
    }
}

static const double joules_per_kwh = 3.6e6;

struct reading window_kwh(struct reading energy_j)
{
    return (struct reading){energy_j.valid ? energy_j.value / joules_per_kwh : 0, energy_j.valid};
}

static int64_t clamp(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* What a mark's own lateness moves from one piece to the other, as a half-width: power there times
 * its time. */
static double moved_j(const struct window_index *index, const struct window_mark *mark,
                      int64_t t_ns)
{
    double half_s = shape_seconds(mark->half_width_ns, 0);
    if (!(half_s > 0))
        return 0;
    double t = shape_seconds(t_ns, index->origin_ns);
    return 0.5 * fabs(index_moment(index, t + half_s).energy_j -
                      index_moment(index, t - half_s).energy_j);
}

static double cut_j(const struct window_index *index, int64_t t_ns)
{
    return index_moment(index, shape_seconds(t_ns, index->origin_ns)).energy_j;
}

int64_t window_cut(const struct window_index *index, int64_t start_ns, int64_t end_ns,
                   const struct window_mark *marks, size_t count, struct window_piece *out)
{
    struct window_energy attempt;
    window_index_energy(index, start_ns, end_ns, &attempt);
    double begin_j = attempt.energy_j.valid ? cut_j(index, start_ns) : 0, moved_before_j = 0;
    int64_t from_ns = start_ns,
            total_mj = attempt.energy_j.valid ? llround(attempt.energy_j.value * 1000) : -1;
    int64_t done_mj = 0;
    for (size_t i = 0; i <= count; i++) {
        int64_t to_ns =
            i < count ? clamp(marks[i].t_ns, from_ns, end_ns > from_ns ? end_ns : from_ns) : end_ns;
        out[i] = (struct window_piece){0};
        window_index_energy(index, from_ns, to_ns, &out[i].window);
        if (!attempt.energy_j.valid) {
            out[i].window.energy_j.valid = out[i].window.half_width_j.valid =
                out[i].window.power_mean_w.valid = false;
            from_ns = to_ns;
            continue;
        }
        double moved_j_here = i < count ? moved_j(index, &marks[i], to_ns) : 0;
        int64_t sum_mj = i < count ? llround((cut_j(index, to_ns) - begin_j) * 1000) : total_mj;
        sum_mj = clamp(sum_mj, done_mj, total_mj > done_mj ? total_mj : done_mj);
        out[i].energy_mj = sum_mj - done_mj;
        if (out[i].window.half_width_j.valid) {
            double marks_j = hypot(moved_before_j, moved_j_here);
            out[i].window.half_width_j.value = hypot(out[i].window.half_width_j.value, marks_j);
            out[i].window.parts.j[WINDOW_PART_MARKS] = marks_j / HALF_WIDTH_DEVIATIONS;
        }
        done_mj = sum_mj;
        moved_before_j = moved_j_here;
        from_ns = to_ns;
    }
    return total_mj;
}

/* ---- The budget of uncertainty. */

static const char from_readings[] = "readings", from_profile[] = "sensor profile",
                  from_assumption[] = "assumption";

static const struct {
    const char *name, *source;
    enum budget_type type;
} parts[WINDOW_PARTS] = {
    [WINDOW_PART_INTERPOLATION] = {"interpolation", from_readings, BUDGET_A},
    [WINDOW_PART_RESOLUTION] = {"counter_resolution", "the counter's step", BUDGET_B},
    [WINDOW_PART_EDGES] = {"edges", from_assumption, BUDGET_B},
    [WINDOW_PART_DELAY] = {"sample_delay", from_readings, BUDGET_A},
    [WINDOW_PART_AGREEMENT] = {"counter_against_trace", from_readings, BUDGET_A},
    [WINDOW_PART_AVERAGING] = {"averaging", from_profile, BUDGET_B},
    [WINDOW_PART_ROUNDING] = {"power_resolution", "the power's step", BUDGET_B},
    [WINDOW_PART_UNSEEN] = {"unseen_share", from_profile, BUDGET_B},
    [WINDOW_PART_LAG] = {"lag", from_profile, BUDGET_B},
    [WINDOW_PART_MARKS] = {"marks", from_assumption, BUDGET_B},
};
_Static_assert(WINDOW_PARTS + 1 <= BUDGET_MOST, "room for all parts and the gain");

static void add_budget_part(const struct window_parts *of, size_t part, struct budget *out)
{
    struct budget_component component = {.name = parts[part].name,
                                         .source = parts[part].source,
                                         .type = parts[part].type,
                                         .unit = "J",
                                         .known = true,
                                         .u = of->j[part],
                                         .sensitivity = 1,
                                         .df = parts[part].type == BUDGET_A ? of->df : INFINITY};
    if (!(of->j[part] > 0))
        return;
    if (part == WINDOW_PART_DELAY && of->delay_s > 0) {
        component.unit = "s";
        component.u = of->delay_s;
    } else if (part == WINDOW_PART_AGREEMENT && of->agreement > 0) {
        component.unit = "1";
        component.u = of->agreement;
    }
    component.sensitivity = of->j[part] / component.u;
    budget_add(out, component);
}

void energy_budget(const struct window_energy *window, const struct sensor_gain *gain,
                   struct budget *out)
{
    *out = (struct budget){0};
    for (size_t i = 0; i < WINDOW_PARTS; i++)
        add_budget_part(&window->parts, i, out);
    budget_add(out, (struct budget_component){.name = "gain",
                                              .source = gain->source ? gain->source : "not stated",
                                              .type = BUDGET_B,
                                              .unit = "1",
                                              .known = gain->bound > 0,
                                              .u = gain->bound / sqrt(3),
                                              .sensitivity = window->energy_j.value,
                                              .df = INFINITY});
}

/* Of what was learnt from the readings. */
static double learnt(const struct window_parts *of)
{
    double square = 0;
    for (size_t i = 0; i < WINDOW_PARTS; i++)
        square += parts[i].type == BUDGET_A ? of->j[i] * of->j[i] : 0;
    return square;
}

void energy_budget_add_parts(struct window_parts *to, const struct window_parts *more)
{
    double a = learnt(to), b = learnt(more);
    if (a + b > 0)
        to->df =
            (a + b) * (a + b) / ((a > 0 ? a * a / to->df : 0) + (b > 0 ? b * b / more->df : 0));
    for (size_t i = 0; i < WINDOW_PARTS; i++)
        to->j[i] = hypot(to->j[i], more->j[i]);
    to->delay_s = to->agreement = 0;
}

struct sensor_gain energy_budget_add_gain(double energy_j, const struct sensor_gain *gain,
                                          double more_j, const struct sensor_gain *more)
{
    struct sensor_gain out = {.source = gain->source};
    if (gain->source != more->source &&
        (!gain->source || !more->source || strcmp(gain->source, more->source) != 0))
        out.source =
            gain->bound > 0 && more->bound > 0 ? "of each device" : "not stated for all devices";
    if (gain->bound > 0 && more->bound > 0 && energy_j + more_j > 0)
        out.bound = (energy_j * gain->bound + more_j * more->bound) / (energy_j + more_j);
    return out;
}
