#include "results/judge/samples.h"

#include "results/judge/trace.h"
#include "base/cleanup.h"
#include "base/mem.h"

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
