#include "sharing/written.h"
#include "sharing/outcome.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/record.h"
#include "sharing/result.h"

#include <string.h>

/* ---- The tables: by them it is written, and read again. */

#define MAY_MISS .presence = RECORD_MAY_MISS

#define SIDE(key, member, ...) RECORD_AS(struct written_side, key, member, __VA_ARGS__)
static const struct record_field side_fields[] = {SIDE("repo", repo),
                                                  SIDE("model", model),
                                                  SIDE("mode", mode, MAY_MISS),
                                                  SIDE("hyperparameters", params),
                                                  SIDE("gpu_memory_limit", limit, MAY_MISS),
                                                  {0}};

#define ENTRY(key, member) RECORD_AS(struct written_entry, key, member)
static const struct record_field known_fields[] = {ENTRY("repo", alone.repo),
                                                   ENTRY("model", alone.model),
                                                   ENTRY("hyperparameters", alone.params),
                                                   ENTRY("gpu_memory_limit", alone.limit),
                                                   ENTRY("runs", known),
                                                   {0}};
static const struct record_field entry_fields[] = {
    RECORD_STRUCT(struct written_entry, "foreground", foreground, side_fields),
    RECORD_STRUCT(struct written_entry, "background", background, side_fields),
    ENTRY("runs_per_config", runs),
    {0}};

/* How all runs of a part are run. */
struct head {
    const char *name, *mode;
    int max_retries;
    const json_t *seed, *entries, *tare;
};

#define HEAD(key, member, ...) RECORD_AS(struct head, key, member, __VA_ARGS__)
static const struct record_field head_fields[] = {HEAD("experiment_name", name),
                                                  HEAD("max_retries", max_retries),
                                                  HEAD("mode", mode),
                                                  HEAD("seed", seed, MAY_MISS),
                                                  HEAD("experiments", entries),
                                                  HEAD("tare", tare, MAY_MISS),
                                                  {0}};

/* ---- Settings. */

/* Takes entries. Results are told apart by their place, so the order is the file's. */
static json_t *settings_json(const json_t *root, const char *what, json_t *entries)
{
    struct head asked = {0};
    record_get(head_fields, root, &asked);
    const char *name = asked.name ? asked.name : "";
    AUTO_FREE char *title = mem_printf("%s%s%s", name, asked.name ? ": " : "", what);
    json_t *tare = json_copy((json_t *)asked.tare);
    json_object_del(tare, "order");
    const struct head head = {
        .name = title, .mode = "mixed", .seed = asked.seed, .entries = entries, .tare = tare};
    json_t *json = record_json(head_fields, &head);
    json_decref(tare);
    json_decref(entries);
    return json;
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

/* mode: NULL: not said. */
static json_t *side_json(const struct pairs_model *model, bool real, const char *mode)
{
    AUTO_FREE char *limit = written_limit_text(&model->gpu_limit);
    const struct written_side side = {model->repo, model->model, mode,
                                      real ? model->real_params : model->params, limit};
    return record_json(side_fields, &side);
}

json_t *pairs_entry(const struct pairs_model *fore, const struct pairs_model *back, bool real)
{
    json_t *one = side_json(fore, real, "default");
    return back ? json_pack("{s:s, s:o, s:o}", "mode", "parallel", "foreground", one, "background",
                            side_json(back, real, NULL))
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
static void make_real(const json_t *params, const struct pairs_model *model)
{
    json_int_t epochs = 0;
    if (model->epochs_name && json_get_int(params, model->epochs_name, &epochs) && epochs == 1)
        json_object_del((json_t *)params, model->epochs_name);
}

/* An entry that was asked for stays as it is written, notes and all. */
static json_t *recommended_entry(const struct feasibility *study, const struct pairs_pair *of)
{
    struct written_entry asked;
    if (!of->entry)
        return pair(study, of, true);
    json_t *entry = json_deep_copy(of->entry);
    written_entry_read(entry, &asked);
    make_real(asked.foreground.params, &study->models[of->foreground]);
    make_real(asked.background.params, &study->models[of->background]);
    return entry;
}

json_t *feasibility_recommended(const struct feasibility *study, const json_t *root)
{
    static const char *const dropped[] = {"description", "note", "comment"};
    struct head asked = {0};
    record_get(head_fields, root, &asked);
    AUTO_FREE char *title = mem_printf("%s_recommended", asked.name ? asked.name : "feasibility");
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

static bool read_entry(const json_t *json, void *entry, struct err *err)
{
    (void)err;
    written_entry_read(json, entry);
    return true;
}

void written_entry_read(const json_t *json, struct written_entry *out)
{
    *out = (struct written_entry){0};
    record_get(known_fields, json, out);
    record_get(entry_fields, json, out);
}

static const struct record_field part_fields[] = {
    RECORD_STRUCTS(struct written_part, "experiments", entries, count, NULL, .from = read_entry),
    {0}};

const json_t *written_experiments(const json_t *document)
{
    struct head head = {0};
    record_get(head_fields, document, &head);
    return head.entries;
}

void written_part_read(const json_t *settings, const json_t *results, struct written_part *out)
{
    *out = (struct written_part){.results = written_experiments(results)};
    record_get(part_fields, settings, out);
}

void written_part_fini(struct written_part *part)
{
    record_free(part_fields, part);
}

static bool is_same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool written_is_of(const struct written_side *side, const struct pairs_model *model)
{
    AUTO_FREE char *limit = written_limit_text(&model->gpu_limit);
    return side->repo && is_same_text(side->repo, model->repo) &&
           is_same_text(side->model, model->model) && json_equal(side->params, model->params) &&
           is_same_text(side->limit, limit);
}

json_t *written_known_json(const struct pairs_model *model, const json_t *runs)
{
    AUTO_FREE char *limit = written_limit_text(&model->gpu_limit);
    const struct written_entry entry = {
        .alone = {model->repo, model->model, NULL, model->params, limit}, .known = runs};
    return record_json(known_fields, &entry);
}
