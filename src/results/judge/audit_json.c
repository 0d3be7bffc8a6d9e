#include "results/judge/audit_json.h"
#include "results/judge/account.h"
#include "results/judge/judge_agreement.h"
#include "results/judge/places.h"
#include "results/judge/split.h"
#include "results/store/evidence.h"
#include "results/store/results.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/record.h"
#include "base/text.h"
#include "tare_build.h"

#include <string.h>

static json_t *time_json(bool known, int64_t local_ns)
{
    char text[40];
    if (!known)
        return json_null();
    dataset_format_time(local_ns, text);
    return json_string(text);
}

static json_t *found_evidence_json(const struct dataset_evidence *evidence)
{
    const struct evidence_kind *kind = evidence_find(evidence->kind);
    return json_pack(
        "{s:o, s:s, s:o, s:s?, s:s?, s:o, s:o}", "kind", json_text_or_null(evidence->kind),
        "weight", evidence_weight_name(evidence_weight(evidence->kind)), "text",
        json_text_or_null(evidence->text), "meaning", kind ? kind->meaning : NULL, "remedy",
        kind ? kind->remedy : NULL, "from_s", json_reading_or_null(evidence->from_s), "to_s",
        json_reading_or_null(evidence->to_s));
}

#define GPU(member) RECORD_AS(struct dataset_experiment, #member, gpu.member)
static const struct record_field gpu_fields[] = {
    RECORD_AS(struct dataset_experiment, "recorded_j", recorded[RECORDED_GPU_TOTAL]),
    GPU(samples_sum_j),
    GPU(energy_j),
    GPU(half_width_j),
    GPU(energy_unknown),
    GPU(sensor),
    GPU(source),
    GPU(window_s),
    GPU(window_from),
    GPU(samples),
    GPU(sampled_share),
    GPU(longest_gap_s),
    GPU(power_mean_w),
    GPU(power_min_w),
    GPU(power_max_w),
    GPU(power_cv_within),
    GPU(utilisation_mean_percent),
    GPU(utilisation_max_percent),
    GPU(early_utilisation_percent),
    GPU(idle_share),
    GPU(temperature_start_c),
    GPU(temperature_mean_c),
    GPU(temperature_max_c),
    {0},
};

json_t *audit_checks_json(const struct dataset_experiment *experiment)
{
    json_t *out = json_array();
    EACH (result, experiment->checks, experiment->check_count)
        json_array_append_new(out,
                              json_pack("{s:s, s:s, s:o}", "check", check_kind(result->check)->name,
                                        "outcome", check_outcome_name(result->outcome), "text",
                                        json_text_or_null(result->text)));
    return out;
}

#define EXPERIMENT_IF(known, key, member) RECORD_IF(struct dataset_experiment, known, key, member)
static const struct record_field outcome_fields[] = {
    EXPERIMENT_IF(has_utc_offset, "utc_offset_s", utc_offset_s),
    EXPERIMENT_IF(has_success, "training_success", success),
    RECORD(struct dataset_experiment, duration_s),
    RECORD(struct dataset_experiment, retries),
    {0}};

static json_t *agreement_json(const struct dataset_experiment *experiment)
{
    json_t *reasons = json_object();
    json_set_text(reasons, "row", agreement_reason_text(experiment->row_reason));
    json_t *out = json_pack("{s:s}", "row", agreement_name(experiment->row_agreement));
    for (int i = 0; i < QUANTITIES; i++) {
        const char *name = quantity_name((enum quantity)i);
        json_set_text(out, name, agreement_name(experiment->agreement[i]));
        json_set_text(reasons, name, agreement_reason_text(experiment->agreement_reason[i]));
    }
    json_object_set_new(out, "reasons", reasons);
    return out;
}

/* null: none is given, as of most failures. */
static json_t *verdicts_json(const struct dataset_experiment *experiment)
{
    json_t *out = facts_verdicts_json(&experiment->verdicts);
    if (json_object_size(out) > 0)
        return out;
    json_decref(out);
    return json_null();
}

static json_t *experiment_json(const struct dataset *dataset,
                               const struct dataset_experiment *experiment)
{
    json_t *evidence = json_array(), *metrics = json_object();
    json_t *out = json_pack(
        "{s:o, s:o, s:o, s:o, s:s, s:o, s:o}", "experiment_id", json_text_or_null(experiment->id),
        "folder", json_text_or_null(dataset->folders[experiment->folder].path), "repository",
        json_text_or_null(experiment->repo), "model", json_text_or_null(experiment->model), "mode",
        dataset_mode(experiment), "background", json_text_or_null(experiment->background), "ended",
        time_json(experiment->has_end, experiment->end_local_ns));
    record_set(out, outcome_fields, experiment);
    EACH (metric, experiment->metrics, experiment->metric_count)
        json_set_reading(metrics, metric->name, metric->value);
    json_object_set_new(out, "hyperparameters", dataset_params_json(experiment));
    json_object_set_new(out, "metrics", metrics);
    json_set_text(out, "error", experiment->error);
    json_object_set_new(out, "gpu", record_json(gpu_fields, experiment));
    json_set_reading(out, "cpu_package_j", experiment->cpu_j);
    json_set_reading(out, "cpu_dram_j", experiment->dram_j);
    json_object_set_new(out, "where", places_of_json(experiment));
    json_set_text(out, "verdict", verdict_name(experiment->verdict));
    json_object_set_new(out, "verdicts", verdicts_json(experiment));
    json_object_set_new(out, "consistency", agreement_json(experiment));
    json_object_set_new(out, "checks", audit_checks_json(experiment));
    EACH (item, experiment->evidence, experiment->evidence_count)
        json_array_append_new(evidence, found_evidence_json(item));
    json_object_set_new(out, "evidence", evidence);
    return out;
}

#define ROW(member) RECORD(struct account_row, member)
static const struct record_field row_counts[] = {
    ROW(name), ROW(total), ROW(succeeded), ROW(failed), {0}};
static const struct record_field row_sums[] = {
    ROW(with_energy),
    RECORD_IF(struct account_row, with_energy, "gpu_energy_j", energy_j),
    ROW(duration_s),
    {0}};

static json_t *row_json(const struct account_row *row)
{
    json_t *out = record_json(row_counts, row);
    json_set_reading(out, "success_rate", account_success_rate(row));
    for (int i = VERDICT_CLEAN; i < VERDICTS; i++)
        json_set_count(out, verdict_name((enum verdict)i), row->verdicts[i]);
    record_set(out, row_sums, row);
    return out;
}

static json_t *table_json(const struct account_table *table)
{
    json_t *out = json_array();
    EACH (row, table->rows, table->count)
        json_array_append_new(out, row_json(row));
    return out;
}

static json_t *split_json(const struct account_split *split)
{
    json_t *out = json_object(), *rows = json_array();
    json_object_set_new(out, "automatic", json_boolean(split->automatic));
    json_object_set_new(out, "found", json_boolean(split->found));
    json_object_set_new(out, "at", time_json(split->found, split->at_local_ns));
    if (split->automatic) {
        json_set_text(out, "series", split->series);
        json_object_set_new(out, "p", json_finite(split->p));
    }
    for (size_t i = 0; split->found && i < SPLIT_SIDES; i++)
        json_array_append_new(rows, row_json(&split->rows[i]));
    struct account_row affected = split_affected(split);
    struct reading before = account_success_rate(&split->rows[SPLIT_BEFORE]),
                   after = account_success_rate(&affected);
    json_set_reading(out, "success_rate_drop",
                     (struct reading){before.value - after.value, before.valid && after.valid});
    json_object_set_new(out, "rows", rows);
    json_object_set_new(out, "before", table_json(&split->before));
    json_object_set_new(out, "affected", table_json(&split->affected));
    json_set_count(out, "without_time", split->unknown);
    return out;
}

#define COUNT(key, member) RECORD_AS(struct account_integrity, key, member)
static const struct record_field integrity_fields[] = {
    COUNT("summary_rows", rows),
    COUNT("folders", folders),
    COUNT("folders_without_row", without_row),
    COUNT("rows_without_folder", without_folder),
    COUNT("duplicate_ids", duplicate_ids),
    COUNT("malformed_ids", malformed_ids),
    COUNT("experiments_with_damaged_files", damaged_files),
    COUNT("experiments_without_time", without_end),
    {0},
};

static json_t *integrity_json(const struct dataset *dataset,
                              const struct account_integrity *integrity)
{
    json_t *out = record_json(integrity_fields, integrity), *problems = json_array();
    EACH (problem, dataset->problems, dataset->problem_count) {
        const char *folder = dataset->folders[problem->folder].path;
        json_array_append_new(problems, json_pack("{s:o, s:o}", "folder", json_text_or_null(folder),
                                                  "text", json_text_or_null(problem->text)));
    }
    json_object_set_new(out, "problems", problems);
    return out;
}

static json_t *folders_json(const struct dataset *dataset)
{
    json_t *out = json_array();
    EACH (folder, dataset->folders, dataset->folder_count)
        json_array_append_new(
            out, json_pack("{s:o, s:s, s:o}", "path", json_text_or_null(folder->path), "layout",
                           dataset_layout_name(folder->layout), "utc_offset_s",
                           folder->has_zone ? json_integer(folder->zone_s) : json_null()));
    return out;
}

/* Of each metric how many experiments diverged; those where none did are left out. */
static json_t *not_finite_json(const struct dataset *dataset)
{
    json_t *out = json_object();
    AUTO_STRV struct strv metrics = {0};
    dataset_metrics(dataset, &metrics);
    EACH (item, metrics.items, metrics.count) {
        size_t count = dataset_not_finite(dataset, *item);
        if (count)
            json_set_count(out, *item, count);
    }
    return out;
}

json_t *audit_json(const struct dataset *dataset, const struct account *account)
{
    json_t *experiments = json_array();
    struct places places;
    places_find(dataset, &places);
    json_t *differences = places_json(dataset, &places);
    places_fini(&places);
    EACH (item, dataset->items, dataset->count)
        json_array_append_new(experiments, experiment_json(dataset, item));
    return json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "version",
        TARE_VERSION, "folders", folders_json(dataset), "totals", row_json(&account->all), "split",
        account->split.asked ? split_json(&account->split) : json_null(), "repositories",
        table_json(&account->repositories), "models", table_json(&account->models), "failures",
        table_json(&account->failures), "evidence", table_json(&account->evidence), "differences",
        differences, "timeline", table_json(&account->timeline), "not_finite",
        not_finite_json(dataset), "integrity", integrity_json(dataset, &account->integrity),
        "experiments", experiments);
}

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
    EACH (item, experiment->evidence, experiment->evidence_count) {
        const char *kind = item->kind;
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
    json_set_text(entry, "comment", comment);
    if (experiment->parallel) {
        json_set_text(entry, "mode", "parallel");
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
    EACH (experiment, dataset->items, dataset->count) {
        if (experiment->verdict <= VERDICT_CLEAN)
            continue;
        if (*experiment->repo && *experiment->model &&
            (!experiment->parallel || experiment->background_job))
            json_array_append_new(entries, entry_of(dataset, experiment));
        else if (left_out)
            strv_add(left_out, experiment->id);
    }
    *count = json_array_size(entries);
    return json_pack("{s:s, s:o}", "experiment_name", "repeated", "experiments", entries);
}
