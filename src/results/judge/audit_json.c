#include "results/judge/audit_json.h"

#include "results/judge/places.h"

#include "base/json.h"
#include "tare_build.h"

static json_t *time_json(bool known, int64_t local_ns)
{
    char text[40];
    if (!known)
        return json_null();
    dataset_format_time(local_ns, text);
    return json_string(text);
}

static json_t *evidence_json(const struct dataset_evidence *evidence)
{
    const struct evidence_kind *kind = evidence_find(evidence->kind);
    json_t *out = json_object();
    json_object_set_new(out, "kind", json_text_or_null(evidence->kind));
    json_object_set_new(out, "weight", json_string(evidence_weight_name(evidence_weight(evidence->kind))));
    json_object_set_new(out, "text", json_text_or_null(evidence->text));
    json_object_set_new(out, "meaning", json_text_or_null(kind ? kind->meaning : NULL));
    json_object_set_new(out, "remedy", json_text_or_null(kind ? kind->remedy : NULL));
    json_set_reading(out, "from_s", evidence->from_s);
    json_set_reading(out, "to_s", evidence->to_s);
    return out;
}

static json_t *gpu_json(const struct dataset_experiment *experiment)
{
    const struct dataset_gpu *gpu = &experiment->gpu;
    json_t *out = json_object();
    json_set_reading(out, "recorded_j", experiment->recorded[RECORDED_GPU_TOTAL]);
    json_set_reading(out, "samples_sum_j", gpu->samples_sum_j);
    json_set_reading(out, "energy_j", gpu->energy_j);
    json_set_reading(out, "half_width_j", gpu->half_width_j);
    json_object_set_new(out, "source", json_text_or_null(gpu->source));
    json_set_reading(out, "window_s", gpu->window_s);
    json_object_set_new(out, "window_from", json_text_or_null(gpu->window_from));
    json_set_count(out, "samples", gpu->samples);
    json_set_reading(out, "sampled_share", gpu->sampled_share);
    json_set_reading(out, "longest_gap_s", gpu->longest_gap_s);
    json_set_reading(out, "power_mean_w", gpu->power_mean_w);
    json_set_reading(out, "power_min_w", gpu->power_min_w);
    json_set_reading(out, "power_max_w", gpu->power_max_w);
    json_set_reading(out, "power_cv_within", gpu->power_cv_within);
    json_set_reading(out, "utilisation_mean_percent", gpu->utilisation_mean_percent);
    json_set_reading(out, "utilisation_max_percent", gpu->utilisation_max_percent);
    json_set_reading(out, "early_utilisation_percent", gpu->early_utilisation_percent);
    json_set_reading(out, "idle_share", gpu->idle_share);
    json_set_reading(out, "temperature_start_c", gpu->temperature_start_c);
    json_set_reading(out, "temperature_mean_c", gpu->temperature_mean_c);
    json_set_reading(out, "temperature_max_c", gpu->temperature_max_c);
    return out;
}

json_t *audit_verdicts_json(const struct verdicts *verdicts)
{
    json_t *out = json_object();
    for (int i = 0; i < QUANTITIES; i++)
        if (verdicts->of[i] != VERDICT_NONE)
            json_object_set_new(out, quantity_name((enum quantity)i), json_string(verdict_name(verdicts->of[i])));
    return out;
}

json_t *audit_checks_json(const struct dataset_experiment *experiment)
{
    json_t *out = json_array();
    for (size_t i = 0; i < experiment->check_count; i++) {
        const struct check_result *result = &experiment->checks[i];
        json_t *row = json_object();
        json_object_set_new(row, "check", json_string(check_kind(result->check)->name));
        json_object_set_new(row, "outcome", json_string(check_outcome_name(result->outcome)));
        json_object_set_new(row, "text", json_text_or_null(result->text));
        json_array_append_new(out, row);
    }
    return out;
}

static json_t *experiment_json(const struct dataset *dataset, const struct dataset_experiment *experiment)
{
    json_t *out = json_object(), *evidence = json_array(), *params = json_object(), *metrics = json_object();
    json_object_set_new(out, "experiment_id", json_text_or_null(experiment->id));
    json_object_set_new(out, "folder", json_text_or_null(dataset->folders[experiment->folder].path));
    json_object_set_new(out, "repository", json_text_or_null(experiment->repo));
    json_object_set_new(out, "model", json_text_or_null(experiment->model));
    json_object_set_new(out, "mode", json_string(dataset_mode(experiment)));
    json_object_set_new(out, "background", json_text_or_null(experiment->background));
    json_object_set_new(out, "ended", time_json(experiment->has_end, experiment->end_local_ns));
    json_object_set_new(out, "utc_offset_s",
                        experiment->has_utc_offset ? json_integer(experiment->utc_offset_s) : json_null());
    json_object_set_new(out, "training_success",
                        experiment->has_success ? json_boolean(experiment->success) : json_null());
    json_set_reading(out, "duration_s", experiment->duration_s);
    json_object_set_new(out, "retries", json_integer(experiment->retries));
    for (size_t i = 0; i < experiment->param_count; i++)
        json_object_set_new(params, experiment->params[i].name, value_to_json(&experiment->params[i].value));
    for (size_t i = 0; i < experiment->metric_count; i++)
        json_set_reading(metrics, experiment->metrics[i].name, experiment->metrics[i].value);
    json_object_set_new(out, "hyperparameters", params);
    json_object_set_new(out, "metrics", metrics);
    json_object_set_new(out, "error", json_text_or_null(experiment->error));
    json_object_set_new(out, "gpu", gpu_json(experiment));
    json_set_reading(out, "cpu_package_j", experiment->cpu_j);
    json_set_reading(out, "cpu_dram_j", experiment->dram_j);
    json_object_set_new(out, "where", places_of_json(experiment));
    json_object_set_new(out, "verdict", json_string(verdict_name(experiment->verdict)));
    json_object_set_new(out, "verdicts", audit_verdicts_json(&experiment->verdicts));
    json_object_set_new(out, "checks", audit_checks_json(experiment));
    for (size_t i = 0; i < experiment->evidence_count; i++)
        json_array_append_new(evidence, evidence_json(&experiment->evidence[i]));
    json_object_set_new(out, "evidence", evidence);
    return out;
}

static json_t *row_json(const struct account_row *row)
{
    json_t *out = json_object();
    json_object_set_new(out, "name", json_text_or_null(row->name));
    json_set_count(out, "total", row->total);
    json_set_count(out, "succeeded", row->succeeded);
    json_set_count(out, "failed", row->failed);
    json_set_reading(out, "success_rate", account_success_rate(row));
    for (int i = VERDICT_CLEAN; i < VERDICTS; i++)
        json_set_count(out, verdict_name((enum verdict)i), row->verdicts[i]);
    json_set_count(out, "with_energy", row->with_energy);
    json_object_set_new(out, "gpu_energy_j", row->with_energy ? json_real(row->energy_j) : json_null());
    json_object_set_new(out, "duration_s", json_real(row->duration_s));
    return out;
}

static json_t *table_json(const struct account_table *table)
{
    json_t *out = json_array();
    for (size_t i = 0; i < table->count; i++)
        json_array_append_new(out, row_json(&table->rows[i]));
    return out;
}

static json_t *split_json(const struct account_split *split)
{
    json_t *out = json_object(), *rows = json_array();
    json_object_set_new(out, "automatic", json_boolean(split->automatic));
    json_object_set_new(out, "found", json_boolean(split->found));
    json_object_set_new(out, "at", time_json(split->found, split->at_local_ns));
    if (split->automatic) {
        json_object_set_new(out, "series", json_text_or_null(split->series));
        json_object_set_new(out, "p", json_real(split->p));
    }
    for (size_t i = 0; split->found && i < 3; i++)
        json_array_append_new(rows, row_json(&split->rows[i]));
    json_object_set_new(out, "rows", rows);
    json_set_count(out, "without_time", split->unknown);
    return out;
}

static json_t *integrity_json(const struct dataset *dataset, const struct account_integrity *integrity)
{
    json_t *out = json_object(), *problems = json_array();
    json_set_count(out, "summary_rows", integrity->rows);
    json_set_count(out, "folders", integrity->folders);
    json_set_count(out, "folders_without_row", integrity->without_row);
    json_set_count(out, "rows_without_folder", integrity->without_folder);
    json_set_count(out, "duplicate_ids", integrity->duplicate_ids);
    json_set_count(out, "malformed_ids", integrity->malformed_ids);
    json_set_count(out, "experiments_with_damaged_files", integrity->damaged_files);
    json_set_count(out, "experiments_without_time", integrity->without_end);
    for (size_t i = 0; i < dataset->problem_count; i++) {
        json_t *problem = json_object();
        json_object_set_new(problem, "folder", json_text_or_null(dataset->folders[dataset->problems[i].folder].path));
        json_object_set_new(problem, "text", json_text_or_null(dataset->problems[i].text));
        json_array_append_new(problems, problem);
    }
    json_object_set_new(out, "problems", problems);
    return out;
}

static json_t *records_json(const struct records_report *records)
{
    json_t *out = json_object();
    const char *changed = records->changed.length ? text_get(&records->changed) : NULL;
    json_object_set_new(out, "state", json_string(records_state_name(records->state)));
    json_object_set_new(out, "count", json_integer(records->count));
    json_object_set_new(out, "not_chained", json_integer(records->unchained));
    json_object_set_new(out, "last_hash", json_text_or_null(*records->last_hash ? records->last_hash : NULL));
    json_object_set_new(out, "changed", json_text_or_null(changed));
    return out;
}

static json_t *folders_json(const struct dataset *dataset)
{
    json_t *out = json_array();
    for (size_t i = 0; i < dataset->folder_count; i++) {
        const struct dataset_folder *folder = &dataset->folders[i];
        json_t *row = json_object();
        json_object_set_new(row, "path", json_text_or_null(folder->path));
        json_object_set_new(row, "layout", json_string(folder->layout == DATASET_TARE ? TARE_NAME : "study"));
        json_object_set_new(row, "utc_offset_s", folder->has_zone ? json_integer(folder->zone_s) : json_null());
        json_object_set_new(row, "records", folder->records ? records_json(folder->records) : json_null());
        json_array_append_new(out, row);
    }
    return out;
}

static json_t *differences_json(const struct dataset *dataset)
{
    struct places places;
    places_find(dataset, &places);
    json_t *out = places_json(dataset, &places);
    places_fini(&places);
    return out;
}

/* Of each metric how many experiments diverged; those where none did are left out. */
static json_t *not_finite_json(const struct dataset *dataset)
{
    json_t *out = json_object();
    AUTO_STRV struct strv metrics = {0};
    dataset_metrics(dataset, &metrics);
    for (size_t i = 0; i < metrics.count; i++) {
        size_t count = dataset_not_finite(dataset, metrics.items[i]);
        if (count)
            json_set_count(out, metrics.items[i], count);
    }
    return out;
}

json_t *audit_json(const struct dataset *dataset, const struct account *account)
{
    json_t *out = json_object(), *experiments = json_array();
    json_object_set_new(out, "version", json_string(TARE_VERSION));
    json_object_set_new(out, "folders", folders_json(dataset));
    json_object_set_new(out, "totals", row_json(&account->all));
    json_object_set_new(out, "split", account->split.asked ? split_json(&account->split) : json_null());
    json_object_set_new(out, "repositories", table_json(&account->repositories));
    json_object_set_new(out, "models", table_json(&account->models));
    json_object_set_new(out, "failures", table_json(&account->failures));
    json_object_set_new(out, "evidence", table_json(&account->evidence));
    json_object_set_new(out, "differences", differences_json(dataset));
    json_object_set_new(out, "timeline", table_json(&account->timeline));
    json_object_set_new(out, "not_finite", not_finite_json(dataset));
    json_object_set_new(out, "integrity", integrity_json(dataset, &account->integrity));
    for (size_t i = 0; i < dataset->count; i++)
        json_array_append_new(experiments, experiment_json(dataset, &dataset->items[i]));
    json_object_set_new(out, "experiments", experiments);
    return out;
}
