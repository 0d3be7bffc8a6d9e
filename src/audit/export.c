#include "audit/export.h"

#include "audit/audit_json.h"
#include "base/csv.h"
#include "base/json.h"

static const char *const table_names[EXPORT_TABLES] = {"experiments", "hyperparameters", "metrics", "evidence"};

const char *export_table_name(enum export_table table)
{
    return table_names[table];
}

/* Rows are objects; a table's first one gives the columns of CSV, and all have the same. */
struct writer {
    bool json_lines, begun;
    struct text *out;
};

static void add_cell(struct text *out, const json_t *value)
{
    char number[32];
    if (json_is_string(value))
        csv_add_cell(out, json_string_value(value));
    else if (json_is_integer(value))
        text_addf(out, "%lld", (long long)json_integer_value(value));
    else if (json_is_boolean(value))
        text_add(out, json_is_true(value) ? "True" : "False");
    else if (json_is_real(value)) {
        number_shortest(json_real_value(value), number);
        text_add(out, number);
    }
}

/* Takes the row. */
static void write_row(struct writer *writer, json_t *row)
{
    const char *key;
    json_t *value;
    size_t column = 0;
    if (writer->json_lines) {
        json_print(row, writer->out);
        text_add_char(writer->out, '\n');
        json_decref(row);
        return;
    }
    json_object_foreach(row, key, value) if (!writer->begun)
    {
        text_add(writer->out, column++ ? "," : "");
        csv_add_cell(writer->out, key);
    }
    if (!writer->begun)
        text_add_char(writer->out, '\n');
    writer->begun = true;
    column = 0;
    json_object_foreach(row, key, value)
    {
        text_add(writer->out, column++ ? "," : "");
        add_cell(writer->out, value);
    }
    text_add_char(writer->out, '\n');
    json_decref(row);
}

static void set(json_t *row, const char *key, struct reading reading)
{
    json_object_set_new(row, key, audit_json_reading(reading));
}

/* What every table's rows begin with, to be joined by. */
static json_t *row_of(const struct dataset *dataset, const struct dataset_experiment *experiment)
{
    json_t *row = json_object();
    json_object_set_new(row, "folder", json_text_or_null(dataset->folders[experiment->folder].path));
    json_object_set_new(row, "experiment_id", json_text_or_null(experiment->id));
    return row;
}

static void write_experiment(struct writer *writer, const struct dataset *dataset,
                             const struct dataset_experiment *experiment)
{
    json_t *row = row_of(dataset, experiment);
    char ended[40];
    dataset_format_time(experiment->end_local_ns, ended);
    json_object_set_new(row, "repository", json_text_or_null(experiment->repo));
    json_object_set_new(row, "model", json_text_or_null(experiment->model));
    json_object_set_new(row, "mode", json_string(experiment->parallel ? "parallel" : "sequential"));
    json_object_set_new(row, "ended", json_text_or_null(experiment->has_end ? ended : NULL));
    json_object_set_new(row, "training_success",
                        experiment->has_success ? json_boolean(experiment->success) : json_null());
    json_object_set_new(row, "verdict", json_string(verdict_name(experiment->verdict)));
    set(row, "duration_s", experiment->duration_s);
    json_object_set_new(row, "retries", json_integer(experiment->retries));
    set(row, "gpu_energy_j", experiment->gpu.energy_j);
    set(row, "gpu_energy_half_width_j", experiment->gpu.half_width_j);
    set(row, "gpu_energy_recorded_j", experiment->recorded[RECORDED_GPU_TOTAL]);
    set(row, "gpu_power_mean_w", experiment->gpu.power_mean_w);
    set(row, "gpu_power_min_w", experiment->gpu.power_min_w);
    set(row, "gpu_power_max_w", experiment->gpu.power_max_w);
    set(row, "gpu_power_cv_within", experiment->gpu.power_cv_within);
    set(row, "gpu_utilisation_mean_percent", experiment->gpu.utilisation_mean_percent);
    set(row, "gpu_utilisation_max_percent", experiment->gpu.utilisation_max_percent);
    set(row, "gpu_temperature_start_c", experiment->gpu.temperature_start_c);
    set(row, "gpu_temperature_mean_c", experiment->gpu.temperature_mean_c);
    set(row, "gpu_temperature_max_c", experiment->gpu.temperature_max_c);
    set(row, "sampled_share", experiment->gpu.sampled_share);
    set(row, "longest_gap_s", experiment->gpu.longest_gap_s);
    set(row, "window_s", experiment->gpu.window_s);
    set(row, "cpu_energy_j", experiment->cpu_j);
    set(row, "dram_energy_j", experiment->dram_j);
    json_object_set_new(row, "error", json_text_or_null(experiment->error));
    write_row(writer, row);
}

static void write_params(struct writer *writer, const struct dataset *dataset,
                         const struct dataset_experiment *experiment)
{
    for (size_t i = 0; i < experiment->param_count; i++) {
        json_t *row = row_of(dataset, experiment);
        json_object_set_new(row, "name", json_text_or_null(experiment->params[i].name));
        json_object_set_new(row, "value", value_to_json(&experiment->params[i].value));
        write_row(writer, row);
    }
}

static void write_metrics(struct writer *writer, const struct dataset *dataset,
                          const struct dataset_experiment *experiment)
{
    for (size_t i = 0; i < experiment->metric_count; i++) {
        json_t *row = row_of(dataset, experiment);
        json_object_set_new(row, "name", json_text_or_null(experiment->metrics[i].name));
        set(row, "value", experiment->metrics[i].value);
        write_row(writer, row);
    }
}

static void write_evidence(struct writer *writer, const struct dataset *dataset,
                           const struct dataset_experiment *experiment)
{
    for (size_t i = 0; i < experiment->evidence_count; i++) {
        const struct dataset_evidence *evidence = &experiment->evidence[i];
        json_t *row = row_of(dataset, experiment);
        json_object_set_new(row, "kind", json_text_or_null(evidence->kind));
        json_object_set_new(row, "weight", json_string(evidence_weight_name(evidence_weight(evidence->kind))));
        set(row, "from_s", evidence->from_s);
        set(row, "to_s", evidence->to_s);
        json_object_set_new(row, "text", json_text_or_null(evidence->text));
        write_row(writer, row);
    }
}

void export_make(const struct dataset *dataset, enum export_table table, bool json_lines, struct text *out)
{
    typedef void write_fn(struct writer * writer, const struct dataset *dataset,
                          const struct dataset_experiment *experiment);
    static write_fn *const writers[EXPORT_TABLES] = {write_experiment, write_params, write_metrics, write_evidence};
    static const char *const heads[EXPORT_TABLES] = {"", "folder,experiment_id,name,value\n",
                                                     "folder,experiment_id,name,value\n",
                                                     "folder,experiment_id,kind,weight,from_s,to_s,text\n"};
    struct writer writer = {.json_lines = json_lines, .out = out};
    for (size_t i = 0; i < dataset->count; i++)
        writers[table](&writer, dataset, &dataset->items[i]);
    /* A table without rows still says what its columns are. */
    if (!json_lines && !writer.begun)
        text_add(out, heads[table]);
}
