#include "sharing/alone.h"
#include "sharing/predict.h"
#include "sharing/written.h"

#include "base/json.h"
#include "base/mem.h"
#include "sharing/result.h"
#include "stats/describe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const json_t *find_most_used_gpu(const json_t *memory)
{
    const json_t *gpus = json_get(memory, "gpus"), *most = NULL;
    double peak = -1;
    for (size_t i = 0; i < json_array_size(gpus); i++) {
        const json_t *gpu = json_array_get(gpus, i);
        double own = 0;
        if (json_get_number(json_get(gpu, "curve"), "peak_bytes", &own) && own > peak) {
            most = gpu;
            peak = own;
        }
    }
    return most;
}

const char *pairs_source_name(enum pairs_source source)
{
    static const char *const names[] = {"counted", "job", "device"};
    return names[source];
}

static enum pairs_source source_of(const json_t *gpu, bool counted)
{
    return counted ? SOURCE_COUNTED : json_says(gpu, "of", "job") ? SOURCE_JOB : SOURCE_DEVICE;
}

/* The most that all its contexts can have: as counted, else by the first reading; else as large as
 * any that was measured. */
static double context_at_most(const json_t *counted, const struct memory_curve *curve)
{
    static const double MEASURED_MOST = 640.0 * 1048576;
    struct reading context = json_get_reading(counted, "context_bytes");
    struct curve_shape shape;
    curve_shape(curve, &shape);
    return context.valid         ? context.value
           : shape.context.valid ? shape.context.value
                                 : MEASURED_MOST;
}

/* What its processes held together at most and its contexts is how much they can have had at once,
 * though no reading showed it. Contexts are in the curve, which the driver told, and not in what
 * was held. */
static double hidden_bytes(const json_t *counted, const struct memory_curve *curve)
{
    struct reading sum = json_get_reading(counted, "sum_peak_bytes"),
                   one = json_get_reading(counted, "held_peak_bytes");
    double held = fmax(sum.valid ? sum.value : 0, one.valid ? one.value : 0);
    return held > 0 ? fmax(held + context_at_most(counted, curve) - curve->peak_bytes, 0) : 0;
}

/* Of several runs the one with the highest peak. */
static void keep_highest_seen(struct pairs_model *model, const json_t *gpu,
                              const struct memory_curve *curve)
{
    struct curve_shape shape;
    curve_shape(curve, &shape);
    if (shape.steady.valid && shape.peak.value > model->seen.peak_bytes)
        model->seen = (struct overlap_alone){shape.steady.value, shape.peak.value,
                                             json_get_reading(gpu, "load_at_peak_percent")};
}

static void add_memory_alone(struct pairs_model *model, const json_t *attempt)
{
    const json_t *gpu = find_most_used_gpu(json_get(attempt, "memory")),
                 *counted = json_get(gpu, "counted");
    struct memory_curve curve;
    if (!gpu || !curve_from_json(json_get(gpu, "curve"), &curve))
        return;
    if (source_of(gpu, false) == SOURCE_JOB)
        keep_highest_seen(model, gpu, &curve);
    bool exact = curve_count(counted, &curve);
    double hidden = exact ? 0 : hidden_bytes(counted, &curve);
    double peak = curve.peak_bytes += hidden;
    if (!(peak > 0)) /* too short to be seen, or it used no GPU: neither says that it needs none */
        return;
    model->peak_low = !model->curve.any || peak < model->peak_low ? peak : model->peak_low;
    struct reading total = json_get_reading(gpu, "total_bytes"),
                   before = json_get_reading(gpu, "before_bytes");
    struct reading reserved = json_get_reading(gpu, "reserved_bytes");
    if (total.valid) {
        double left =
            total.value - (before.valid ? before.value : 0) - (reserved.valid ? reserved.value : 0);
        model->total_bytes = total;
        model->before_bytes = before;
        model->available_bytes = (struct reading){left, left > 0};
    }
    if (model->curve.any && peak <= model->curve.peak_bytes)
        return;
    model->curve = curve;
    model->source = source_of(gpu, exact);
    model->context_bytes = exact ? json_get_reading(counted, "context_bytes") : (struct reading){0};
    model->hidden_bytes = hidden;
}

static char *proposal_for(const char *cause, const json_t *oom)
{
    const char *segments = result_remedy(oom, "expandable_segments");
    if (strcmp(cause, "out_of_memory") == 0)
        return mem_printf(
            "a smaller batch, with gradient accumulation for the same effective batch%s%s",
            segments ? ", or " : "", segments ? segments : "");
    return mem_strdup(strcmp(cause, "timeout") == 0
                          ? "more time: \"timeout\" of the settings"
                          : "its log says more, below alone/ in this study's folder");
}

static void keep_failure(struct pairs_model *model, const json_t *experiment)
{
    free(model->cause);
    free(model->error);
    free(model->proposal);
    const json_t *oom = json_get(result_attempt(experiment), "oom");
    const char *cause = json_get_text(json_get(json_get(experiment, "tare"), "failure"), "cause");
    const char *reason = result_oom_reason(oom);
    model->cause = mem_strdup(cause ? cause : "unknown");
    model->error = reason ? mem_printf("out of memory: %s", reason) : result_error(experiment);
    model->proposal = proposal_for(model->cause, oom);
    model->succeeded = false;
}

/* Means of the runs that succeeded. */
enum { REPEATS_MAX = 100 };
struct sums {
    double seconds[REPEATS_MAX], joules[REPEATS_MAX], utilisation[REPEATS_MAX];
    size_t second_count, joule_count, utilisation_count;
};

static void add_run_alone(struct pairs_model *model, const json_t *experiment, struct sums *sums)
{
    const json_t *attempt = result_attempt(experiment), *energy = result_gpu_energy(experiment);
    double value = 0;
    if (!result_ended(experiment))
        return;
    if (!model->ran)
        model->succeeded = true;
    model->ran = true;
    if (!result_succeeded(experiment)) {
        keep_failure(model, experiment);
        return;
    }
    add_memory_alone(model, attempt);
    if (json_get_number(attempt, "duration_seconds", &value))
        sums->seconds[sums->second_count++] = value;
    if (json_get_number(energy, "joules", &value))
        sums->joules[sums->joule_count++] = value;
    if (json_get_number(energy, "utilisation_mean_percent", &value))
        sums->utilisation[sums->utilisation_count++] = value;
}

/* Nothing hides between two looks at the peak of what was counted: there it is what lies below the
 * peak that may have been higher for a moment. When several processes had what no reading showed,
 * nobody knows. */
static void shape_memory_alone(struct pairs_model *model)
{
    curve_shape(&model->curve, &model->shape);
    double ripple = model->shape.ripple.valid ? model->shape.ripple.value : 0;
    bool counted = model->source == SOURCE_COUNTED;
    curve_raise(&model->curve, counted ? ripple : model->hidden_bytes);
    model->margin_bytes =
        pairs_margin(model->peak_low, model->curve.peak_bytes, counted ? 0 : ripple);
}

/* The runs of one model, known ones first. */
static json_t *runs_of(const struct pairs_model *model, const json_t *experiments,
                       const json_t *entries)
{
    json_t *runs = model->known ? json_copy(model->known) : json_array();
    size_t at = 0;
    for (size_t i = 0; i < json_array_size(entries); i++) {
        const json_t *entry = json_array_get(entries, i);
        json_int_t count = 0;
        json_get_int(entry, "runs_per_config", &count);
        for (json_int_t k = 0; k < count && at < json_array_size(experiments); k++, at++)
            if (known_is_of(entry, model))
                json_array_append_new(runs, result_alone(json_array_get(experiments, at)));
    }
    return runs;
}

static void add_runs_alone(struct pairs_model *model, const json_t *runs)
{
    struct sums sums = {0};
    for (size_t i = 0; i < json_array_size(runs) && i < REPEATS_MAX; i++)
        add_run_alone(model, json_array_get(runs, i), &sums);
    shape_memory_alone(model);
    model->seconds = stats_mean(sums.seconds, sums.second_count);
    model->joules = stats_mean(sums.joules, sums.joule_count);
    model->utilisation_percent = stats_mean(sums.utilisation, sums.utilisation_count);
}

/* {"repo", "model", "hyperparameters", "gpu_memory_limit", "runs"}. Takes runs. */
static json_t *known_json(const struct pairs_model *model, json_t *runs)
{
    return json_pack("{s:o, s:o, s:O, s:o, s:o}", "repo", json_text_or_null(model->repo), "model",
                     json_text_or_null(model->model), "hyperparameters", model->params,
                     "gpu_memory_limit", pairs_limit_json(&model->gpu_limit), "runs", runs);
}

json_t *feasibility_take_alone(struct feasibility *study, const json_t *results,
                               const json_t *settings)
{
    const json_t *experiments = json_get(results, "experiments"),
                 *entries = json_get(settings, "experiments");
    json_t *measured = json_array();
    EACH (model, study->models, study->model_count) {
        json_t *runs = runs_of(model, experiments, entries);
        add_runs_alone(model, runs);
        json_array_append_new(measured, known_json(model, runs));
    }
    return measured;
}

static int by_risk(const void *a, const void *b)
{
    const struct pairs_pair *left = a, *right = b;
    const struct pairs_prediction *p = &left->prediction, *q = &right->prediction;
    if (p->known != q->known)
        return p->known ? -1 : 1;
    double x = p->safe_bytes + p->margin_bytes, y = q->safe_bytes + q->margin_bytes;
    if (p->known && x != y)
        return x < y ? -1 : 1;
    if (left->foreground != right->foreground)
        return left->foreground < right->foreground ? -1 : 1;
    return ORDER(left->background, right->background);
}

void feasibility_predict(struct feasibility *study, double gpu_bytes)
{
    study->room = (struct pairs_room){gpu_bytes, gpu_bytes};
    EACH (model, study->models, study->model_count) {
        if (model->before_bytes.valid && model->before_bytes.value > study->before_bytes)
            study->before_bytes = model->before_bytes.value;
        if (!(gpu_bytes > 0) && model->total_bytes.valid && model->available_bytes.valid &&
            (study->room.total_bytes <= 0 ||
             model->available_bytes.value < study->room.available_bytes))
            study->room =
                (struct pairs_room){model->total_bytes.value, model->available_bytes.value};
    }
    for (size_t i = 0; i < study->pair_count; i++) {
        struct pairs_pair *pair = &study->pairs[i];
        const struct pairs_model *fore = &study->models[pair->foreground],
                                 *back = &study->models[pair->background];
        struct pairs_timing timing = study->timing;
        double after_s;
        if (proof_is_aligned(study, pair) && proof_start_after(study, pair, &after_s)) {
            timing.lead_low_s = fmin(timing.lead_low_s, after_s);
            timing.lead_high_s = fmax(timing.lead_high_s, after_s);
        }
        pairs_predict(&fore->curve, fore->margin_bytes, &back->curve, back->margin_bytes, &timing,
                      &study->room, &pair->prediction);
    }
    qsort(study->pairs, study->pair_count, sizeof *study->pairs, by_risk);
}

static bool has_limit(const json_t *json, const struct gpu_limit *limit)
{
    const json_t *said = json_get(json, "gpu_memory_limit");
    json_t *meant = pairs_limit_json(limit);
    bool same = said ? json_equal(said, meant) : json_is_null(meant);
    json_decref(meant);
    return same;
}

bool known_is_of(const json_t *json, const struct pairs_model *model)
{
    return json_says(json, "repo", model->repo) && json_says(json, "model", model->model) &&
           json_equal(json_get(json, "hyperparameters"), model->params) &&
           has_limit(json, &model->gpu_limit);
}

/* Failed runs are repeated. */
static void keep_successful_runs(struct pairs_model *model, const json_t *runs, int repeats)
{
    for (size_t i = 0; i < json_array_size(runs); i++) {
        json_t *run = json_array_get(runs, i);
        if (!result_succeeded(run) || (int)json_array_size(model->known) >= repeats)
            continue;
        if (!model->known)
            model->known = json_array();
        json_array_append(model->known, run);
    }
}

size_t feasibility_know(struct feasibility *study, const json_t *measured, int repeats)
{
    size_t whole = 0;
    EACH (model, study->models, study->model_count) {
        for (size_t k = 0; k < json_array_size(measured); k++)
            if (known_is_of(json_array_get(measured, k), model))
                keep_successful_runs(model, json_get(json_array_get(measured, k), "runs"), repeats);
        whole += (int)json_array_size(model->known) >= repeats;
    }
    return whole;
}

json_t *feasibility_known(const struct feasibility *study)
{
    json_t *list = json_array();
    EACH (model, study->models, study->model_count)
        if (model->known)
            json_array_append_new(list, known_json(model, json_incref(model->known)));
    return list;
}
