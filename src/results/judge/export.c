#include "results/judge/export.h"
#include "base/fs_path.h"
#include "base/json_print.h"
#include "results/judge/numeric_cell.h"
#include "results/judge/trace.h"
#include "results/store/history.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/csv.h"
#include "base/mem.h"
#include "base/record.h"
#include "results/judge/anonymous.h"
#include "results/judge/judge.h"

#include <fcntl.h>
#include <jansson.h>
#include <string.h>

/* Rows are objects; a table's first one gives the columns of CSV, and all have the same. */
struct export_writer {
    const struct dataset *dataset;
    enum export_format format;
    bool begun, broken;
    struct text *out;
    export_flush_fn *flush;
    void *context;
    struct err *err;
    struct strv params, metrics, best; /* of all experiments, as the first one gives the columns */
};

static void add_cell(struct text *out, const json_t *value, bool exact)
{
    char number[32];
    if (json_is_string(value))
        (exact ? csv_add_exact : csv_add_cell)(out, json_string_value(value));
    else if (json_is_integer(value))
        text_addf(out, "%lld", (long long)json_integer_value(value));
    else if (json_is_boolean(value))
        text_add(out, json_is_true(value) ? "True" : "False");
    else if (json_is_real(value)) {
        number_shortest(json_real_value(value), number);
        text_add(out, number);
    }
}

/* Once there is enough to be worth it. */
static void export_flush(struct export_writer *writer)
{
    enum { ENOUGH = 1 << 20 };
    if (writer->out->length >= ENOUGH && !writer->broken)
        writer->broken = !writer->flush(writer->context, writer->out, writer->err);
    if (writer->out->length >= ENOUGH)
        text_clear(writer->out);
}

/* Takes the row. */
static void export_row(struct export_writer *writer, json_t *row)
{
    const char *key;
    json_t *value;
    size_t column = 0;
    if (writer->dataset->anonymous)
        anonymous_json(writer->dataset->anonymous, row);
    if (writer->format == EXPORT_JSON_LINES) {
        json_print(row, writer->out);
        text_add_char(writer->out, '\n');
        json_decref(row);
        export_flush(writer);
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
        add_cell(writer->out, value, writer->format == EXPORT_EXACT);
    }
    text_add_char(writer->out, '\n');
    json_decref(row);
    export_flush(writer);
}

/* What every table's rows begin with, to be joined by. A new reference. */
static json_t *export_row_of(const struct export_writer *writer,
                             const struct dataset_experiment *experiment)
{
    return json_pack("{s:o, s:o}", "folder",
                     json_text_or_null(writer->dataset->folders[experiment->folder].path),
                     "experiment_id", json_text_or_null(experiment->id));
}

static const size_t file_limit = (size_t)256 << 20; /* tare's: a row a second and device */

struct export_file {
    struct export_writer *writer;
    const struct dataset_experiment *experiment;
    enum samples_file of; /* the study's */
};

static void add_sample(const struct export_file *file, json_t *stamp, const char *device,
                       const char *quantity, struct reading value)
{
    json_t *row = export_row_of(file->writer, file->experiment);
    json_object_set_new(row, "timestamp", stamp);
    json_object_set_new(row, "device", json_string(device));
    json_object_set_new(row, "quantity", json_string(quantity));
    json_set_reading(row, "value", value);
    export_row(file->writer, row);
}

static void each_row(void *at, int64_t t_s, const struct reading values[SAMPLES_COLUMNS])
{
    const struct export_file *file = at;
    for (size_t i = 0; samples_quantity(file->of, i) && !file->writer->broken; i++)
        add_sample(file, json_integer(t_s), "", samples_quantity(file->of, i), values[i]);
}

/* The columns: when, seconds since the start, which device, then figures; what is no figure is left
 * out. */
static void own_file(const struct export_file *file, int energy, const char *name)
{
    AUTO_TEXT struct text text = {0};
    AUTO_STRV struct strv header = {0}, row = {0};
    struct csv_reader reader;
    if (!fs_read_at(energy, name, file_limit, &text, NULL))
        return;
    csv_start(&reader, text_get(&text), text.length);
    if (csv_next(&reader, &header, NULL) <= 0)
        return;
    while (!file->writer->broken && csv_next(&reader, &row, NULL) > 0)
        for (size_t i = 3; i < row.count && i < header.count; i++) {
            struct reading value = {0};
            const char *cell = row.items[i];
            if (numeric_cell_read(cell, cell + strlen(cell), &value.value) == FIGURE_BAD)
                continue;
            value.valid = *cell != '\0';
            add_sample(file, json_string(row.items[0]), row.items[2], header.items[i], value);
        }
}

/* The samples of one experiment, from the study's energy/ files or tare's, one figure a row. */
static void export_samples(struct export_writer *writer,
                           const struct dataset_experiment *experiment)
{
    struct export_file file = {.writer = writer, .experiment = experiment};
    const struct dataset_folder *folder = &writer->dataset->folders[experiment->folder];
    if (!fs_check_name(experiment->id, NULL))
        return; /* its evidence says so */
    AUTO_CLOSE int top = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_CLOSE int dir = top < 0 ? -1 : fs_open_folder_beneath(top, experiment->id);
    AUTO_CLOSE int energy = dir < 0 ? -1 : fs_open_folder_beneath(dir, "energy");
    if (energy < 0)
        return;
    /* What cannot be read is evidence of the experiment already. */
    for (file.of = SAMPLES_POWER; folder->layout == DATASET_STUDY && file.of < SAMPLES_FILES;
         file.of++)
        samples_read(energy, file.of, each_row, &file, NULL);
    if (folder->layout == DATASET_STUDY)
        return;
    own_file(&file, energy, "gpu.csv");
    own_file(&file, energy, "cpu.csv");
}

static const struct {
    const char *name;
    const char *quantities[SAMPLES_COLUMNS];
} files[SAMPLES_FILES] = {
    [SAMPLES_POWER] = {"gpu_power.csv", {"power_draw_w", NULL}},
    [SAMPLES_UTILISATION] = {"gpu_utilization.csv", {"gpu_util_percent", "memory_util_percent"}},
    [SAMPLES_TEMPERATURE] = {"gpu_temperature.csv", {"gpu_temp_c", "memory_temp_c"}},
};

const char *samples_quantity(enum samples_file file, size_t column)
{
    return column < SAMPLES_COLUMNS ? files[file].quantities[column] : NULL;
}

struct reader {
    samples_each_fn *each;
    void *context;
    size_t columns;
};

static void take_rows(void *at, const struct trace_rows *rows)
{
    const struct reader *reader = at;
    for (size_t row = 0; row < rows->count; row++) {
        struct reading values[SAMPLES_COLUMNS] = {0};
        for (size_t i = 0; i < reader->columns; i++)
            values[i] = (struct reading){rows->columns[i].values[row],
                                         rows->columns[i].kinds[row] == FIGURE_IS};
        reader->each(reader->context, rows->t_s[row], values);
    }
}

bool samples_read(int energy, enum samples_file file, samples_each_fn *each, void *context,
                  struct err *err)
{
    AUTO_FREE char *buffer = mem_alloc(TRACE_BUFFER);
    struct trace_file ignored; /* what is wrong with it is evidence of the experiment already */
    struct reader reader = {each, context, files[file].quantities[1] ? 2 : 1};
    return trace_read(energy, files[file].name, reader.columns, buffer, take_rows, &reader,
                      &ignored, err);
}

/* The verdict on each quantity, and which checks failed or could not be made. */
static void add_verdicts(json_t *row, const struct dataset_experiment *experiment)
{
    AUTO_FREE char *checks = checks_compact(experiment->checks, experiment->check_count);
    for (unsigned i = 0; i < QUANTITIES; i++) {
        AUTO_FREE char *name = mem_printf("verdict_%s", quantity_name((enum quantity)i));
        enum verdict verdict = experiment->verdicts.of[i];
        json_set_text(row, name, verdict == VERDICT_NONE ? NULL : verdict_name(verdict));
    }
    json_object_set_new(row, "checks", json_string(checks));
}

static void add_metrics(json_t *row, const struct export_writer *writer,
                        const struct dataset_experiment *experiment, const char *prefix)
{
    EACH (item, writer->metrics.items, writer->metrics.count) {
        AUTO_FREE char *last = mem_printf("%s%s", prefix, *item);
        json_set_reading(row, last, dataset_metric(experiment, *item));
    }
    EACH (entry, writer->best.items, writer->best.count) {
        AUTO_FREE char *best = mem_printf("best_%s", *entry);
        json_set_reading(row, best, dataset_best(experiment, *entry));
    }
}

#define COLUMN(key, member) RECORD_AS(struct dataset_experiment, key, member)
#define GPU(member)         COLUMN("gpu_" #member, gpu.member)
static const struct record_field measured_columns[] = {
    COLUMN("duration_s", duration_s),
    COLUMN("retries", retries),
    COLUMN("gpu_energy_j", gpu.energy_j),
    COLUMN("gpu_energy_half_width_j", gpu.half_width_j),
    COLUMN("gpu_energy_recorded_j", recorded[RECORDED_GPU_TOTAL]),
    GPU(power_mean_w),
    GPU(power_min_w),
    GPU(power_max_w),
    GPU(power_cv_within),
    GPU(utilisation_mean_percent),
    GPU(utilisation_max_percent),
    GPU(temperature_start_c),
    GPU(temperature_mean_c),
    GPU(temperature_max_c),
    GPU(sm_clock_start_mhz),
    GPU(memory_clock_start_mhz),
    GPU(sm_clock_mean_mhz),
    COLUMN("sampled_share", gpu.sampled_share),
    COLUMN("longest_gap_s", gpu.longest_gap_s),
    COLUMN("window_s", gpu.window_s),
    COLUMN("cpu_energy_j", cpu_j),
    COLUMN("dram_energy_j", dram_j),
    COLUMN("gpu_energy_net_j", gpu.net_j),
    COLUMN("gpu_energy_net_half_width_j", gpu.net_half_width_j),
    COLUMN("error", error),
    {0}};

static void add_experiment(json_t *row, const struct dataset_experiment *experiment)
{
    char ended[40], offset[16];
    dataset_format_time(experiment->end_local_ns, ended);
    clock_format_offset(experiment->utc_offset_s, offset);
    json_set_text(row, "repository", experiment->repo);
    json_set_text(row, "model", experiment->model);
    json_object_set_new(row, "mode", json_string(dataset_mode(experiment)));
    json_set_text(row, "ended", experiment->has_end ? ended : NULL);
    json_object_set_new(row, "training_success",
                        experiment->has_success ? json_boolean(experiment->success) : json_null());
    json_set_text(row, "verdict", verdict_name(experiment->verdict));
    record_set(row, measured_columns, experiment);
    json_set_text(row, "utc_offset", experiment->has_utc_offset ? offset : NULL);
    add_verdicts(row, experiment);
}

static void write_experiment(struct export_writer *writer,
                             const struct dataset_experiment *experiment)
{
    json_t *row = export_row_of(writer, experiment);
    add_experiment(row, experiment);
    add_metrics(row, writer, experiment, "perf_");
    export_row(writer, row);
}

/* Every experiment has every column of the table: without a value its cell is empty, never a
 * word. */
static void write_wide(struct export_writer *writer, const struct dataset_experiment *experiment)
{
    const char *folder = writer->dataset->folders[experiment->folder].path;
    AUTO_FREE char *run = fs_basename(folder);
    json_t *row = json_pack("{s:o, s:o, s:o}", "run", json_text_or_null(run), "experiment_id",
                            json_text_or_null(experiment->id), "folder", json_text_or_null(folder));
    add_experiment(row, experiment);
    EACH (item, writer->params.items, writer->params.count) {
        const struct value *value = dataset_param(experiment, *item);
        AUTO_FREE char *column = mem_printf("hyperparam_%s", *item);
        json_t *cell = value ? value_to_json(value) : NULL; /* none of what is no UTF-8 */
        json_object_set_new(row, column, cell ? cell : json_null());
    }
    add_metrics(row, writer, experiment, "metric_");
    export_row(writer, row);
}

static void write_params(struct export_writer *writer, const struct dataset_experiment *experiment)
{
    EACH (param, experiment->params, experiment->param_count) {
        json_t *row = export_row_of(writer, experiment);
        json_set_text(row, "name", param->name);
        json_object_set_new(row, "value", value_to_json(&param->value));
        export_row(writer, row);
    }
}

static void write_metrics(struct export_writer *writer, const struct dataset_experiment *experiment)
{
    EACH (metric, experiment->metrics, experiment->metric_count) {
        json_t *row = export_row_of(writer, experiment);
        json_set_text(row, "name", metric->name);
        enum goal goal = goal_of(metric->goal, metric->name);
        json_set_reading(row, "value", metric->value);
        json_set_reading(row, "best", metric->best);
        json_set_text(row, "goal", goal_name(goal));
        export_row(writer, row);
    }
}

/* What the metrics' patterns matched, of tare's own runs: the study kept the last match alone. */
struct history_rows {
    struct export_writer *writer;
    const char *folder;
    size_t first, end; /* the folder's experiments */
};

/* In the order of the plan, as the points come: what is not there was left out. */
static bool is_of_dataset(const struct history_rows *rows, const struct history_point *point)
{
    const struct dataset *dataset = rows->writer->dataset;
    size_t last = rows->first + point->number - 1,
           low = last > dataset->left_out ? last - dataset->left_out : 0;
    for (size_t i = low > rows->first ? low : rows->first; i <= last && i < rows->end; i++)
        if (strcmp(dataset->items[i].id, point->id) == 0)
            return true;
    return dataset->left_out == 0;
}

static bool add_point(void *context, const struct history_point *point, struct err *err)
{
    const struct history_rows *rows = context;
    (void)err;
    if (!is_of_dataset(rows, point))
        return true;
    export_row(rows->writer,
               json_pack("{s:o, s:o, s:I, s:o, s:o, s:I, s:o, s:o}", "run",
                         json_text_or_null(rows->folder), "id", json_text_or_null(point->id),
                         "attempt", (json_int_t)point->attempt, "metric",
                         json_text_or_null(point->metric), "epoch",
                         point->has_epoch ? json_integer(point->epoch) : json_null(), "step",
                         (json_int_t)point->step, "seconds", json_reading_or_null(point->seconds),
                         "value", json_from_reading(point->value)));
    return !rows->writer->broken;
}

static void write_history(struct export_writer *writer)
{
    const struct dataset *dataset = writer->dataset;
    size_t first = 0;
    for (size_t i = 0, end = 0; i < dataset->folder_count && !writer->broken; i++, first = end) {
        while (end < dataset->count && dataset->items[end].folder == i)
            end++;
        struct history_rows rows = {writer, dataset->folders[i].path, first, end};
        if (dataset->folders[i].layout == DATASET_TARE &&
            !history_each(dataset->folders[i].path, add_point, &rows, writer->err))
            writer->broken = true;
    }
}

static void write_evidence(struct export_writer *writer,
                           const struct dataset_experiment *experiment)
{
    EACH (evidence, experiment->evidence, experiment->evidence_count) {
        json_t *row = export_row_of(writer, experiment);
        json_set_text(row, "kind", evidence->kind);
        json_set_text(row, "weight", evidence_weight_name(evidence_weight(evidence->kind)));
        json_set_reading(row, "from_s", evidence->from_s);
        json_set_reading(row, "to_s", evidence->to_s);
        json_set_text(row, "text", evidence->text);
        export_row(writer, row);
    }
}

static void write_list(struct export_writer *writer, const struct dataset_experiment *experiment,
                       const json_t *list, const char *const *keys)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *row = export_row_of(writer, experiment);
        for (const char *const *key = keys; *key; key++) {
            json_t *value = json_object_get(json_array_get(list, i), *key);
            json_object_set_new(row, *key, value ? json_incref(value) : json_null());
        }
        export_row(writer, row);
    }
}

static const char *const attempt_keys[] = {"attempt",   "outcome", "reason", "duration_s",
                                           "exit_code", "signal",  "error",  NULL};
static const char *const epoch_keys[] = {"name",
                                         "part",
                                         "label",
                                         "start_s",
                                         "end_s",
                                         "duration_s",
                                         "source",
                                         "gpu_energy_j",
                                         "gpu_half_width_j",
                                         "gpu_power_w",
                                         "gpu_mem_peak_mib",
                                         "cpu_energy_j",
                                         "cpu_half_width_j",
                                         "dram_energy_j",
                                         "dram_half_width_j",
                                         "host_mem_peak_mib",
                                         NULL};

/* The study kept its last attempt alone. */
static void write_attempts(struct export_writer *writer,
                           const struct dataset_experiment *experiment)
{
    if (experiment->attempts) {
        write_list(writer, experiment, experiment->attempts, attempt_keys);
        return;
    }
    json_t *list = json_array(), *row = json_object();
    json_object_set_new(row, "attempt", json_integer(experiment->retries + 1));
    if (experiment->has_success)
        json_set_text(row, "outcome", experiment->success ? "succeeded" : "failed");
    json_set_reading(row, "duration_s", experiment->duration_s);
    json_set_text(row, "error", experiment->error);
    json_array_append_new(list, row);
    write_list(writer, experiment, list, attempt_keys);
    json_decref(list);
}

static void write_epochs(struct export_writer *writer, const struct dataset_experiment *experiment)
{
    write_list(writer, experiment, experiment->epochs, epoch_keys);
}

static const struct {
    const char *name;
    /* NULL: by folder */
    void (*write)(struct export_writer *writer, const struct dataset_experiment *experiment);
    const char *head; /* where there is no row; "": there always is one */
} tables[EXPORT_TABLES] = {
    [EXPORT_EXPERIMENTS] = {"experiments", write_experiment, ""},
    [EXPORT_ATTEMPTS] = {"attempts", write_attempts, ""},
    [EXPORT_EPOCHS] =
        {"epochs", write_epochs,
         "folder,experiment_id,name,part,label,start_s,end_s,duration_s,source,gpu_energy_j,"
         "gpu_half_width_j,gpu_power_w,gpu_mem_peak_mib,cpu_energy_j,cpu_half_width_j,dram_energy_"
         "j,"
         "dram_half_width_j,host_mem_peak_mib\n"},
    [EXPORT_HYPERPARAMETERS] = {"hyperparameters", write_params,
                                "folder,experiment_id,name,value\n"},
    [EXPORT_METRICS] = {"metrics", write_metrics, "folder,experiment_id,name,value,best,goal\n"},
    [EXPORT_HISTORY] = {"history", NULL, "run,id,attempt,metric,epoch,step,seconds,value\n"},
    [EXPORT_EVIDENCE] = {"evidence", write_evidence,
                         "folder,experiment_id,kind,weight,from_s,to_s,text\n"},
    [EXPORT_SAMPLES] = {"samples", export_samples,
                        "folder,experiment_id,timestamp,device,quantity,value\n"},
    [EXPORT_WIDE] = {"wide", write_wide, ""},
};

const char *export_table_name(enum export_table table)
{
    return tables[table].name;
}

bool export_make(const struct dataset *dataset, enum export_table table, enum export_format format,
                 export_flush_fn *flush, void *context, struct err *err)
{
    AUTO_TEXT struct text text = {0};
    struct export_writer writer = {.dataset = dataset,
                                   .format = format,
                                   .out = &text,
                                   .flush = flush,
                                   .context = context,
                                   .err = err};
    dataset_metrics(dataset, &writer.metrics);
    dataset_best_metrics(dataset, &writer.best);
    if (table == EXPORT_HISTORY)
        write_history(&writer);
    EACH (item, dataset->items, dataset->count)
        EACH (param, item->params, item->param_count)
            strv_add_once(&writer.params, param->name);
    for (size_t i = 0; tables[table].write && i < dataset->count && !writer.broken; i++)
        tables[table].write(&writer, &dataset->items[i]);
    /* A table without rows still says what its columns are. */
    if (format != EXPORT_JSON_LINES && !writer.begun)
        text_add(&text, tables[table].head);
    strv_fini(&writer.params);
    strv_fini(&writer.metrics);
    strv_fini(&writer.best);
    return !writer.broken && flush(context, &text, err);
}
