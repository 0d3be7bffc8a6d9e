/* feasibility.json, as feasibility_json wrote it or anybody else. */
#include "sharing/schedule.h"

#include "base/json.h"
#include "base/mem.h"
#include "plan/config/size.h"

#include <stdlib.h>
#include <string.h>

enum { MODELS_MAX = 1000, PAIRS_MAX = MODELS_MAX * MODELS_MAX };

static struct reading number_of(const json_t *block, const char *key)
{
    struct reading number = json_get_reading(block, key);
    return (struct reading){number.value, number.valid && number.value >= 0};
}

static bool truth_of(const json_t *block, const char *key)
{
    return json_is_true(json_get(block, key));
}

static bool read_model(const json_t *json, struct pairs_model *out, struct err *err)
{
    const char *name = json_get_text(json, "name"), *repo = json_get_text(json, "repo");
    const char *model = json_get_text(json, "model");
    const json_t *params = json_get(json, "hyperparameters");
    *out = (struct pairs_model){0};
    if (!name || !repo || !model || !json_is_object(params))
        return err_set(err, "a model without name, repo, model or hyperparameters");
    struct gpu_limit limit = {0};
    const char *written = json_get_text(json, "gpu_memory_limit");
    if (written && !gpu_limit_parse(written, &limit, err))
        return err_wrap(err, "%s", name);
    struct reading epochs = number_of(json, "epochs"), margin = number_of(json, "margin_bytes");
    *out = (struct pairs_model){
        .name = mem_strdup(name),
        .repo = mem_strdup(repo),
        .model = mem_strdup(model),
        .params = json_object(),
        .real_params = json_deep_copy(params),
        .has_epochs = truth_of(json, "one_epoch"),
        .gpu_limit = limit,
        .full_epochs = epochs.valid && epochs.value >= 1 ? epochs.value : 1,
        .ran = truth_of(json, "ran"),
        .succeeded = truth_of(json, "succeeded"),
        .margin_bytes = margin.valid ? margin.value : 0,
        .seconds = number_of(json, "seconds"),
        .joules = number_of(json, "joules"),
        .utilisation_percent = number_of(json, "utilisation_percent"),
    };
    if (curve_from_json(json_get(json, "curve"), &out->curve))
        curve_shape(&out->curve, &out->shape);
    return true;
}

/* What an earlier study has of the same model no longer counts. Gives the new one's place. */
static size_t put_model(struct feasibility *study, const struct pairs_model *model)
{
    for (size_t i = 0; i < study->model_count; i++) {
        struct pairs_model *old = &study->models[i];
        if (strcmp(old->repo, model->repo) == 0 && strcmp(old->model, model->model) == 0 &&
            json_equal(old->real_params, model->real_params) && pairs_same_limit(&old->gpu_limit, &model->gpu_limit))
            old->succeeded = false;
    }
    study->models = mem_resize(study->models, study->model_count + 1, sizeof *study->models);
    study->models[study->model_count] = *model;
    return study->model_count++;
}

/* hint: where the last one was found; the next is there or close behind, as pairs are written. */
static bool find(const struct feasibility *study, const size_t *places, size_t count, const char *name, size_t *hint,
                 size_t *out)
{
    for (size_t i = 0; name && i < count; i++) {
        size_t at = (*hint + i) % count;
        if (strcmp(study->models[places[at]].name, name) == 0) {
            *out = places[at];
            *hint = at;
            return true;
        }
    }
    return false;
}

/* What reading the pairs of one file goes on with. */
struct reader {
    const size_t *places;
    size_t count, hints[OVERLAP_SIDES], capacity;
};

static bool read_pair(struct feasibility *study, struct reader *reader, const json_t *json, struct err *err)
{
    const char *fore = json_get_text(json, "foreground"), *back = json_get_text(json, "background");
    struct pairs_pair pair = {0};
    const json_t *real = json_get(json, "real");
    if (!find(study, reader->places, reader->count, fore, &reader->hints[FOREGROUND], &pair.foreground) ||
        !find(study, reader->places, reader->count, back, &reader->hints[BACKGROUND], &pair.background))
        return err_set(err, "a pair of models that are not in the list");
    if (!real)
        return true;
    pair.outcome = (struct pairs_outcome){
        .ran = true,
        .result = json_says(json, "outcome", pairs_result_name(PAIRS_PROVEN)) ? PAIRS_PROVEN : PAIRS_NOT_PROVEN,
        .started = truth_of(real, "started"),
        .finished = truth_of(real, "finished"),
        .out_of_memory = truth_of(real, "out_of_memory"),
        .background_failed = truth_of(real, "background_failed"),
        .slowdown = number_of(real, "foreground_slowdown"),
        .background_slowdown = number_of(real, "background_slowdown"),
    };
    /* Models of each file have places of their own, so no pair of an earlier one is this. */
    MEM_ADD(study->pairs, study->pair_count, reader->capacity) = pair;
    return true;
}

bool schedule_read(struct feasibility *study, const json_t *json, struct err *err)
{
    const json_t *models = json_get(json, "models"), *pairs = json_get(json, "pairs");
    size_t count = json_array_size(models);
    if (!json_is_array(models) || !json_is_array(pairs) || count > MODELS_MAX || json_array_size(pairs) > PAIRS_MAX)
        return err_set(err, "this is no feasibility.json");
    AUTO_FREE size_t *places = mem_array(count + 1, sizeof *places);
    for (size_t i = 0; i < count; i++) {
        struct pairs_model model;
        if (!read_model(json_array_get(models, i), &model, err))
            return false;
        places[i] = put_model(study, &model);
    }
    struct reader reader = {.places = places, .count = count, .capacity = study->pair_count};
    for (size_t i = 0; i < json_array_size(pairs); i++)
        if (!read_pair(study, &reader, json_array_get(pairs, i), err))
            return false;
    return true;
}
