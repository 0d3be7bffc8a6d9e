/* A folder in the study's layout as the page's JSON: what store/ gives of tare's own runs, as far as the study knew
 * it. */
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "report/page.h"
#include "results/judge/account.h"

#include <stdlib.h>

static const double MS_PER_S = 1000, MS_PER_NS = 1e-6;

struct study {
    const struct dataset *dataset;
    size_t folder;
    double zone_ms; /* local time is this much ahead of UTC */
};

/* From when to when the last attempt ran, in milliseconds since 1970. */
struct stretch {
    double from_ms, to_ms;
};

static bool stretch_of(const struct study *study, const struct dataset_experiment *experiment, struct stretch *out)
{
    if (!experiment->has_end || !experiment->duration_s.valid || experiment->duration_s.value < 0)
        return false;
    out->to_ms = (double)experiment->end_local_ns * MS_PER_NS - study->zone_ms;
    out->from_ms = out->to_ms - experiment->duration_s.value * MS_PER_S;
    return true;
}

static json_t *outcome_json(const struct dataset_experiment *experiment)
{
    return json_text_or_null(!experiment->has_success ? NULL : experiment->success ? "succeeded" : "failed");
}

static json_t *gpu_json(const struct dataset_experiment *experiment)
{
    const struct dataset_gpu *gpu = &experiment->gpu;
    json_t *out = json_object();
    json_set_reading(out, "joules", dataset_energy(experiment));
    json_set_reading(out, "half_width_j", gpu->half_width_j);
    json_set_reading(out, "recorded_j", experiment->recorded[RECORDED_GPU_TOTAL]);
    json_set_reading(out, "power_mean_w", dataset_power(experiment));
    json_set_reading(out, "power_min_w", gpu->power_min_w);
    json_set_reading(out, "power_max_w", gpu->power_max_w);
    json_set_reading(out, "power_cv_within", gpu->power_cv_within);
    json_set_reading(out, "temperature_start_c", gpu->temperature_start_c);
    json_set_reading(out, "temperature_mean_c", gpu->temperature_mean_c);
    json_set_reading(out, "temperature_max_c", gpu->temperature_max_c);
    json_set_reading(out, "utilisation_mean_percent", gpu->utilisation_mean_percent);
    json_set_reading(out, "utilisation_max_percent", gpu->utilisation_max_percent);
    json_set_reading(out, "covered_share", gpu->sampled_share);
    json_set_reading(out, "longest_gap_s", gpu->longest_gap_s);
    return out;
}

static json_t *joules_json(struct reading joules)
{
    json_t *out = json_object();
    json_set_reading(out, "joules", joules);
    return out;
}

static json_t *evidence_json(const struct dataset_experiment *experiment)
{
    json_t *out = json_array();
    for (size_t i = 0; i < experiment->evidence_count; i++) {
        const struct dataset_evidence *evidence = &experiment->evidence[i];
        json_t *item = json_object();
        json_object_set_new(item, "kind", json_text_or_null(evidence->kind));
        json_object_set_new(item, "weight", json_string(evidence_weight_name(evidence_weight(evidence->kind))));
        json_object_set_new(item, "text", json_text_or_null(evidence->text));
        json_set_reading(item, "from_s", evidence->from_s);
        json_set_reading(item, "to_s", evidence->to_s);
        json_array_append_new(out, item);
    }
    return out;
}

/* The study kept its last attempt alone. */
static json_t *attempts_json(const struct dataset_experiment *experiment)
{
    json_t *out = json_array(), *attempt = json_object();
    json_object_set_new(attempt, "number", json_integer(experiment->retries + 1));
    json_object_set_new(attempt, "outcome", outcome_json(experiment));
    json_set_reading(attempt, "duration_seconds", experiment->duration_s);
    json_object_set_new(attempt, "error", json_text_or_null(experiment->error));
    json_array_append_new(out, attempt);
    return out;
}

/* What stands under "tare" in tare's own. */
static json_t *judged_json(const struct dataset_experiment *experiment)
{
    json_t *out = json_object(), *energy = json_object();
    json_object_set_new(energy, "gpu", gpu_json(experiment));
    json_object_set_new(energy, "cpu_package", joules_json(experiment->cpu_j));
    json_object_set_new(energy, "dram", joules_json(experiment->dram_j));
    json_object_set_new(out, "outcome", outcome_json(experiment));
    json_object_set_new(out, "verdict", json_string(verdict_name(experiment->verdict)));
    json_object_set_new(out, "energy", energy);
    json_object_set_new(out, "verdicts", facts_verdicts_json(&experiment->verdicts));
    json_object_set_new(out, "checks", audit_checks_json(experiment));
    json_object_set_new(out, "evidence", evidence_json(experiment));
    json_object_set_new(out, "attempts", attempts_json(experiment));
    return out;
}

static json_t *params_json(const struct dataset_experiment *experiment)
{
    json_t *out = json_object();
    for (size_t i = 0; i < experiment->param_count; i++)
        json_object_set_new(out, experiment->params[i].name, value_to_json(&experiment->params[i].value));
    return out;
}

static json_t *metrics_json(const struct dataset_experiment *experiment)
{
    json_t *out = json_object();
    for (size_t i = 0; i < experiment->metric_count; i++)
        json_set_reading(out, experiment->metrics[i].name, experiment->metrics[i].value);
    return out;
}

static json_t *spans_json(const struct study *study, const struct dataset_experiment *experiment)
{
    struct stretch stretch;
    json_t *out = json_array();
    if (!stretch_of(study, experiment, &stretch))
        return out;
    json_t *span = json_object();
    json_object_set_new(span, "attempt", json_integer(experiment->retries + 1));
    json_object_set_new(span, "from_ms", json_finite(stretch.from_ms));
    json_object_set_new(span, "to_ms", json_finite(stretch.to_ms));
    json_object_set_new(span, "outcome", outcome_json(experiment));
    json_array_append_new(out, span);
    return out;
}

static json_t *experiment_json(const struct study *study, const struct dataset_experiment *experiment, size_t number)
{
    json_t *out = json_object();
    json_object_set_new(out, "experiment_id", json_text_or_null(experiment->id));
    json_object_set_new(out, "number", json_integer((json_int_t)number));
    json_object_set_new(out, "mode", json_string(dataset_mode(experiment)));
    json_object_set_new(out, "repository", json_text_or_null(experiment->repo));
    json_object_set_new(out, "model", json_text_or_null(experiment->model));
    json_object_set_new(out, "background", json_text_or_null(experiment->background));
    json_object_set_new(out, "hyperparameters", params_json(experiment));
    json_object_set_new(out, "performance_metrics", metrics_json(experiment));
    json_set_reading(out, "duration_seconds", experiment->duration_s);
    json_object_set_new(out, "retries", json_integer(experiment->retries));
    json_object_set_new(out, "error_message", json_text_or_null(experiment->error));
    json_object_set_new(out, "spans", spans_json(study, experiment));
    json_object_set_new(out, "tare", judged_json(experiment));
    return out;
}

static int compare_stretches(const void *a, const void *b)
{
    const struct stretch *left = a, *right = b;
    return (left->from_ms > right->from_ms) - (left->from_ms < right->from_ms);
}

/* The study wrote no pauses down: what lies between two experiments was waiting, or an attempt before the last one. */
static void add_between(const struct study *study, json_t *run)
{
    const struct dataset *dataset = study->dataset;
    struct stretch *list = mem_array(dataset->count + 1, sizeof *list);
    json_t *pauses = json_array(), *session = json_object();
    size_t count = 0;
    for (size_t i = 0; i < dataset->count; i++)
        if (dataset->items[i].folder == study->folder)
            count += stretch_of(study, &dataset->items[i], &list[count]);
    qsort(list, count, sizeof *list, compare_stretches);
    double end_ms = count ? list[0].to_ms : 0;
    for (size_t i = 1; i < count; i++) {
        if (list[i].from_ms > end_ms) {
            json_t *pause = json_object();
            json_object_set_new(pause, "from_ms", json_finite(end_ms));
            json_object_set_new(pause, "seconds", json_finite((list[i].from_ms - end_ms) / MS_PER_S));
            json_object_set_new(pause, "why", json_string("not_recorded"));
            json_array_append_new(pauses, pause);
        }
        end_ms = list[i].to_ms > end_ms ? list[i].to_ms : end_ms;
    }
    if (count) {
        json_object_set_new(session, "started_ms", json_finite(list[0].from_ms));
        json_object_set_new(session, "ended_ms", json_finite(end_ms));
    }
    json_object_set_new(run, "pauses", pauses);
    json_object_set_new(run, "sessions", json_pack("[o]", session));
    free(list);
}

static json_t *problems_json(const struct study *study)
{
    json_t *out = json_array();
    for (size_t i = 0; i < study->dataset->problem_count; i++)
        if (study->dataset->problems[i].folder == study->folder)
            json_array_append_new(out, json_text_or_null(study->dataset->problems[i].text));
    return out;
}

static json_t *goals_json(const struct dataset *dataset, size_t folder)
{
    json_t *out = json_object();
    for (size_t i = 0; i < dataset->count; i++)
        for (size_t m = 0; dataset->items[i].folder == folder && m < dataset->items[i].metric_count; m++) {
            const char *name = dataset->items[i].metrics[m].name;
            if (!json_object_get(out, name))
                json_object_set_new(out, name, json_text_or_null(goal_name(dataset_goal(dataset, name))));
        }
    return out;
}

json_t *page_study_json(const struct dataset *dataset, size_t folder)
{
    const struct dataset_folder *of = &dataset->folders[folder];
    struct study study = {dataset, folder, of->has_zone ? (double)of->zone_s * MS_PER_S : 0};
    json_t *run = json_object(), *experiments = json_array();
    for (size_t i = 0; i < dataset->count; i++)
        if (dataset->items[i].folder == folder)
            json_array_append_new(experiments,
                                  experiment_json(&study, &dataset->items[i], json_array_size(experiments) + 1));
    json_object_set_new(run, "layout", json_string("study"));
    json_object_set_new(run, "goals", goals_json(dataset, folder));
    json_object_set_new(run, "zone_s", of->has_zone ? json_integer(of->zone_s) : json_null());
    json_object_set_new(run, "problems", problems_json(&study));
    json_object_set_new(run, "experiments", experiments);
    add_between(&study, run);
    return run;
}
