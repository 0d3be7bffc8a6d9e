#include "measure/energy/window_learn.h"
#include "base/mem.h"
#include "measure/energy/window_knots.h"
#include "measure/energy/window_shape.h"
#include "measure/energy/window_smooth.h"

#include <math.h>

enum { SEEN_POINTS = 8, DELAY_STEPS = 16, DELAY_KNOTS = 2000 };

/* A knot that is located by its successor repeats it: it must add no certainty. */
static const double inferred_penalty = 9;
/* What is held of the ratio before any knot is seen, and as how many innovations that counts. A
 * little more than one: a load can vary in step with the sampling. */
/* 2 to the power of 0.3 */
static const double ratio_prior = 1.2311444133449163, ratio_prior_df = 3;
/* One ratio stands for all places of a series, which are not alike: it is not surer than this. */
static const double df_most = 50;
/* What a mean hides of the load's course within its span, as a share of the energy in it. Nothing
 * can show it when the load is in step with the sensor, so it is assumed. */
static const double hidden_share = 0.04;

double smooth_mean_variance(const struct shape *shape, double span_s, double t, size_t *hint)
{
    if (!(span_s > 0) || shape->count == 0)
        return 0;
    double early_w = shape_power_w(shape, t - span_s / 2, hint);
    double late_w = shape_power_w(shape, t + span_s / 2, hint);
    double bent_j = (late_w - early_w) * span_s / 12,
           hidden_j = hidden_share * 0.5 * (early_w + late_w) * span_s;
    return bent_j * bent_j + hidden_j * hidden_j;
}

/* What the trace's integral was at the update instant, over all places where that may have been. */
static void observe(struct knot *knot, const struct shape *shape,
                    const struct window_sensor *sensor, size_t *hint)
{
    double mean = 0, square = 0, weights = 0, mean_s, var_s;
    double width = knot->hi_b - knot->lo_a;
    knot_moments(knot, &mean_s, &var_s);
    struct shape_sum here = shape_at(shape, mean_s, hint);
    for (int i = 0; i < SEEN_POINTS; i++) {
        double t = knot->lo_a + width * (i + 0.5) / SEEN_POINTS;
        double weight = 1;
        if (t < knot->lo_b)
            weight = (t - knot->lo_a) / (knot->lo_b - knot->lo_a);
        else if (t > knot->hi_a)
            weight = (knot->hi_b - t) / (knot->hi_b - knot->hi_a);
        double energy = shape_energy_j(shape, t, hint) - here.energy_j;
        mean += weight * energy;
        square += weight * energy * energy;
        weights += weight;
    }
    if (weights > 0) {
        mean /= weights;
        square /= weights;
    }
    double quantum_j = sensor->quantum_mj / 1000;
    double first = shape_energy_j(shape, knot->lo_a, hint),
           last = shape_energy_j(shape, knot->hi_b, hint);
    knot->at = mean_s;
    knot->sampled_j2 = here.var_j2;
    knot->gap_j2 = here.gap_j2;
    knot->power_w = width > 0 ? (last - first) / width : here.power_w;
    knot->traced_j = here.energy_j + mean;
    knot->observed_j = knot->value_j - knot->traced_j;
    knot->observed_var = fmax(square - mean * mean, 0) * (knot->inferred ? inferred_penalty : 1) +
                         smooth_mean_variance(shape, fmax(2 * shape->delay_s, 0), mean_s, hint) +
                         quantum_j * quantum_j / 12 + 1e-12;
}

double smooth_scale(double innovation2, double innovations)
{
    return fmax((ratio_prior_df * ratio_prior + innovation2) / (ratio_prior_df + innovations), 1);
}

/* Birge's ratio: the mean square of the innovations, each by its variance, over all gains
 * that the trace may have. Gives how badly the knots are explained with it: twice the negative
 * logarithm of their likelihood. */
static double find_ratio(const struct knots *knots, double gain_sd, struct smooth *out)
{
    double innovations = 0;
    for (size_t s = 0; s < knots->segment_count; s++)
        innovations += knots->segments[s].count > 0 ? (double)knots->segments[s].count - 1 : 0;
    struct smooth_fit fit = smooth_filter(knots, 1);
    if (gain_sd > 0) {
        double sharpness = fit.traced2 + 1 / (gain_sd * gain_sd);
        fit.log_variances += log(sharpness * gain_sd * gain_sd);
        fit.innovation2 -= fit.innovation_traced * fit.innovation_traced / sharpness;
    }
    out->ratio = (ratio_prior_df * ratio_prior + fit.innovation2) / (ratio_prior_df + innovations);
    out->scale = fmax(out->ratio, 1);
    out->df = fmin(ratio_prior_df + innovations, df_most);
    return fit.log_variances + innovations * log(out->scale) + fit.innovation2 / out->scale;
}

/* By how much the counter rises faster than the trace's integral, as a share; it is taken out of
 * what was seen at the knots. */
static void find_gain(struct knots *knots, double gain_sd, struct smooth *out)
{
    if (!(gain_sd > 0) || knots->count < 2)
        return;
    struct smooth_fit fit = smooth_filter(knots, out->scale);
    double sharpness = fit.traced2 + 1 / (gain_sd * gain_sd);
    out->gain = fit.innovation_traced / sharpness;
    out->gain_sd = 1 / sqrt(sharpness);
    EACH (item, knots->items, knots->count)
        item->observed_j -= out->gain * item->traced_j;
}

static void observe_all(struct knots *knots, const struct shape *shape,
                        const struct window_sensor *sensor)
{
    size_t hint = 0;
    EACH (item, knots->items, knots->count)
        observe(item, shape, sensor, &hint);
    /* the stretches of neighbours can overlap; their order is known */
    for (size_t i = 1; i < knots->count; i++) {
        knots->items[i].sampled_j2 =
            fmax(knots->items[i].sampled_j2, knots->items[i - 1].sampled_j2);
        knots->items[i].gap_j2 = fmax(knots->items[i].gap_j2, knots->items[i - 1].gap_j2);
    }
}

/* The first knots alone, as a series of their own: a delay belongs to the sensor and needs no whole
 * day. */
static struct knots beginning(const struct knots *knots)
{
    struct knots part = *knots;
    if (part.count <= DELAY_KNOTS)
        return part;
    part.count = DELAY_KNOTS;
    while (part.segments[part.segment_count - 1].first >= part.count)
        part.segment_count--;
    return part;
}

/* Tries the delays between their bounds, each as likely before the knots are seen; gives mean and
 * deviation. deviance: twice the negative log-likelihood. */
static void find_delay(struct knots *knots, struct shape *shape, const struct window_sensor *sensor,
                       double *mean, double *deviation)
{
    double first = shape_seconds(sensor->span_min_ns, 0) / 2,
           last = shape_seconds(sensor->span_max_ns, 0) / 2;
    double step = (last - first) / DELAY_STEPS, deviance[DELAY_STEPS + 1], least = INFINITY;
    double weights = 0, square = 0;
    struct smooth tried;
    for (int i = 0; i <= DELAY_STEPS; i++) {
        shape->delay_s = first + i * step;
        observe_all(knots, shape, sensor);
        deviance[i] = find_ratio(knots, sensor->agreement_share / 2, &tried);
        least = fmin(least, deviance[i]);
    }
    *mean = 0;
    for (int i = 0; i <= DELAY_STEPS; i++) {
        double weight = exp((least - deviance[i]) / 2), delay = first + i * step;
        weights += weight;
        *mean += weight * delay;
        square += weight * delay * delay;
    }
    *mean /= weights;
    *deviation = sqrt(fmax(square / weights - *mean * *mean, 0) + step * step / 12);
}

/* What belongs to the sensor is found in the first knots: it needs no whole day. */
static void learn_sensor(struct knots *knots, struct shape *shape,
                         const struct window_sensor *sensor, struct smooth *out)
{
    struct knots part = beginning(knots);
    struct segment *end = &part.segments[part.segment_count - 1];
    size_t whole = end->count;
    double delay_s = shape->delay_s;
    if (end->first + end->count > part.count)
        end->count = part.count - end->first;
    /* nothing to learn from, and the trace's own delay is known */
    if (knots->count < 2 && sensor->lag_ns > 0)
        delay_s = shape_seconds(
            sensor->lag_ns - (sensor->averaging == WINDOW_EXPONENTIAL ? sensor->averaging_ns : 0),
            0);
    else if (sensor->span_max_ns > sensor->span_min_ns)
        find_delay(&part, shape, sensor, &delay_s, &out->delay_sd);
    shape->delay_s = delay_s;
    out->span_s = fmax(2 * delay_s, 0);
    end->count = whole;
}

struct smooth smooth_knots(struct knots *knots, struct shape *shape,
                           const struct window_sensor *sensor)
{
    struct smooth out = {0};
    double gain_sd = shape->real ? sensor->agreement_share / 2 : 0;
    if (sensor->span_max_ns > 0 && shape->real)
        learn_sensor(knots, shape, sensor, &out);
    observe_all(knots, shape, sensor);
    out.followed = gain_sd > 0 && smooth_follow_gain(knots, gain_sd);
    find_ratio(knots, gain_sd, &out);
    find_gain(knots, gain_sd, &out);
    smooth_filter(knots, out.scale);
    smooth_back(knots, out.scale);
    return out;
}
