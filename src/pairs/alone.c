/* What the runs of each model alone showed. */
#include "pairs/feasibility.h"

#include "base/json.h"
#include "base/mem.h"
#include "pairs/result.h"
#include "stats/describe.h"

#include <stdlib.h>
#include <string.h>

static struct reading number_of(const json_t *block, const char *key)
{
    struct reading out = {0};
    out.valid = json_get_number(block, key, &out.value);
    return out;
}

/* Of several GPUs the one on which it had most. */
static const json_t *gpu_of(const json_t *memory)
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

static void take_memory(struct pairs_model *model, const json_t *attempt)
{
    const json_t *gpu = gpu_of(json_get(attempt, "memory"));
    struct memory_curve curve;
    const char *of = json_get_text(gpu, "of");
    if (!gpu || !curve_from_json(json_get(gpu, "curve"), &curve))
        return;
    double peak = curve.peak_bytes;
    model->peak_low = !model->curve.any || peak < model->peak_low ? peak : model->peak_low;
    struct reading total = number_of(gpu, "total_bytes"), before = number_of(gpu, "before_bytes");
    struct reading reserved = number_of(gpu, "reserved_bytes");
    if (total.valid) {
        double left = total.value - (before.valid ? before.value : 0) - (reserved.valid ? reserved.value : 0);
        model->total_bytes = total;
        model->before_bytes = before;
        model->available_bytes = (struct reading){left, left > 0};
    }
    if (model->curve.any && peak <= model->curve.peak_bytes)
        return;
    model->curve = curve;
    model->own = of && strcmp(of, "job") == 0;
}

static void take_failure(struct pairs_model *model, const json_t *experiment)
{
    free(model->cause);
    free(model->error);
    const char *cause = json_get_text(json_get(json_get(experiment, "tare"), "failure"), "cause");
    model->cause = mem_strdup(cause ? cause : "unknown");
    model->error = result_error(experiment);
    model->succeeded = false;
}

/* Means of the runs that succeeded. */
struct sums {
    double seconds[100], joules[100], utilisation[100];
    size_t second_count, joule_count, utilisation_count;
};

static void take_run(struct pairs_model *model, const json_t *experiment, struct sums *sums)
{
    const json_t *attempt = result_attempt(experiment), *energy = result_gpu_energy(experiment);
    double value = 0;
    if (!result_ended(experiment))
        return;
    if (!model->ran)
        model->succeeded = true;
    model->ran = true;
    if (!result_succeeded(experiment)) {
        take_failure(model, experiment);
        return;
    }
    take_memory(model, attempt);
    if (json_get_number(attempt, "duration_seconds", &value))
        sums->seconds[sums->second_count++] = value;
    if (json_get_number(energy, "joules", &value))
        sums->joules[sums->joule_count++] = value;
    if (json_get_number(energy, "utilisation_mean_percent", &value))
        sums->utilisation[sums->utilisation_count++] = value;
}

void feasibility_take_alone(struct feasibility *study, const json_t *results, int repeats)
{
    const json_t *experiments = json_get(results, "experiments");
    for (size_t i = 0; i < study->model_count; i++) {
        struct pairs_model *model = &study->models[i];
        struct sums sums = {0};
        for (size_t k = 0; k < (size_t)repeats && k < 100; k++)
            take_run(model, json_array_get(experiments, i * (size_t)repeats + k), &sums);
        curve_shape(&model->curve, &model->shape);
        model->margin_bytes = model->curve.any ? pairs_margin(model->peak_low, model->curve.peak_bytes,
                                                              model->shape.ripple.valid ? model->shape.ripple.value : 0)
                                               : 0;
        model->seconds = stats_mean(sums.seconds, sums.second_count);
        model->joules = stats_mean(sums.joules, sums.joule_count);
        model->utilisation_percent = stats_mean(sums.utilisation, sums.utilisation_count);
    }
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
    return left->background < right->background ? -1 : left->background > right->background;
}

void feasibility_predict(struct feasibility *study, double gpu_bytes)
{
    study->room = (struct pairs_room){gpu_bytes, gpu_bytes};
    for (size_t i = 0; i < study->model_count; i++) {
        const struct pairs_model *model = &study->models[i];
        if (model->before_bytes.valid && model->before_bytes.value > study->before_bytes)
            study->before_bytes = model->before_bytes.value;
        if (!(gpu_bytes > 0) && model->total_bytes.valid && model->available_bytes.valid &&
            (study->room.total_bytes <= 0 || model->available_bytes.value < study->room.available_bytes))
            study->room = (struct pairs_room){model->total_bytes.value, model->available_bytes.value};
    }
    for (size_t i = 0; i < study->pair_count; i++) {
        struct pairs_pair *pair = &study->pairs[i];
        const struct pairs_model *fore = &study->models[pair->foreground], *back = &study->models[pair->background];
        pairs_predict(&fore->curve, fore->margin_bytes, &back->curve, back->margin_bytes, &study->timing, &study->room,
                      &pair->prediction);
    }
    qsort(study->pairs, study->pair_count, sizeof *study->pairs, by_risk);
}
