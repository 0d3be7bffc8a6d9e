#include "measure/energy/window.h"

#include "base/clock.h"
#include "measure/energy/window_index.h"

#include <math.h>

/* Two figures disagree when they differ by more than their half-widths times this: three deviations, not two, or one
 * window in twenty would be evidence by chance. */
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

static double half_width(double variance)
{
    return HALF_WIDTH_DEVIATIONS * sqrt(fmax(variance, 0));
}

/* How many faults of one kind touch the window: those that began by its end, less those that were over by its start. */
static unsigned faults_within(const struct knots *knots, double from, double to)
{
    size_t begun = 0, over = 0;
    for (int side = 0; side < 2; side++) {
        size_t low = 1, high = knots->segment_count;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            const struct segment *segment = &knots->segments[middle];
            if (side == 0 ? segment->fault_from <= to : segment->fault_to < from)
                low = middle + 1;
            else
                high = middle;
        }
        *(side == 0 ? &begun : &over) = low - 1;
    }
    if (begun <= over)
        return 0;
    const struct segment *a = &knots->segments[over], *b = &knots->segments[begun];
    return (unsigned)((b->backwards_before > a->backwards_before ? WINDOW_BACKWARDS : 0) |
                      (b->jumped_before > a->jumped_before ? WINDOW_JUMPED : 0) |
                      (b->stood_before > a->stood_before ? WINDOW_STOOD : 0));
}

/* Power's extremes, its variation and the integral, as far as the trace tells. */
static void fill_trace(const struct window_index *index, const struct index_moment *from, const struct index_moment *to,
                       struct window_energy *out)
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
    out->integral_half_width_j = valid(half_width(
        smooth_clock(&index->smooth, &to->sum) - smooth_clock(&index->smooth, &from->sum) + delay_j * delay_j + means));
}

static bool disagrees(const struct window_index *index, const struct window_energy *out)
{
    if (!out->integral_j.valid || !out->energy_j.valid || out->source != index->sensor.counter_source)
        return false;
    double both = hypot(out->half_width_j.value, out->integral_half_width_j.value);
    return fabs(out->energy_j.value - out->integral_j.value) >
           disagreement * both + index->sensor.agreement_share * fabs(out->energy_j.value);
}

static void fill(const struct window_index *index, const struct index_moment *from, const struct index_moment *to,
                 struct window_energy *out)
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
    out->half_width_j = valid(half_width(variance));
    out->power_mean_w = valid(out->energy_j.value / length);
    out->disagrees = disagrees(index, out);
}

void window_index_energy(const struct window_index *index, int64_t start_ns, int64_t end_ns, struct window_energy *out)
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
    fill(index, &from, &to, out);
}
