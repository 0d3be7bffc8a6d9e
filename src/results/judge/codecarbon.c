#include "results/judge/codecarbon.h"
#include "results/judge/numeric_cell.h"
#include "results/judge/study_json.h"

#include "base/csv.h"
#include "base/fs.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const size_t file_limit = (size_t)256 << 20;
static const double joules_per_kwh = 3.6e6;
static const struct reading none = {0};

/* The cells that are read. */
/* clang-format off */
#define CELLS_OF(X) \
    X(RUN_ID, "run_id") \
    X(EXPERIMENT_ID, "experiment_id") /* what version 1 called the run */ \
    X(TIMESTAMP, "timestamp") \
    X(PROJECT, "project_name") \
    X(DURATION, "duration") \
    X(EMISSIONS, "emissions") \
    X(CPU_ENERGY, "cpu_energy") X(GPU_ENERGY, "gpu_energy") X(RAM_ENERGY, "ram_energy") \
    X(ENERGY, "energy_consumed") X(WATER, "water_consumed") \
    X(CPU_MODEL, "cpu_model") X(GPU_COUNT, "gpu_count") X(GPU_MODEL, "gpu_model") \
    X(TRACKING_MODE, "tracking_mode") X(VERSION, "codecarbon_version")
/* clang-format on */
#define CELL_CONSTANT(name, key) CELL_##name,
#define CELL_NAME(name, key)     key,
enum cell { CELLS_OF(CELL_CONSTANT) CELLS };
static const char *const cell_names[CELLS] = {CELLS_OF(CELL_NAME)};

struct row {
    const char *cells[CELLS]; /* "" where there is none */
    size_t line;
    bool shifted; /* it has fewer or more cells than the header */
};

/* A number that cannot be below zero, and is counted in this unit. */
static struct reading amount(struct dataset_experiment *experiment, const struct row *row,
                             enum cell cell, double unit)
{
    struct reading out = {0};
    const char *text = row->cells[cell];
    enum numeric_cell_kind kind = numeric_cell_read(text, text + strlen(text), &out.value);
    out.valid = kind == FIGURE_IS && out.value >= 0;
    out.value *= unit;
    if (kind == FIGURE_BAD || (kind == FIGURE_IS && !out.valid))
        dataset_evidence(experiment, "value_impossible",
                         "%s in line %zu of emissions.csv is '%.60s'", cell_names[cell], row->line,
                         text);
    return out;
}

/* Energies of parts that were not measured at all are written as 0. */
static struct reading part(struct reading energy, const char *hardware)
{
    bool absent = *hardware == '\0' || strcmp(hardware, "0") == 0 || strcmp(hardware, "0.0") == 0;
    return energy.valid && energy.value <= 0 && absent ? none : energy;
}

/* Totals are figures of the row as its results are. */
static void take_total(struct dataset_experiment *experiment, const char *name,
                       struct reading value)
{
    if (value.valid)
        study_metric_set(experiment, name, value)->goal = GOAL_MINIMIZE;
}

static void take_energy(struct dataset_experiment *experiment, const struct row *row)
{
    struct reading gpu = amount(experiment, row, CELL_GPU_ENERGY, joules_per_kwh);
    struct reading cpu = amount(experiment, row, CELL_CPU_ENERGY, joules_per_kwh);
    struct reading ram = amount(experiment, row, CELL_RAM_ENERGY, joules_per_kwh);
    struct reading all = amount(experiment, row, CELL_ENERGY, joules_per_kwh);
    double sum = gpu.value + cpu.value + ram.value;
    if (all.valid && gpu.valid && cpu.valid && ram.valid &&
        fabs(all.value - sum) > 0.01 + 1e-3 * fabs(all.value))
        dataset_evidence(
            experiment, "values_differ",
            "energy_consumed in line %zu of emissions.csv is %.8g J, its parts add up to %.8g J",
            row->line, all.value, sum);
    if (!all.valid)
        dataset_evidence(experiment, "value_missing",
                         "there is no energy_consumed in line %zu of emissions.csv", row->line);
    experiment->gpu.energy_j = part(gpu, row->cells[CELL_GPU_COUNT]);
    experiment->cpu_j = part(cpu, row->cells[CELL_CPU_MODEL]);
    experiment->dram_j = ram;
    if (experiment->gpu.energy_j.valid) {
        experiment->gpu.source = experiment->gpu.window_from = "codecarbon";
        experiment->gpu.window_s = experiment->duration_s;
        if (experiment->duration_s.valid && experiment->duration_s.value > 0)
            experiment->gpu.power_mean_w = (struct reading){
                experiment->gpu.energy_j.value / experiment->duration_s.value, true};
    }
    experiment->recorded[RECORDED_GPU_TOTAL] = experiment->gpu.energy_j;
    experiment->recorded[RECORDED_CPU_PACKAGE] = experiment->cpu_j;
    experiment->recorded[RECORDED_CPU_RAM] = experiment->dram_j;
    all.value /= joules_per_kwh;
    take_total(experiment, "energy_consumed_kwh", all);
    take_total(experiment, "emissions_kg_co2e", amount(experiment, row, CELL_EMISSIONS, 1));
    take_total(experiment, "water_consumed_l", amount(experiment, row, CELL_WATER, 1));
}

/* Which checks a row of CodeCarbon's can say nothing of, and why. */
static void tell_unchecked(struct dataset_experiment *experiment, const struct row *row)
{
    static const enum check unchecked[] = {
        CHECK_PROCESSES_BEFORE, CHECK_PROCESSES_DURING, CHECK_PROCESSES_AFTER, CHECK_IDLE_BEFORE,
        CHECK_OTHER_CPU,        CHECK_THROTTLING,       CHECK_MEMORY_BACK};
    EACH_OF (item, unchecked)
        dataset_check(experiment, *item, CHECK_NOT_MADE, "CodeCarbon does not record it");
    dataset_check(experiment, CHECK_BASELINE, CHECK_NOT_NEEDED, "CodeCarbon does not record it");
    dataset_check(experiment, CHECK_BACKGROUND_LOAD, CHECK_NOT_NEEDED, "no background was planned");
    dataset_check(experiment, CHECK_SAMPLING, CHECK_NOT_MADE,
                  "CodeCarbon %s (tracking_mode %s) does not record its samples, nor whether the "
                  "energies of CPU and RAM were "
                  "measured or estimated",
                  *row->cells[CELL_VERSION] ? row->cells[CELL_VERSION] : "of an unknown version",
                  *row->cells[CELL_TRACKING_MODE] ? row->cells[CELL_TRACKING_MODE] : "unknown");
    dataset_check(experiment, CHECK_LENGTH, CHECK_NOT_MADE,
                  "CodeCarbon does not record pauses; it took %.6g s",
                  experiment->duration_s.value);
    dataset_check(experiment, CHECK_METRIC_PLAUSIBLE, CHECK_NOT_MADE,
                  "emissions.csv holds no result of the training, nor whether it succeeded");
}

static const char *id_of(const struct row *row)
{
    return *row->cells[CELL_RUN_ID] ? row->cells[CELL_RUN_ID] : row->cells[CELL_EXPERIMENT_ID];
}

static void take_row(struct dataset *dataset, size_t folder, const struct row *row)
{
    struct dataset_experiment *experiment = dataset_add(dataset);
    experiment->folder = folder;
    experiment->id = *id_of(row) ? mem_strdup(id_of(row)) : mem_printf("line %zu", row->line);
    experiment->repo = mem_strdup(row->cells[CELL_PROJECT]);
    experiment->model = mem_strdup("");
    experiment->line = row->line;
    experiment->judged = true;
    /* A row is written when a tracker stops: nobody wrote down that the training failed. */
    experiment->has_success = experiment->success = true;
    if (*row->cells[CELL_TIMESTAMP]) {
        experiment->has_end =
            dataset_parse_time(row->cells[CELL_TIMESTAMP], &experiment->end_local_ns);
        if (!experiment->has_end)
            dataset_evidence(experiment, "value_impossible",
                             "timestamp in line %zu of emissions.csv is '%.60s'", row->line,
                             row->cells[CELL_TIMESTAMP]);
    }
    experiment->duration_s = amount(experiment, row, CELL_DURATION, 1);
    if (!experiment->duration_s.valid)
        dataset_evidence(experiment, "value_missing", "how long it took is not known");
    take_energy(experiment, row);
    if (row->shifted)
        dataset_evidence(experiment, "file_damaged",
                         "line %zu of emissions.csv has not as many cells as its header",
                         row->line);
    experiment->facts[FACT_GPU_MODEL] =
        *row->cells[CELL_GPU_MODEL] ? mem_strdup(row->cells[CELL_GPU_MODEL]) : NULL;
    experiment->facts[FACT_CPU] =
        *row->cells[CELL_CPU_MODEL] ? mem_strdup(row->cells[CELL_CPU_MODEL]) : NULL;
    tell_unchecked(experiment, row);
}

/* Where the cells are; CELLS of SIZE_MAX: it has no such column. False: it is none of
 * CodeCarbon's. */
static bool find_columns(const struct strv *header, size_t columns[CELLS])
{
    for (int c = 0; c < CELLS; c++) {
        columns[c] = SIZE_MAX;
        for (size_t i = 0; i < header->count && columns[c] == SIZE_MAX; i++)
            if (strcmp(header->items[i], cell_names[c]) == 0)
                columns[c] = i;
    }
    return (columns[CELL_RUN_ID] != SIZE_MAX || columns[CELL_EXPERIMENT_ID] != SIZE_MAX) &&
           columns[CELL_DURATION] != SIZE_MAX && columns[CELL_ENERGY] != SIZE_MAX;
}

struct table {
    struct csv_reader reader;
    struct strv header, cells;
    size_t columns[CELLS];
};

static bool start(struct table *table, const char *bytes, size_t count)
{
    struct err ignored;
    csv_start(&table->reader, bytes, count);
    return csv_next(&table->reader, &table->header, &ignored) > 0 &&
           find_columns(&table->header, table->columns);
}

/* As csv_next. The cells are borrowed until the next row. */
static int next_row(struct table *table, struct row *row, struct err *err)
{
    int step = csv_next(&table->reader, &table->cells, err);
    /* CodeCarbon leaves out empty cells of a row that it appends: what is behind the first one is
     * in a wrong column. Its energies come before all cells that may be empty. */
    row->shifted = table->cells.count != table->header.count;
    row->line = table->reader.line;
    for (int c = 0; c < CELLS && step > 0; c++) {
        size_t at = table->columns[c];
        bool sure = at < table->cells.count && (!row->shifted || at <= table->columns[CELL_ENERGY]);
        row->cells[c] = sure ? table->cells.items[at] : "";
    }
    return step;
}

/* A tracker that was flushed has several rows, each with all that it had used until then: the last
 * one counts. The number of its line by the run's id. */
static json_t *last_lines(const char *bytes, size_t count)
{
    struct err ignored;
    struct row row;
    struct table table = {0};
    json_t *lines = json_object();
    for (bool ok = start(&table, bytes, count); ok && next_row(&table, &row, &ignored) > 0;)
        json_set_count(lines, id_of(&row), row.line);
    strv_fini(&table.header);
    strv_fini(&table.cells);
    return lines;
}

bool codecarbon_take(struct dataset *dataset, size_t folder, const char *bytes, size_t count,
                     struct err *err)
{
    struct err reason = {0};
    struct row row;
    struct table table = {0};
    int step = -1;
    bool ok =
        start(&table, bytes, count) ||
        err_set(err, CODECARBON_FILE
                " is not CodeCarbon's: it has no columns run_id, duration and energy_consumed");
    json_t *lines = ok ? last_lines(bytes, count) : NULL;
    while (ok && (step = next_row(&table, &row, &reason)) > 0) {
        const json_t *last = json_object_get(lines, id_of(&row));
        dataset->folders[folder].summary_rows++;
        if (!*id_of(&row) || !last || (size_t)json_integer_value(last) == row.line)
            take_row(dataset, folder, &row);
    }
    if (ok && step < 0)
        dataset_problem(dataset, folder, CODECARBON_FILE " is damaged from %s on", reason.text);
    json_decref(lines);
    strv_fini(&table.header);
    strv_fini(&table.cells);
    return ok;
}

bool read_codecarbon(struct dataset *dataset, size_t folder, int dir, struct err *err)
{
    AUTO_TEXT struct text text = {0};
    return (fs_read_at(dir, CODECARBON_FILE, file_limit, &text, err) &&
            codecarbon_take(dataset, folder, text_get(&text), text.length, err)) ||
           err_wrap(err, "%s", dataset->folders[folder].path);
}
