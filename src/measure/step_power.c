/* The curve of one step from samples of many, and the energies of its phases: what the model is
 * made of, and what comes out. */
#include "measure/step_model.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "stats/describe.h"

#include <math.h>
#include <string.h>

enum { STEPS_MIN = 10, SAMPLES_MOST = 10000, BLOCKS_MIN = 8, BLOCKS_MOST = 40 };

static const double BIN_S = 0.005, BIN_LEAST_S = 0.001, STEP_LONGEST_S = 10;
static const double RISE_S = 1e-3; /* an instantaneous sample is a mean over this span */
/* of the prior's standard deviation may be left of a phase's mean */
static const double RESOLVED = 0.3;
/* standard deviation of a phase's level, of the mean power */
static const double PRIOR_LEVEL = 0.5;
static const double EDGE_DOUBT_S = 5e-4; /* half-width of an edge */
static const double FLICKER_S = 0.02;    /* power that varies from step to step does so over this */
/* of the likelihood's logarithm: times beyond are ruled out */
static const double DROP = 6;
/* of the time between samples: the middle of a mean since the one before is so late */
static const double LAG_LEAST = 0.5, LAG_MOST = 1.1;
/* half-width of a phase's energy by a lag alone, of that energy: beyond, the lag tells too
 * little */
static const double VAGUE = 0.25;
/* of that time: standard deviation of a length that nobody states */
static const double SINCE_UNSURE = 0.5;
static const double TIME_UNSURE = 0.03,
                    /* standard deviations of a calibration's times, at least */
    DELAY_UNSURE_S = 0.0015;

/* Share of each bin in the mean power from begin_s to end_s of a step, over those that last so
 * long. */
static double span_weights(const struct step_model *model, double begin_s, double end_s, double *c)
{
    double sum = 0;
    size_t steps = model->fold->steps, stride = steps / 400 + 1;
    memset(c, 0, model->unknowns * sizeof *c);
    *model->spent += 10 * (double)(steps / stride) * (double)model->fold->phase_count;
    for (size_t step = 0; step < steps && *model->spent < STEP_BUDGET; step += stride) {
        double origin = step_model_edge_s(model, step, 0);
        if (step_model_edge_s(model, step, model->fold->phase_count) - origin < end_s - 1e-6)
            continue;
        for (size_t k = 0; k < model->fold->phase_count; k++) {
            double from = step_model_edge_s(model, step, k) - origin,
                   to = step_model_edge_s(model, step, k + 1) - origin;
            size_t count = model->first[k + 1] - model->first[k];
            if (to <= begin_s || from >= end_s || to <= from)
                continue;
            double width = (to - from) / (double)count;
            for (size_t b = begin_s > from ? (size_t)((begin_s - from) / width) : 0; b < count;
                 b++) {
                double left = fmax(from + width * (double)b, begin_s),
                       right = fmin(from + width * (double)(b + 1), end_s);
                if (left >= end_s)
                    break;
                if (right > left) {
                    c[model->first[k] + b] += right - left;
                    sum += right - left;
                }
            }
        }
    }
    for (size_t b = 0; b < model->bins && sum > 0; b++)
        c[b] /= sum;
    return sum;
}

static double span_power(const struct step_model *model, double begin_s, double end_s, double *c)
{
    double power = 0;
    span_weights(model, begin_s, end_s, c);
    for (size_t b = 0; b < model->bins; b++)
        power += c[b] * model->mean[b];
    return model->mean_w + power;
}

/* Energy of a phase, and mean power of a printed bin, for the times as they are. */
static double phase_energy(const struct step_model *model, size_t k)
{
    size_t from = model->first[k], until = model->first[k + 1],
           next = k + 1 == model->fold->phase_count ? 0 : k + 1;
    double power = 0;
    for (size_t b = from; b < until; b++)
        power += model->mean[b] / (double)(until - from);
    return (model->mean_w + power) *
           (model->phase_s[k] + model->at.early_s[next] - model->at.early_s[k]);
}

static size_t printed(const struct step_model *model)
{
    return (size_t)ceil(model->out->step_s / BIN_S - 1e-6);
}

static double bin_power(const struct step_model *model, size_t bin, double *c)
{
    double width = model->out->step_s / (double)printed(model);
    return span_power(model, width * (double)bin, width * (double)(bin + 1), c);
}

/* By how much the figures change when times are moved as far as the samples allow: first each
 * phase's energy, then each bin's power. To the squares in add. */
static void add_profile(struct step_model *model, size_t first, size_t count, double most,
                        const double *figures, double *add)
{
    size_t phases = model->fold->phase_count, bins = printed(model);
    struct step_times kept = model->at;
    double *worst = mem_array(phases + bins, sizeof *worst), c[STEP_UNKNOWNS_MOST];
    for (int way = -1; way <= 1 && *model->spent < STEP_BUDGET; way += 2) {
        double allowed = 0;
        for (double by = model->bin_s / 32; by <= most && *model->spent < STEP_BUDGET; by *= 2) {
            model->at = kept;
            step_model_shift_times(model, first, count, way * by);
            if (step_model_times_fit(model, true) < kept.best - DROP)
                break;
            allowed = by;
        }
        if (allowed == 0)
            allowed = model->bin_s / 64;
        model->at = kept;
        step_model_shift_times(model, first, count, way * allowed);
        if (!isfinite(step_model_times_fit(model, true)) || !step_model_solve(model))
            continue;
        for (size_t k = 0; k < phases; k++)
            worst[k] = fmax(worst[k], fabs(phase_energy(model, k) - figures[k]));
        for (size_t i = 0; i < bins; i++)
            worst[phases + i] =
                fmax(worst[phases + i], fabs(bin_power(model, i, c) - figures[phases + i]));
    }
    for (size_t i = 0; i < phases + bins; i++)
        add[i] += worst[i] * worst[i];
    model->at = kept;
    free(worst);
}

/* Power that rises slowly looks like a delay that is longer than stated. Both explanations remain,
 * so what the stated times give lies within the half-width, and so does an edge that is a little
 * off, and what the other search found. */
static void add_stated(struct step_model *model, const double *figures, double *add)
{
    size_t phases = model->fold->phase_count, bins = printed(model);
    struct step_times kept = model->at;
    double c[STEP_UNKNOWNS_MOST];
    for (size_t k = 0; k < phases; k++) {
        size_t last = k == 0 ? model->bins - 1 : model->first[k] - 1,
               before = k == 0 ? phases - 1 : k - 1;
        double jump = (EDGE_DOUBT_S + model->sensor->stamp_s / 4) *
                      (model->mean[model->first[k]] - model->mean[last]);
        add[k] += jump * jump;
        add[before] += jump * jump;
    }
    struct step_times rivals[] = {
        {.length_s = model->told_s, .rough = kept.rough, .noise = kept.noise}, model->other};
    for (size_t r = 0; r < sizeof rivals / sizeof *rivals && rivals[r].length_s > 0; r++) {
        model->at = rivals[r];
        if (!isfinite(step_model_times_fit(model, true)) || !step_model_solve(model))
            continue;
        for (size_t k = 0; k < phases; k++)
            add[k] += pow(phase_energy(model, k) - figures[k], 2);
        for (size_t i = 0; i < bins; i++)
            add[phases + i] += pow(bin_power(model, i, c) - figures[phases + i], 2);
    }
    model->at = kept;
}

/* Squared half-widths that come from the uncertainty of the times. */
static double *profile_times(struct step_model *model)
{
    size_t phases = model->fold->phase_count, bins = printed(model);
    double *add = mem_array(phases + bins, sizeof *add),
           *figures = mem_array(phases + bins, sizeof *figures);
    double c[STEP_UNKNOWNS_MOST];
    model->stride = model->sample_count / STEP_SEARCH_SAMPLES + 1;
    model->at.best = step_model_times_fit(model, true);
    if (isfinite(model->at.best) && step_model_solve(model)) {
        for (size_t k = 0; k < phases; k++)
            figures[k] = phase_energy(model, k);
        for (size_t i = 0; i < bins; i++)
            figures[phases + i] = bin_power(model, i, c);
        for (size_t k = 0; k < phases; k++)
            add_profile(model, k, 1, 2.5 * model->mark_sd_s, figures, add);
        add_profile(model, 0, phases, 2.5 * hypot(model->delay_sd_s, model->mark_sd_s), figures,
                    add);
        add_profile(model, phases, 1, 2.5 * model->length_sd_s, figures, add);
        add_stated(model, figures, add);
    }
    model->stride = 1;
    free(figures);
    return add;
}

static double figure_half_width(const struct step_model *model, const double *c, double value,
                                double add)
{
    double gain = model->sensor->gain_bound * value / sqrt(3);
    double k = special_t_quantile(0.975, (double)(model->blocks - 1));
    return sqrt(k * k * (step_model_variance(model, c) + gain * gain) + add);
}

static void fill_bins(struct step_model *model, const double *add)
{
    struct step_power *out = model->out;
    size_t phases = model->fold->phase_count;
    double c[STEP_UNKNOWNS_MOST], moved[STEP_UNKNOWNS_MOST];
    size_t count = printed(model);
    out->bins = mem_array(count + 1, sizeof *out->bins);
    out->bin_count = count;
    for (size_t i = 0; i < count; i++) {
        double begin_s = out->step_s * (double)i / (double)count,
               end_s = out->step_s * (double)(i + 1) / (double)count;
        double power = span_power(model, begin_s, end_s, c),
               by = fmax(0.5 * model->mark_sd_s, 1e-5);
        for (size_t k = 0; k < phases; k++) { /* where the phases begin is not certain */
            model->at.early_s[k] += by;
            c[model->bins + k] = (span_power(model, begin_s, end_s, moved) - power) / by;
            model->at.early_s[k] -= by;
        }
        out->bins[i] = (struct step_bin){
            begin_s, end_s, power,
            figure_half_width(model, c, power, add[i] + 4 * model->at.noise / (double)out->steps)};
    }
}

static void refuse_step_power(struct step_power *out, const char *reason)
{
    snprintf(out->reason, sizeof out->reason, "%s", reason);
}

static void fill_phases(struct step_model *model, const double *add)
{
    struct step_power *out = model->out;
    size_t phases = model->fold->phase_count, resolved = 0;
    double c[STEP_UNKNOWNS_MOST], begin_s = 0;
    bool vague = false;
    out->phase_count = phases;
    for (size_t k = 0; k < phases; k++) {
        size_t from = model->first[k], until = model->first[k + 1],
               next = k + 1 == phases ? 0 : k + 1;
        double power = model->mean_w, variance,
               seconds = model->phase_s[k] + model->at.early_s[next] - model->at.early_s[k];
        memset(c, 0, model->unknowns * sizeof *c);
        for (size_t b = from; b < until; b++) {
            c[b] = 1 / (double)(until - from);
            power += c[b] * model->mean[b];
        }
        variance = step_model_variance(model, c);
        for (size_t b = from; b < until; b++)
            c[b] *= seconds;
        if (next != k) {
            c[model->bins + k] -= power;
            c[model->bins + next] += power;
        }
        double cells = fmax(seconds / FLICKER_S, 1),
               phase_s2 = 4 * model->at.noise / (double)out->steps / cells * seconds * seconds;
        struct step_phase *phase = &out->phases[k];
        *phase = (struct step_phase){.name = model->fold->names[k],
                                     .begin_s = begin_s,
                                     .end_s = begin_s + model->phase_s[k]};
        begin_s = phase->end_s;
        if (sqrt(variance) > RESOLVED * model->level_w)
            continue;
        resolved++;
        phase->energy_j = (struct reading){power * seconds, true};
        phase->half_width_j =
            (struct reading){figure_half_width(model, c, power * seconds, add[k] + phase_s2), true};
        vague |= phase->half_width_j.value > VAGUE * phase->energy_j.value;
    }
    if (vague && !model->sensor->behaviour->told)
        refuse_step_power(
            out, "over which time the sensor averages is not known, and its lag alone does not "
                 "tell the phases apart");
    else if (resolved == 0)
        snprintf(out->reason, sizeof out->reason,
                 "the samples do not tell the phases apart: they are means over too long, or fall "
                 "on the same moments "
                 "of every step");
}

/* The samples that steps can have entered, at most the last so many. */
static void choose_samples(struct step_model *model, const struct series *series)
{
    const struct step_fold *fold = model->fold;
    size_t width = fold->phase_count + 1, first = 0, last = series->power_count;
    int64_t begin_ns = fold->edge_ns[0], end_ns = fold->edge_ns[fold->steps * width - 1];
    while (first < last && series->power[first].t_ns < begin_ns)
        first++;
    while (last > first &&
           series->power[last - 1].t_ns > end_ns + (int64_t)(1e9 * step_model_reach_s(model)))
        last--;
    if (last - first > SAMPLES_MOST)
        first = last - SAMPLES_MOST;
    model->samples = series->power + first;
    model->sample_count = last - first;
}

static double median_spacing_s(const struct series *series)
{
    size_t count = series->power_count > 0 ? series->power_count - 1 : 0;
    AUTO_FREE double *spacings = mem_array(count + 1, sizeof *spacings);
    for (size_t i = 0; i < count; i++)
        spacings[i] = ns_to_s(series->power[i + 1].t_ns - series->power[i].t_ns);
    return count > 0 ? stats_median(spacings, count).value : 0;
}

/* How long the average is and how late, with their standard deviations. Where a calibration found
 * the lag of its middle alone, a sample is taken for a mean since the one before, of a length that
 * is hardly known. False: too little is known; the reason is in out. */
static bool set_sensor_times(struct step_model *model, const struct series *series)
{
    const struct sensor_behaviour *behaviour = model->sensor->behaviour;
    double lag_s = fmax(ns_to_s(behaviour->lag_ns), 0), spacing_s;
    if (!model->sensor->calibrated || (!behaviour->told && behaviour->lag_sd_ns <= 0)) {
        refuse_step_power(
            model->out,
            "over which time the sensor averages is not known: `tare calibrate` finds out");
        return false;
    }
    if (behaviour->told) {
        model->at.length_s = fmax(ns_to_s(behaviour->averaging_ns), RISE_S);
        if (behaviour->averaging == WINDOW_INSTANT)
            model->at.length_s = RISE_S;
        model->delay_s = ns_to_s(behaviour->delay_ns);
        model->length_sd_s =
            fmax(fmax(behaviour->averaging_sd_ns / 1e9, TIME_UNSURE * model->at.length_s), 2e-5);
        model->delay_sd_s =
            fmax(behaviour->delay_sd_ns / 1e9, hypot(TIME_UNSURE * model->delay_s, DELAY_UNSURE_S));
    } else {
        spacing_s = median_spacing_s(series);
        if (lag_s > LAG_MOST * spacing_s ||
            lag_s + behaviour->lag_sd_ns / 1e9 < LAG_LEAST * spacing_s) {
            refuse_step_power(model->out,
                              "over which time the sensor averages is not known: by its lag, "
                              "samples are no means of "
                              "the time since the one before");
            return false;
        }
        model->at.length_s = fmax(fmin(spacing_s, 2 * lag_s), RISE_S);
        model->delay_s = fmax(lag_s - model->at.length_s / 2, 0);
        model->length_sd_s = fmax(SINCE_UNSURE * model->at.length_s, 2e-5);
        model->delay_sd_s =
            hypot(fmax(behaviour->lag_sd_ns / 1e9, DELAY_UNSURE_S), model->length_sd_s / 2);
    }
    model->told_s = model->at.length_s;
    return true;
}

static bool prepare_step_model(struct step_model *model, const struct series *series)
{
    const struct step_fold *fold = model->fold;
    struct step_power *out = model->out;
    size_t width = fold->phase_count + 1;
    if (fold->steps < STEPS_MIN) {
        snprintf(out->reason, sizeof out->reason,
                 "%zu steps of the same phases were marked: at least %d are needed", fold->steps,
                 STEPS_MIN);
        return false;
    }
    if (!set_sensor_times(model, series))
        return false;
    if (fold->median_s > STEP_LONGEST_S) {
        refuse_step_power(out, "steps are longer than 10 s");
        return false;
    }
    model->origin_ns = fold->edge_ns[0];
    model->stride = 1;
    model->mark_sd_s = fmax(model->sensor->mark_s * 0.6, 2e-5);
    for (size_t k = 0; k < fold->phase_count; k++) {
        for (size_t i = 0; i < fold->steps; i++)
            model->phase_s[k] +=
                ns_to_s(fold->edge_ns[i * width + k + 1] - fold->edge_ns[i * width + k]);
        model->phase_s[k] /= (double)fold->steps;
    }
    double step_s = 0;
    EACH (phase_, model->phase_s, fold->phase_count)
        step_s += *phase_;
    double room = STEP_BINS_MOST - (double)fold->phase_count;
    double bin_s = model->bin_s = fmax(fmin(fmax(step_s / 60, BIN_LEAST_S), BIN_S), step_s / room);
    for (size_t k = 0; k < fold->phase_count; k++)
        model->first[k + 1] =
            model->first[k] + (size_t)fmax(ceil(model->phase_s[k] / bin_s - 1e-6), 1);
    model->bins = model->first[fold->phase_count];
    model->unknowns = model->bins + fold->phase_count + 2 + STEP_DRIFTS;
    choose_samples(model, series);
    if (model->sample_count < STEP_SAMPLES_MIN) {
        snprintf(out->reason, sizeof out->reason,
                 "%zu samples of power were read within the steps: at least %d are needed",
                 model->sample_count, STEP_SAMPLES_MIN);
        return false;
    }
    return true;
}

static void start_values(struct step_model *model)
{
    double sum = 0, squares = 0;
    EACH (sample, model->samples, model->sample_count)
        sum += sample->power_w;
    model->mean_w = sum / (double)model->sample_count;
    EACH (item, model->samples, model->sample_count)
        squares += pow(item->power_w - model->mean_w, 2);
    double variance = squares / (double)model->sample_count;
    model->level_w = fmax(PRIOR_LEVEL * model->mean_w, sqrt(variance)) + 1e-3;
    double least = pow(4 * STEP_FINEST * model->mean_w, 2) + 1e-9;
    model->at.noise = fmax(variance / 4, least);
    model->at.rough = fmax(variance, least) / (model->out->step_s / 4);
}

static void estimate_step_power(struct step_model *model)
{
    size_t n = model->unknowns;
    model->row = mem_array(2, sizeof *model->row);
    model->spare = model->row + 1;
    model->work = mem_array(n * n, sizeof *model->work);
    double reach = fmax(step_model_reach_s(model), model->out->step_s);
    double span_s = ns_to_s(model->samples[model->sample_count - 1].t_ns - model->samples[0].t_ns);
    model->blocks = (size_t)fmin(span_s / (2 * reach), BLOCKS_MOST);
    model->normal = mem_array(n * n, sizeof *model->normal);
    model->right = mem_array(n, sizeof *model->right);
    model->mean = mem_array(n, sizeof *model->mean);
    model->scores = mem_array((model->blocks + 1) * n, sizeof *model->scores);
    start_values(model);
    double *add = NULL;
    step_model_build(model, false);
    bool good = model->rows >= STEP_SAMPLES_MIN;
    if (good) {
        step_model_learn_variances(model, 8, 1.3, true);
        step_model_find_times(model);
        step_model_build(model, false);
        step_model_learn_variances(model, 4, 1.3, true);
        add = profile_times(model);
        step_model_build(model, false);
        step_model_learn_variances(model, 4, 1.3, true);
        good = step_model_solve(model);
    }
    for (int pass = 0; pass < 2 && good; pass++) {
        step_model_build(model, true);
        step_model_learn_variances(model, 4, 1.3, true);
        good = step_model_solve(model);
    }
    model->out->samples = model->rows;
    if (!good) {
        refuse_step_power(model->out, "too few samples lie within steps that count");
    } else if (model->blocks < BLOCKS_MIN) {
        refuse_step_power(model->out,
                          "the steps do not last long enough to see how much they vary");
    } else {
        step_model_score(model);
        fill_phases(model, add);
        if (!model->out->reason[0])
            fill_bins(model, add + model->fold->phase_count);
    }
    if (*model->spent >= STEP_BUDGET)
        refuse_step_power(model->out,
                          "so many phases, steps and samples take too long to be distinguished");
    free(add);
    free(model->normal);
    free(model->right);
    free(model->mean);
    free(model->scores);
    free(model->work);
    free(model->row);
}

void step_power_estimate(const struct step_fold *fold, const struct series *series,
                         const struct step_sensor *sensor, struct step_power *out)
{
    struct step_model *model = mem_alloc(sizeof *model);
    *out = (struct step_power){
        .steps = fold->steps, .left_out = fold->left_out, .step_s = fold->median_s};
    double spent = 0;
    *model = (struct step_model){.fold = fold, .sensor = sensor, .out = out, .spent = &spent};
    if (prepare_step_model(model, series))
        estimate_step_power(model);
    free(model);
}

void step_power_fini(struct step_power *power)
{
    free(power->bins);
    power->bins = NULL;
    power->bin_count = 0;
}
