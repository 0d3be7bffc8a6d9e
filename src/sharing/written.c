#include "sharing/written.h"
#include "sharing/outcome.h"

#include "base/json.h"
#include "base/mem.h"
#include "sharing/result.h"

#include <string.h>

/* What goes with every part: how the runs are run. Results are told apart by their place, so the
 * order is the file's. */
static json_t *head(const json_t *root, const char *what)
{
    const char *name = json_get_text(root, "experiment_name");
    AUTO_FREE char *title = mem_printf("%s%s%s", name ? name : "", name ? ": " : "", what);
    json_t *own = json_get(root, "tare") ? json_copy(json_object_get(root, "tare")) : NULL;
    json_object_del(own, "order");
    return json_pack("{s:o, s:i, s:s, s:O*, s:[], s:o*}", "experiment_name",
                     json_text_or_null(title), "max_retries", 0, "mode", "mixed", "seed",
                     json_get(root, "seed"), "experiments", "tare", own);
}

static void add_model_entry(json_t *settings, json_t *entry, const struct pairs_model *model,
                            int runs, enum setting_switch track)
{
    if (track != SWITCH_UNSAID)
        json_object_set_new(entry, "track_gpu_memory", json_boolean(track == SWITCH_ON));
    json_object_set_new(entry, "runs_per_config", json_integer(runs));
    if (model->timeout_s > 0)
        json_object_set_new(entry, "timeout", json_finite(model->timeout_s));
    if (model->governor)
        json_object_set_new(entry, "governor", json_string(model->governor));
    json_array_append_new(json_object_get(settings, "experiments"), entry);
}

json_t *pairs_limit_json(const struct gpu_limit *limit)
{
    if (!gpu_limit_is_set(limit))
        return json_null();
    AUTO_FREE char *text = limit->share > 0
                               ? mem_printf("%.6f%%", 100 * limit->share)
                               : mem_printf("%llu B", (unsigned long long)limit->bytes);
    return json_string(text);
}

/* As one side of an experiment; mode: NULL: not said. */
static json_t *job(const struct pairs_model *model, bool real, const char *mode)
{
    json_t *limit =
        gpu_limit_is_set(&model->gpu_limit) ? pairs_limit_json(&model->gpu_limit) : NULL;
    return json_pack("{s:s, s:s, s:s*, s:o, s:o*}", "repo", model->repo, "model", model->model,
                     "mode", mode, "hyperparameters",
                     json_deep_copy(real ? model->real_params : model->params), "gpu_memory_limit",
                     limit);
}

json_t *pairs_entry(const struct pairs_model *fore, const struct pairs_model *back, bool real)
{
    if (!back)
        return job(fore, real, "default");
    return json_pack("{s:s, s:o, s:o}", "mode", "parallel", "foreground",
                     job(fore, real, "default"), "background", job(back, real, NULL));
}

static json_t *pair(const struct feasibility *study, const struct pairs_pair *of, bool real)
{
    return pairs_entry(&study->models[of->foreground], &study->models[of->background], real);
}

json_t *feasibility_alone_settings(const struct feasibility *study, const json_t *root, int repeats,
                                   bool track)
{
    json_t *json = head(root, "each model alone");
    EACH (model, study->models, study->model_count) {
        int left = repeats - (int)json_array_size(model->known);
        if (left > 0)
            add_model_entry(json, pairs_entry(model, NULL, false), model, left,
                            track ? SWITCH_ON : model->track_gpu_memory);
    }
    return json;
}

static void add_pair_entry(const struct feasibility *study, const struct pairs_pair *of, int runs,
                           json_t *settings)
{
    const struct pairs_model *fore = &study->models[of->foreground],
                             *back = &study->models[of->background];
    json_t *entry = pair(study, of, false);
    double after_s;
    if (proof_is_aligned(study, of) && proof_start_after(study, of, &after_s))
        json_object_set_new(entry, "start_after", json_finite(after_s));
    enum setting_switch track = fore->track_gpu_memory > back->track_gpu_memory
                                    ? fore->track_gpu_memory
                                    : back->track_gpu_memory;
    add_model_entry(settings, entry, fore, runs, track);
}

json_t *feasibility_pair_settings(const struct feasibility *study, const json_t *root)
{
    json_t *json = head(root, "pairs");
    EACH (pair, study->pairs, study->pair_count)
        if (pairs_will_run(study, pair))
            add_pair_entry(study, pair, 1, json);
    return json;
}

json_t *feasibility_again_settings(const struct feasibility *study, const json_t *root)
{
    json_t *json = head(root, "pairs again");
    EACH (pair, study->pairs, study->pair_count) {
        int runs = proof_again(study, pair);
        if (runs > 0)
            add_pair_entry(study, pair, runs, json);
    }
    if (json_array_size(json_object_get(json, "experiments")) > 0)
        return json;
    json_decref(json);
    return NULL;
}

/* The one epoch that was there to try it is no hyperparameter of the real experiment. */
static void make_real(json_t *side, const struct pairs_model *model)
{
    json_t *params = json_object_get(side, "hyperparameters");
    json_int_t epochs = 0;
    if (model->epochs_name && json_get_int(params, model->epochs_name, &epochs) && epochs == 1)
        json_object_del(params, model->epochs_name);
}

/* An entry that was asked for stays as it is written, notes and all. */
static json_t *recommended_entry(const struct feasibility *study, const struct pairs_pair *of)
{
    json_t *entry = of->entry ? json_deep_copy(of->entry) : pair(study, of, true);
    make_real(json_object_get(entry, "foreground"), &study->models[of->foreground]);
    make_real(json_object_get(entry, "background"), &study->models[of->background]);
    return entry;
}

json_t *feasibility_recommended(const struct feasibility *study, const json_t *root)
{
    static const char *const dropped[] = {"description", "note", "comment"};
    const char *name = json_get_text(root, "experiment_name");
    AUTO_FREE char *title = mem_printf("%s_recommended", name ? name : "feasibility");
    json_t *json = json_copy((json_t *)root), *entries = json_array();
    EACH_OF (item, dropped)
        json_object_del(json, *item);
    EACH (pair, study->pairs, study->pair_count)
        if (pairs_is_recommended(pair))
            json_array_append_new(entries, recommended_entry(study, pair));
    json_object_update_new(json, json_pack("{s:o, s:o}", "experiment_name",
                                           json_text_or_null(title), "experiments", entries));
    return json;
}
