#include "sharing/alone.h"
#include "sharing/predict.h"
#include "sharing/written.h"

#include "base/mem.h"
#include "sharing/result.h"
#include "stats/describe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct result_gpu *find_most_used_gpu(const struct result *result)
{
    const struct result_gpu *most = NULL;
    EACH (gpu, result->gpus, result->gpu_count) {
        struct reading peak = gpu->curve_peak_bytes;
        if (peak.valid && peak.value > (most ? most->curve_peak_bytes.value : -1))
            most = gpu;
    }
    return most;
}

const char *pairs_source_name(enum pairs_source source)
{
    static const char *const names[] = {"counted", "job", "device"};
    return names[source];
}

static enum pairs_source source_of(const struct result_gpu *gpu, bool counted)
{
    return counted                                  ? SOURCE_COUNTED
           : gpu->of && strcmp(gpu->of, "job") == 0 ? SOURCE_JOB
                                                    : SOURCE_DEVICE;
}

/* The most that all its contexts can have: as counted, else by the first reading; else as large as
 * any that was measured. */
static double context_at_most(const struct result_gpu *gpu, const struct memory_curve *curve)
{
    static const double MEASURED_MOST = 640.0 * 1048576;
    struct curve_shape shape;
    curve_shape(curve, &shape);
    return gpu->context_bytes.valid ? gpu->context_bytes.value
           : shape.context.valid    ? shape.context.value
                                    : MEASURED_MOST;
}

/* What its processes held together at most and its contexts is how much they can have had at once,
 * though no reading showed it. Contexts are in the curve, which the driver told, and not in what
 * was held. */
static double hidden_bytes(const struct result_gpu *gpu, const struct memory_curve *curve)
{
    struct reading sum = gpu->sum_peak_bytes, one = gpu->held_peak_bytes;
    double held = fmax(sum.valid ? sum.value : 0, one.valid ? one.value : 0);
    return held > 0 ? fmax(held + context_at_most(gpu, curve) - curve->peak_bytes, 0) : 0;
}

/* Of several runs the one with the highest peak. */
static void keep_highest_seen(struct pairs_model *model, const struct result_gpu *gpu,
                              const struct memory_curve *curve)
{
    struct curve_shape shape;
    curve_shape(curve, &shape);
    if (shape.steady.valid && shape.peak.value > model->seen.peak_bytes)
        model->seen =
            (struct overlap_alone){shape.steady.value, shape.peak.value, gpu->load_at_peak_percent};
}

static void add_memory_alone(struct pairs_model *model, const struct result *result)
{
    const struct result_gpu *gpu = find_most_used_gpu(result);
    struct memory_curve curve;
    if (!gpu || !curve_from_json(gpu->curve, &curve))
        return;
    if (source_of(gpu, false) == SOURCE_JOB)
        keep_highest_seen(model, gpu, &curve);
    bool exact = curve_count(gpu, &curve);
    double hidden = exact ? 0 : hidden_bytes(gpu, &curve);
    double peak = curve.peak_bytes += hidden;
    if (!(peak > 0)) /* too short to be seen, or it used no GPU: neither says that it needs none */
        return;
    model->peak_low = !model->curve.any || peak < model->peak_low ? peak : model->peak_low;
    if (gpu->total_bytes.valid) {
        double left = gpu->total_bytes.value - gpu->before_bytes.value - gpu->reserved_bytes.value;
        model->total_bytes = gpu->total_bytes;
        model->before_bytes = gpu->before_bytes;
        model->available_bytes = (struct reading){left, left > 0};
    }
    if (model->curve.any && peak <= model->curve.peak_bytes)
        return;
    model->curve = curve;
    model->source = source_of(gpu, exact);
    model->context_bytes = exact ? gpu->context_bytes : (struct reading){0};
    model->hidden_bytes = hidden;
}

static char *proposal_for(const char *cause, const struct result *result)
{
    const char *segments = result_remedy(result, "expandable_segments");
    if (strcmp(cause, "out_of_memory") == 0)
        return mem_printf(
            "a smaller batch, with gradient accumulation for the same effective batch%s%s",
            segments ? ", or " : "", segments ? segments : "");
    return mem_strdup(strcmp(cause, "timeout") == 0
                          ? "more time: \"timeout\" of the settings"
                          : "its log says more, below alone/ in this study's folder");
}

static void keep_failure(struct pairs_model *model, const struct result *result)
{
    free(model->cause);
    free(model->error);
    free(model->proposal);
    const char *reason = result->reason;
    model->cause = mem_strdup(result->cause ? result->cause : "unknown");
    model->error =
        reason ? mem_printf("out of memory: %s", reason) : mem_strdup(result_error(result));
    model->proposal = proposal_for(model->cause, result);
    model->succeeded = false;
}

/* Means of the runs that succeeded. */
enum { REPEATS_MAX = 100 };
struct sums {
    double seconds[REPEATS_MAX], joules[REPEATS_MAX], utilisation[REPEATS_MAX];
    size_t second_count, joule_count, utilisation_count;
};

static void add_run_figure(struct reading reading, double *sums, size_t *count)
{
    if (reading.valid)
        sums[(*count)++] = reading.value;
}

static void add_run_alone(struct pairs_model *model, const struct result *result, struct sums *sums)
{
    if (result->outcome == RESULT_OTHER)
        return;
    if (!model->ran)
        model->succeeded = true;
    model->ran = true;
    if (result->outcome == RESULT_FAILED) {
        keep_failure(model, result);
        return;
    }
    add_memory_alone(model, result);
    add_run_figure(result->seconds, sums->seconds, &sums->second_count);
    add_run_figure(result->joules, sums->joules, &sums->joule_count);
    add_run_figure(result->utilisation_percent, sums->utilisation, &sums->utilisation_count);
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

static void add_runs_alone(struct pairs_model *model, const json_t *runs)
{
    struct sums sums = {0};
    for (size_t i = 0; i < json_array_size(runs) && i < REPEATS_MAX; i++) {
        AUTO(result_fini) struct result result;
        result_read(json_array_get(runs, i), &result);
        add_run_alone(model, &result, &sums);
    }
    shape_memory_alone(model);
    model->seconds = stats_mean(sums.seconds, sums.second_count);
    model->joules = stats_mean(sums.joules, sums.joule_count);
    model->utilisation_percent = stats_mean(sums.utilisation, sums.utilisation_count);
}

json_t *feasibility_take_alone(struct feasibility *study, const json_t *results,
                               const json_t *settings)
{
    size_t count;
    AUTO_FREE struct written_run *runs = written_runs(results, settings, &count);
    json_t *measured = json_array();
    EACH (model, study->models, study->model_count) {
        json_t *own = model->known ? json_copy(model->known) : json_array();
        EACH (run, runs, count)
            if (written_is_of(run->entry, model))
                json_array_append_new(own, result_alone(run->experiment));
        add_runs_alone(model, own);
        json_array_append_new(measured, written_known_json(model, own));
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

/* Failed runs are repeated. */
static void keep_successful_runs(struct pairs_model *model, const json_t *runs, int repeats)
{
    for (size_t i = 0; i < json_array_size(runs); i++) {
        json_t *run = json_array_get(runs, i);
        AUTO(result_fini) struct result result;
        result_read(run, &result);
        if (result.outcome != RESULT_SUCCEEDED || (int)json_array_size(model->known) >= repeats)
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
        for (size_t k = 0; k < json_array_size(measured); k++) {
            struct written_entry known;
            written_entry_read(json_array_get(measured, k), &known);
            if (written_is_of(json_array_get(measured, k), model))
                keep_successful_runs(model, known.runs, repeats);
        }
        whole += (int)json_array_size(model->known) >= repeats;
    }
    return whole;
}

json_t *feasibility_known(const struct feasibility *study)
{
    json_t *list = json_array();
    EACH (model, study->models, study->model_count)
        if (model->known)
            json_array_append_new(list, written_known_json(model, json_incref(model->known)));
    return list;
}
