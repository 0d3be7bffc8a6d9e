#include "sharing/written.h"
#include "sharing/outcome.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/record.h"
#include "sharing/result.h"

#include <string.h>

struct root {
    const char *experiment_name;
    const json_t *seed, *experiments, *tare;
};

#define ROOT(member) RECORD(struct root, member)
static const struct record_field root_fields[] = {
    ROOT(experiment_name), ROOT(seed), ROOT(experiments), ROOT(tare), {0}};

struct side {
    const char *repo, *model, *mode;
    const json_t *hyperparameters;
    const char *gpu_memory_limit;
};

#define SIDE(member) RECORD(struct side, member, .presence = RECORD_MAY_MISS)
static const struct record_field side_fields[] = {
    SIDE(repo), SIDE(model), SIDE(mode), SIDE(hyperparameters), SIDE(gpu_memory_limit), {0}};

#define ENTRY(member) RECORD(struct written_entry, member)
static const struct record_field entry_fields[] = {
    ENTRY(foreground), ENTRY(background), ENTRY(runs_per_config), ENTRY(runs), {0}};

static struct root read_root(const json_t *document)
{
    struct root root = {0};
    record_get(root_fields, document, &root);
    return root;
}

/* How the runs of a part are run. Results are told apart by their place, so the order is the
 * file's. Takes entries. */
static json_t *settings_json(const json_t *document, const char *what, json_t *entries)
{
    struct root root = read_root(document);
    AUTO_FREE char *title = mem_printf("%s%s%s", root.experiment_name ? root.experiment_name : "",
                                       root.experiment_name ? ": " : "", what);
    json_t *tare = json_copy((json_t *)root.tare);
    json_object_del(tare, "order");
    return json_pack("{s:o, s:i, s:s, s:O*, s:o, s:o*}", "experiment_name",
                     json_text_or_null(title), "max_retries", 0, "mode", "mixed", "seed", root.seed,
                     "experiments", entries, "tare", tare);
}

static void add_entry(json_t *entries, json_t *entry, const struct pairs_model *model, int runs,
                      enum setting_switch track)
{
    if (track != SWITCH_UNSAID)
        json_object_set_new(entry, "track_gpu_memory", json_boolean(track == SWITCH_ON));
    json_object_set_new(entry, "runs_per_config", json_integer(runs));
    if (model->timeout_s > 0)
        json_object_set_new(entry, "timeout", json_finite(model->timeout_s));
    if (model->governor)
        json_object_set_new(entry, "governor", json_string(model->governor));
    json_array_append_new(entries, entry);
}

char *written_limit_text(const struct gpu_limit *limit)
{
    return limit->share > 0          ? mem_printf("%.6f%%", 100 * limit->share)
           : gpu_limit_is_set(limit) ? mem_printf("%llu B", (unsigned long long)limit->bytes)
                                     : NULL;
}

static json_t *model_side_json(const struct pairs_model *model, bool real, const char *mode)
{
    const struct side side = {model->repo, model->model, mode,
                              real ? model->real_params : model->params, model->limit_text};
    return record_json(side_fields, &side);
}

json_t *pairs_entry(const struct pairs_model *fore, const struct pairs_model *back, bool real)
{
    json_t *one = model_side_json(fore, real, "default");
    return back ? json_pack("{s:s, s:o, s:o}", "mode", "parallel", "foreground", one, "background",
                            model_side_json(back, real, NULL))
                : one;
}

static json_t *pair(const struct feasibility *study, const struct pairs_pair *of, bool real)
{
    return pairs_entry(&study->models[of->foreground], &study->models[of->background], real);
}

json_t *feasibility_alone_settings(const struct feasibility *study, const json_t *root, int repeats,
                                   bool track)
{
    json_t *entries = json_array();
    EACH (model, study->models, study->model_count) {
        int left = repeats - (int)json_array_size(model->known);
        if (left > 0)
            add_entry(entries, pairs_entry(model, NULL, false), model, left,
                      track ? SWITCH_ON : model->track_gpu_memory);
    }
    return settings_json(root, "each model alone", entries);
}

static void add_pair_entry(const struct feasibility *study, const struct pairs_pair *of, int runs,
                           json_t *entries)
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
    add_entry(entries, entry, fore, runs, track);
}

json_t *feasibility_pair_settings(const struct feasibility *study, const json_t *root)
{
    json_t *entries = json_array();
    EACH (pair, study->pairs, study->pair_count)
        if (pairs_will_run(study, pair))
            add_pair_entry(study, pair, 1, entries);
    return settings_json(root, "pairs", entries);
}

json_t *feasibility_again_settings(const struct feasibility *study, const json_t *root)
{
    json_t *entries = json_array();
    EACH (pair, study->pairs, study->pair_count) {
        int runs = proof_again(study, pair);
        if (runs > 0)
            add_pair_entry(study, pair, runs, entries);
    }
    if (json_array_size(entries) > 0)
        return settings_json(root, "pairs again", entries);
    json_decref(entries);
    return NULL;
}

/* The one epoch that was there to try it is no hyperparameter of the real experiment. */
static void make_real(const json_t *json, const struct pairs_model *model)
{
    struct side side = {0};
    json_int_t epochs = 0;
    record_get(side_fields, json, &side);
    if (model->epochs_name && json_get_int(side.hyperparameters, model->epochs_name, &epochs) &&
        epochs == 1)
        json_object_del((json_t *)side.hyperparameters, model->epochs_name);
}

/* An entry that was asked for stays as it is written, notes and all. */
static json_t *recommended_entry(const struct feasibility *study, const struct pairs_pair *of)
{
    struct written_entry asked;
    if (!of->entry)
        return pair(study, of, true);
    json_t *entry = json_deep_copy(of->entry);
    written_entry_read(entry, &asked);
    make_real(asked.foreground, &study->models[of->foreground]);
    make_real(asked.background, &study->models[of->background]);
    return entry;
}

json_t *feasibility_recommended(const struct feasibility *study, const json_t *root)
{
    static const char *const dropped[] = {"description", "note", "comment"};
    const char *name = read_root(root).experiment_name;
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

/* ---- Reading again. */

const json_t *written_experiments(const json_t *document)
{
    return read_root(document).experiments;
}

void written_entry_read(const json_t *json, struct written_entry *out)
{
    *out = (struct written_entry){0};
    record_get(entry_fields, json, out);
}

/* The experiments of an entry are as many as its runs, after those of the entries before it. */
struct written_run *written_runs(const json_t *results, const json_t *settings, size_t *count)
{
    const json_t *experiments = written_experiments(results),
                 *entries = written_experiments(settings);
    struct written_run *runs = mem_array(json_array_size(experiments) + 1, sizeof *runs);
    *count = 0;
    for (size_t i = 0; i < json_array_size(entries); i++) {
        const json_t *json = json_array_get(entries, i);
        struct written_entry entry;
        written_entry_read(json, &entry);
        for (; entry.runs_per_config > 0 && *count < json_array_size(experiments); (*count)++) {
            runs[*count] = (struct written_run){json, json_array_get(experiments, *count)};
            entry.runs_per_config--;
        }
    }
    return runs;
}

static bool are_texts_equal(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool written_is_of(const json_t *json, const struct pairs_model *model)
{
    struct side side = {0};
    record_get(side_fields, json, &side);
    return side.repo && are_texts_equal(side.repo, model->repo) &&
           are_texts_equal(side.model, model->model) &&
           json_equal(side.hyperparameters, model->params) &&
           are_texts_equal(side.gpu_memory_limit, model->limit_text);
}

json_t *written_known_json(const struct pairs_model *model, json_t *runs)
{
    return json_pack("{s:o, s:o, s:O, s:o, s:o}", "repo", json_text_or_null(model->repo), "model",
                     json_text_or_null(model->model), "hyperparameters", model->params,
                     "gpu_memory_limit", json_text_or_null(model->limit_text), "runs", runs);
}
