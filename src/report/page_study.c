/* A folder in the study's layout as the page's JSON: what store/ gives of tare's own runs, as far
 * as the study knew it. */
#include "base/json.h"
#include "base/mem.h"
#include "base/record.h"
#include "report/page.h"
#include "results/judge/audit_json.h"
#include "results/store/results.h"

#include <stdlib.h>

static const double MS_PER_S = 1000, MS_PER_NS = 1e-6;

struct study {
    const struct dataset *dataset;
    double zone_ms; /* local time is this much ahead of UTC */
};

/* From when to when the last attempt ran, in milliseconds since 1970. */
struct stretch {
    double from_ms, to_ms;
};

static bool stretch_of(const struct study *study, const struct dataset_experiment *experiment,
                       struct stretch *out)
{
    if (!experiment->has_end || !experiment->duration_s.valid || experiment->duration_s.value < 0)
        return false;
    out->to_ms = (double)experiment->end_local_ns * MS_PER_NS - study->zone_ms;
    out->from_ms = out->to_ms - experiment->duration_s.value * MS_PER_S;
    return true;
}

static json_t *study_outcome_json(const struct dataset_experiment *experiment)
{
    return json_text_or_null(!experiment->has_success ? NULL
                             : experiment->success    ? "succeeded"
                                                      : "failed");
}

#define GPU(member) RECORD(struct dataset_gpu, member)
static const struct record_field gpu_fields[] = {
    GPU(half_width_j),
    GPU(power_min_w),
    GPU(power_max_w),
    GPU(power_cv_within),
    GPU(temperature_start_c),
    GPU(temperature_mean_c),
    GPU(temperature_max_c),
    GPU(utilisation_mean_percent),
    GPU(utilisation_max_percent),
    RECORD_AS(struct dataset_gpu, "covered_share", sampled_share),
    GPU(longest_gap_s),
    {0}};

static json_t *study_gpu_json(const struct dataset_experiment *experiment)
{
    json_t *out = record_json(gpu_fields, &experiment->gpu);
    json_set_reading(out, "joules", dataset_energy(experiment));
    json_set_reading(out, "recorded_j", experiment->recorded[RECORDED_GPU_TOTAL]);
    json_set_reading(out, "power_mean_w", dataset_power(experiment));
    return out;
}

static json_t *study_evidence_json(const struct dataset_experiment *experiment)
{
    static const struct record_field fields[] = {RECORD(struct dataset_evidence, kind),
                                                 RECORD(struct dataset_evidence, text),
                                                 RECORD(struct dataset_evidence, from_s),
                                                 RECORD(struct dataset_evidence, to_s),
                                                 {0}};
    json_t *out = record_list_json(fields, experiment->evidence, experiment->evidence_count,
                                   sizeof *experiment->evidence);
    for (size_t i = 0; i < experiment->evidence_count; i++)
        json_set_text(json_array_get(out, i), "weight",
                      evidence_weight_name(evidence_weight(experiment->evidence[i].kind)));
    return out;
}

/* What stands under "tare" in tare's own. The study kept its last attempt alone. */
static json_t *judged_json(const struct dataset_experiment *experiment)
{
    json_t *energy = json_pack("{s:o, s:{s:o}, s:{s:o}}", "gpu", study_gpu_json(experiment),
                               "cpu_package", "joules", json_reading_or_null(experiment->cpu_j),
                               "dram", "joules", json_reading_or_null(experiment->dram_j));
    json_t *attempt =
        json_pack("{s:I, s:o, s:o, s:o}", "number", (json_int_t)experiment->retries + 1, "outcome",
                  study_outcome_json(experiment), "duration_seconds",
                  json_reading_or_null(experiment->duration_s), "error",
                  json_text_or_null(experiment->error));
    return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:[o]}", "outcome",
                     study_outcome_json(experiment), "verdict", verdict_name(experiment->verdict),
                     "energy", energy, "verdicts", facts_verdicts_json(&experiment->verdicts),
                     "checks", audit_checks_json(experiment), "evidence",
                     study_evidence_json(experiment), "attempts", attempt);
}

static json_t *study_params_json(const struct dataset_experiment *experiment)
{
    json_t *out = json_object();
    EACH (param, experiment->params, experiment->param_count)
        json_object_set_new(out, param->name, value_to_json(&param->value));
    return out;
}

static json_t *study_metrics_json(const struct dataset_experiment *experiment)
{
    json_t *out = json_object();
    EACH (metric, experiment->metrics, experiment->metric_count)
        json_set_reading(out, metric->name, metric->value);
    return out;
}

static json_t *study_spans_json(const struct study *study,
                                const struct dataset_experiment *experiment)
{
    struct stretch stretch;
    if (!stretch_of(study, experiment, &stretch))
        return json_array();
    return json_pack("[{s:I, s:o, s:o, s:o}]", "attempt", (json_int_t)experiment->retries + 1,
                     "from_ms", json_finite(stretch.from_ms), "to_ms", json_finite(stretch.to_ms),
                     "outcome", study_outcome_json(experiment));
}

static json_t *study_experiment_json(const struct study *study,
                                     const struct dataset_experiment *experiment, size_t number)
{
    static const struct record_field fields[] = {
        RECORD_AS(struct dataset_experiment, "experiment_id", id),
        RECORD_AS(struct dataset_experiment, "repository", repo),
        RECORD(struct dataset_experiment, model),
        RECORD(struct dataset_experiment, background),
        RECORD_AS(struct dataset_experiment, "duration_seconds", duration_s),
        RECORD(struct dataset_experiment, retries),
        RECORD_AS(struct dataset_experiment, "error_message", error),
        {0}};
    json_t *out = record_json(fields, experiment);
    json_set_count(out, "number", number);
    json_object_set_new(out, "mode", json_string(dataset_mode(experiment)));
    json_object_set_new(out, "hyperparameters", study_params_json(experiment));
    json_object_set_new(out, "performance_metrics", study_metrics_json(experiment));
    json_object_set_new(out, "spans", study_spans_json(study, experiment));
    json_object_set_new(out, "tare", judged_json(experiment));
    return out;
}

static int compare_stretches(const void *a, const void *b)
{
    const struct stretch *left = a, *right = b;
    return ORDER(left->from_ms, right->from_ms);
}

/* The study wrote no pauses down: what lies between two experiments was waiting, or an attempt
 * before the last one. */
static void add_between(const struct study *study, json_t *run)
{
    const struct dataset *dataset = study->dataset;
    struct stretch *list = mem_array(dataset->count + 1, sizeof *list);
    json_t *pauses = json_array(), *session = json_object();
    size_t count = 0;
    EACH (item, dataset->items, dataset->count)
        count += stretch_of(study, item, &list[count]);
    qsort(list, count, sizeof *list, compare_stretches);
    double end_ms = count ? list[0].to_ms : 0;
    for (size_t i = 1; i < count; i++) {
        if (list[i].from_ms > end_ms)
            json_array_append_new(
                pauses, json_pack("{s:o, s:o, s:s}", "from_ms", json_finite(end_ms), "seconds",
                                  json_finite((list[i].from_ms - end_ms) / MS_PER_S), "why",
                                  "not_recorded"));
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

static json_t *problems_json(const struct dataset *dataset)
{
    json_t *out = json_array();
    EACH (problem, dataset->problems, dataset->problem_count)
        json_array_append_new(out, json_text_or_null(problem->text));
    return out;
}

static json_t *study_goals_json(const struct dataset *dataset)
{
    json_t *out = json_object();
    EACH (item, dataset->items, dataset->count)
        EACH (metric, item->metrics, item->metric_count) {
            const char *name = metric->name;
            if (!json_object_get(out, name))
                json_set_text(out, name, goal_name(dataset_goal(dataset, name)));
        }
    return out;
}

json_t *page_study_json(const struct dataset *dataset)
{
    const struct dataset_folder *of = dataset->folders;
    struct study study = {dataset, of->has_zone ? (double)of->zone_s * MS_PER_S : 0};
    json_t *run = json_object(), *experiments = json_array();
    for (size_t i = 0; i < dataset->count; i++)
        json_array_append_new(experiments,
                              study_experiment_json(&study, &dataset->items[i], i + 1));
    json_set_text(run, "layout", "study");
    json_object_set_new(run, "goals", study_goals_json(dataset));
    json_object_set_new(run, "zone_s", of->has_zone ? json_integer(of->zone_s) : json_null());
    json_object_set_new(run, "problems", problems_json(dataset));
    json_object_set_new(run, "experiments", experiments);
    add_between(&study, run);
    return run;
}
