#include "sharing/known.h"

#include "base/json.h"
#include "sharing/result.h"

#include <string.h>

json_t *known_json(const struct pairs_model *model, json_t *runs)
{
    json_t *json = json_object();
    json_object_set_new(json, "repo", json_text_or_null(model->repo));
    json_object_set_new(json, "model", json_text_or_null(model->model));
    json_object_set(json, "hyperparameters", model->params);
    json_object_set_new(json, "gpu_memory_limit", pairs_limit_json(&model->gpu_limit));
    json_object_set_new(json, "runs", runs);
    return json;
}

static bool says(const json_t *json, const char *key, const char *text)
{
    const char *said = json_get_text(json, key);
    return text && said && strcmp(said, text) == 0;
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
    return says(json, "repo", model->repo) && says(json, "model", model->model) &&
           json_equal(json_get(json, "hyperparameters"), model->params) && has_limit(json, &model->gpu_limit);
}

/* One that failed is tried anew. */
static void take(struct pairs_model *model, const json_t *runs, int repeats)
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
    for (size_t i = 0; i < study->model_count; i++) {
        struct pairs_model *model = &study->models[i];
        for (size_t k = 0; k < json_array_size(measured); k++)
            if (known_is_of(json_array_get(measured, k), model))
                take(model, json_get(json_array_get(measured, k), "runs"), repeats);
        whole += (int)json_array_size(model->known) >= repeats;
    }
    return whole;
}

json_t *feasibility_known(const struct feasibility *study)
{
    json_t *list = json_array();
    for (size_t i = 0; i < study->model_count; i++)
        if (study->models[i].known)
            json_array_append_new(list, known_json(&study->models[i], json_incref(study->models[i].known)));
    return list;
}
