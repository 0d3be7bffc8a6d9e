/* The samples of the study's energy/ files and of tare's, one figure a row. */
#include "results/judge/audit_json.h"
#include "results/judge/export_private.h"
#include "results/judge/figure.h"
#include "results/judge/read.h"
#include "results/judge/export.h"
#include "base/cleanup.h"
#include "base/csv.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "results/judge/trace.h"

#include <fcntl.h>
#include <string.h>

static const size_t file_limit = (size_t)256 << 20; /* tare's: a row a second and device */

struct export_file {
    struct export_writer *writer;
    const struct dataset *dataset;
    const struct dataset_experiment *experiment;
    enum samples_file of; /* the study's */
};

static void add_sample(const struct export_file *file, json_t *stamp, const char *device, const char *quantity,
                       struct reading value)
{
    json_t *row = export_row_of(file->dataset, file->experiment);
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

static void study_samples(struct export_file *file, int energy)
{
    /* What cannot be read is evidence of the experiment already. */
    for (file->of = SAMPLES_POWER; file->of < SAMPLES_FILES; file->of++)
        samples_read(energy, file->of, each_row, file, NULL);
}

/* The columns: when, seconds since the start, which device, then figures; what is no figure is left out. */
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
            if (figure_read(cell, cell + strlen(cell), &value.value) == FIGURE_BAD)
                continue;
            value.valid = *cell != '\0';
            add_sample(file, json_string(row.items[0]), row.items[2], header.items[i], value);
        }
}

void export_samples(struct export_writer *writer, const struct dataset *dataset,
                    const struct dataset_experiment *experiment)
{
    struct export_file file = {.writer = writer, .dataset = dataset, .experiment = experiment};
    const struct dataset_folder *folder = &dataset->folders[experiment->folder];
    if (!fs_check_name(experiment->id, NULL))
        return; /* its evidence says so */
    AUTO_CLOSE int top = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_CLOSE int dir = top < 0 ? -1 : fs_open_folder_beneath(top, experiment->id);
    AUTO_CLOSE int energy = dir < 0 ? -1 : fs_open_folder_beneath(dir, "energy");
    if (energy < 0)
        return;
    if (folder->layout == DATASET_STUDY) {
        study_samples(&file, energy);
        return;
    }
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
            values[i] = (struct reading){rows->columns[i].values[row], rows->columns[i].kinds[row] == FIGURE_IS};
        reader->each(reader->context, rows->t_s[row], values);
    }
}

bool samples_read(int energy, enum samples_file file, samples_each_fn *each, void *context, struct err *err)
{
    AUTO_FREE char *buffer = mem_alloc(TRACE_BUFFER);
    struct trace_file ignored; /* what is wrong with it is evidence of the experiment already */
    struct reader reader = {each, context, files[file].quantities[1] ? 2 : 1};
    return trace_read(energy, files[file].name, reader.columns, buffer, take_rows, &reader, &ignored, err);
}
