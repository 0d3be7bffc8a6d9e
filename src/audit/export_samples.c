/* The samples of the study's energy/ files and of tare's, one figure a row. */
#include "audit/audit_json.h"
#include "audit/export_private.h"
#include "audit/read.h"
#include "audit/trace.h"
#include "base/cleanup.h"
#include "base/csv.h"
#include "base/fs.h"
#include "base/mem.h"

#include <fcntl.h>
#include <string.h>

static const size_t file_limit = (size_t)256 << 20; /* tare's: a row a second and device */

struct export_file {
    struct export_writer *writer;
    const struct dataset *dataset;
    const struct dataset_experiment *experiment;
    const char *const *quantities; /* of a study's file: one for each column */
    size_t columns;
};

static void add_sample(const struct export_file *file, json_t *stamp, const char *device, const char *quantity,
                       struct reading value)
{
    json_t *row = export_row_of(file->dataset, file->experiment);
    json_object_set_new(row, "timestamp", stamp);
    json_object_set_new(row, "device", json_string(device));
    json_object_set_new(row, "quantity", json_string(quantity));
    json_object_set_new(row, "value", audit_json_reading(value));
    export_row(file->writer, row);
}

static void each_rows(void *at, const struct trace_rows *rows)
{
    const struct export_file *file = at;
    for (size_t row = 0; row < rows->count; row++)
        for (size_t i = 0; i < file->columns && !file->writer->broken; i++)
            add_sample(file, json_integer(rows->t_s[row]), "", file->quantities[i],
                       (struct reading){rows->columns[i].values[row], rows->columns[i].kinds[row] == FIGURE_IS});
}

static void study_samples(struct export_file *file, int energy)
{
    static const char *const power[] = {"power_draw_w"};
    static const char *const busy[] = {"gpu_util_percent", "memory_util_percent"};
    static const char *const heat[] = {"gpu_temp_c", "memory_temp_c"};
    static const struct {
        const char *name;
        const char *const *quantities;
        size_t columns;
    } files[] = {{"gpu_power.csv", power, 1}, {"gpu_utilization.csv", busy, 2}, {"gpu_temperature.csv", heat, 2}};
    AUTO_FREE char *buffer = mem_alloc(TRACE_BUFFER);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct trace_file ignored;
        file->quantities = files[i].quantities;
        file->columns = files[i].columns;
        /* What cannot be read is evidence of the experiment already. */
        trace_read(energy, files[i].name, file->columns, buffer, each_rows, file, &ignored, NULL);
    }
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
    if (!read_is_folder_name(experiment->id))
        return;
    AUTO_CLOSE int top = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_CLOSE int dir = top < 0 ? -1 : openat(top, experiment->id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    AUTO_CLOSE int energy = dir < 0 ? -1 : openat(dir, "energy", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (energy < 0)
        return;
    if (folder->layout == DATASET_STUDY) {
        study_samples(&file, energy);
        return;
    }
    own_file(&file, energy, "gpu.csv");
    own_file(&file, energy, "cpu.csv");
}
