#include "results/judge/judge.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"

static json_t *job_of(const struct dataset_experiment *experiment)
{
    return json_pack("{s:o, s:o, s:s, s:o}", "repo", json_text_or_null(experiment->repo), "model",
                     json_text_or_null(experiment->model), "mode", "default", "hyperparameters",
                     dataset_params_json(experiment));
}

/* What it was, and which evidence made it so: that of the verdict's own weight. */
static char *comment_of(const struct dataset *dataset, const struct dataset_experiment *experiment)
{
    AUTO_TEXT struct text text = {0};
    bool first = true;
    text_addf(&text, "%s of %s: %s", experiment->id, dataset->folders[experiment->folder].path,
              verdict_name(experiment->verdict));
    for (size_t i = 0; i < experiment->evidence_count; i++) {
        const char *kind = experiment->evidence[i].kind;
        if (verdict_with(VERDICT_CLEAN, kind) != experiment->verdict)
            continue;
        text_addf(&text, "%s%s", first ? " by " : ", ", kind);
        first = false;
    }
    return text_take(&text);
}

static json_t *entry_of(const struct dataset *dataset, const struct dataset_experiment *experiment)
{
    AUTO_FREE char *comment = comment_of(dataset, experiment);
    json_t *entry = json_object();
    json_object_set_new(entry, "comment", json_text_or_null(comment));
    if (experiment->parallel) {
        json_object_set_new(entry, "mode", json_string("parallel"));
        json_object_set_new(entry, "foreground", job_of(experiment));
        json_object_set(entry, "background", experiment->background_job);
        if (experiment->start_after_s.valid)
            json_object_set_new(entry, "start_after", json_finite(experiment->start_after_s.value));
    } else {
        json_t *job = job_of(experiment);
        json_object_update(entry, job);
        json_decref(job);
    }
    json_object_set_new(entry, "runs_per_config", json_integer(1));
    return entry;
}

json_t *repeat_settings(const struct dataset *dataset, size_t *count, struct strv *left_out)
{
    json_t *entries = json_array();
    for (size_t i = 0; i < dataset->count; i++) {
        const struct dataset_experiment *experiment = &dataset->items[i];
        if (experiment->verdict <= VERDICT_CLEAN)
            continue;
        if (*experiment->repo && *experiment->model && (!experiment->parallel || experiment->background_job))
            json_array_append_new(entries, entry_of(dataset, experiment));
        else if (left_out)
            strv_add(left_out, experiment->id);
    }
    *count = json_array_size(entries);
    return json_pack("{s:s, s:o}", "experiment_name", "repeated", "experiments", entries);
}
