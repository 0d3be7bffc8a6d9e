#include "sharing/choose.h"
#include "sharing/feasibility_json.h"
#include "sharing/outcome.h"
#include "sharing/written.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static const char *const epochs_names[] = {"epochs", "num_epochs", "n_epochs", "max_epochs",
                                           "nb_epochs"};

/* Beside each other each takes longer, by how much is not known beforehand. */
static const double SLOWDOWN_MAX = 3;

static const struct param *epochs_param(const struct repo *repo)
{
    for (size_t i = 0; repo && i < sizeof epochs_names / sizeof *epochs_names; i++)
        if (repo_param(repo, epochs_names[i]))
            return repo_param(repo, epochs_names[i]);
    return NULL;
}

static double full_epochs(const struct param *param)
{
    const struct value *value = param ? &param->default_value : NULL;
    double epochs = !value                       ? 1
                    : value->kind == VALUE_INT   ? (double)value->integer
                    : value->kind == VALUE_FLOAT ? value->real
                                                 : 1;
    return epochs >= 1 && epochs <= 1e9 ? epochs : 1;
}

static json_t *params_of(const struct job_settings *job, const struct param *epochs, bool real)
{
    json_t *params = json_object();
    EACH (item, job->params, job->param_count) {
        bool counts = epochs && strcmp(item->name, epochs->name) == 0;
        const struct value *value = &item->value;
        if (!counts || (real && !(value->kind == VALUE_INT && value->integer == 1)))
            json_object_set_new(params, item->name, value_to_json(value));
    }
    if (epochs && !real)
        json_object_set_new(params, epochs->name, json_integer(1));
    return params;
}

bool pairs_same_limit(const struct gpu_limit *a, const struct gpu_limit *b)
{
    return a->bytes == b->bytes && !(a->share < b->share) && !(a->share > b->share);
}

/* Gives the model's place. */
static size_t add_model(struct feasibility *study, const struct registry *registry,
                        const struct entry_settings *entry, const struct job_settings *job)
{
    const struct repo *repo = registry_find(registry, job->repo);
    const struct param *epochs = epochs_param(repo);
    json_t *params = params_of(job, epochs, false);
    for (size_t i = 0; i < study->model_count; i++) {
        const struct pairs_model *model = &study->models[i];
        if (strcmp(model->repo, job->repo) == 0 && strcmp(model->model, job->model) == 0 &&
            json_equal(model->params, params) &&
            pairs_same_limit(&model->gpu_limit, &job->gpu_limit)) {
            json_decref(params);
            return i;
        }
    }
    study->models[study->model_count] = (struct pairs_model){
        .repo = mem_strdup(job->repo),
        .model = mem_strdup(job->model),
        .params = params,
        .real_params = params_of(job, epochs, true),
        .has_epochs = epochs != NULL,
        .epochs_name = epochs ? mem_strdup(epochs->name) : NULL,
        .full_epochs = full_epochs(epochs),
        .timeout_s = entry->timeout_s,
        .governor = mem_strdup(entry->governor),
        .gpu_limit = job->gpu_limit,
        .limit_text = written_limit_text(&job->gpu_limit),
        .track_gpu_memory = job->track_gpu_memory,
    };
    return study->model_count++;
}

static void add_asked_pair(struct feasibility *study, size_t foreground, size_t background,
                           json_t *entry, double expected_s)
{
    EACH (pair, study->pairs, study->pair_count)
        if (pair->foreground == foreground && pair->background == background)
            return;
    study->pairs[study->pair_count++] = (struct pairs_pair){.foreground = foreground,
                                                            .background = background,
                                                            .entry = entry,
                                                            .expected_s = expected_s};
}

/* The shortest unique name. */
static char *name_pairs_model(const struct feasibility *study, size_t at)
{
    const struct pairs_model *model = &study->models[at];
    bool elsewhere = false;
    size_t same = 0, before = 0;
    for (size_t i = 0; i < study->model_count; i++) {
        const struct pairs_model *other = &study->models[i];
        if (strcmp(other->model, model->model) != 0)
            continue;
        bool own = strcmp(other->repo, model->repo) == 0;
        elsewhere |= !own;
        same += own;
        before += own && i < at;
    }
    AUTO_TEXT struct text name = {0};
    if (elsewhere || strcmp(model->model, "default") == 0)
        text_addf(&name, "%s/", model->repo);
    text_add(&name, model->model);
    if (same > 1)
        text_addf(&name, "#%zu", before + 1);
    return text_take(&name);
}

void feasibility_check(const struct settings *settings, struct problems *problems)
{
    EACH (entry, settings->entries, settings->entry_count) {
        bool points = entry->foreground.mode == MODE_GRID || entry->foreground.mode == MODE_LIST;
        if (points || entry->seeds.json_path)
            problems_add(
                problems, SEVERITY_ERROR, &settings->doc, entry->json_path,
                "this command cannot take %s: write an entry with one value of each hyperparameter",
                points ? "a grid or a list of points" : "'seeds'");
    }
    if (settings->seeds.json_path)
        problems_add(problems, SEVERITY_ERROR, &settings->doc, settings->seeds.json_path,
                     "this command cannot take 'seeds': leave it out");
}

void feasibility_choose(const struct settings *settings, const struct registry *registry,
                        struct feasibility *out)
{
    const json_t *entries = written_experiments(settings->doc.root);
    *out = (struct feasibility){
        .models = mem_array(2 * settings->entry_count + 1, sizeof *out->models),
        .pairs = mem_array(settings->entry_count + 1, sizeof *out->pairs),
        .timing = {settings->parallel.wait_s, settings->parallel.limit_s,
                   settings->parallel.restart_delay_s, SLOWDOWN_MAX},
        .hold_s = settings->parallel.hold_s,
        .overlap_s = PAIRS_OVERLAP_S,
        .pair_s = PAIRS_PAIR_S,
    };
    EACH (entry, settings->entries, settings->entry_count) {
        if (entry->runs <= 0)
            continue;
        size_t foreground = add_model(out, registry, entry, &entry->foreground);
        if (entry->parallel)
            add_asked_pair(out, foreground, add_model(out, registry, entry, &entry->background),
                           json_array_get(entries, entry->index), entry->expected_s);
    }
    for (size_t i = 0; i < out->model_count; i++)
        out->models[i].name = name_pairs_model(out, i);
}

void feasibility_pair_all(struct feasibility *study)
{
    size_t count = study->model_count;
    struct pairs_pair *asked = study->pairs;
    size_t asked_count = study->pair_count;
    study->pairs = mem_array(count * count / 2 + 1, sizeof *study->pairs);
    study->pair_count = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++) {
            bool later = study->models[j].seconds.value > study->models[i].seconds.value;
            add_asked_pair(study, later ? j : i, later ? i : j, NULL, 0);
        }
    EACH (pair, study->pairs, study->pair_count)
        EACH (item, asked, asked_count)
            if (item->foreground == pair->foreground && item->background == pair->background) {
                pair->entry = item->entry;
                pair->expected_s = item->expected_s;
            }
    free(asked);
}

void pairs_model_fini(struct pairs_model *model)
{
    record_free(pairs_model_fields, model);
    json_decref(model->params);
    free(model->epochs_name);
    free(model->governor);
    json_decref(model->known);
}

void feasibility_fini(struct feasibility *study)
{
    EACH (model, study->models, study->model_count)
        pairs_model_fini(model);
    EACH (pair, study->pairs, study->pair_count)
        pairs_outcome_fini(&pair->outcome);
    free(study->models);
    free(study->pairs);
    *study = (struct feasibility){0};
}
