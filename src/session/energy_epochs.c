#include "session/energy_text.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/value.h"
#include "report/table.h"

#include <string.h>

/* More rows than that nobody reads from a terminal. */
enum { ROWS_HEAD = 30, ROWS_TAIL = 10, DIGITS = 6 };

static const double BYTES_PER_MIB = 1 << 20;

/* Which columns have anything in them. */
struct columns {
    bool of[ENERGY_SCOPES], gpu_memory, host_memory;
    bool names; /* several names are marked */
};

static struct columns find_columns(const struct measured *measured)
{
    struct columns columns = {0};
    for (size_t i = 0; i < measured->result.epoch_count; i++) {
        const struct energy_meters_epoch *epoch = &measured->result.epochs[i];
        for (int scope = 0; scope < ENERGY_SCOPES; scope++)
            columns.of[scope] |= epoch->of[scope].window.energy_j.valid;
        columns.gpu_memory |= epoch->of[ENERGY_GPU].memory_peak_bytes.valid;
        columns.host_memory |= epoch->host_memory_peak_bytes.valid;
        columns.names |= strcmp(measured->epochs[i].name, measured->epochs[0].name) != 0;
    }
    return columns;
}

static char *cell(struct reading value, int digits)
{
    return value.valid ? mem_printf("%.*f", digits, value.value) : mem_strdup("-");
}

static struct table *make_table(const struct columns *columns)
{
    bool gpu = columns->of[ENERGY_GPU], cpu = columns->of[ENERGY_PACKAGE], dram = columns->of[ENERGY_DRAM];
    return table_of(false, " ", ">SECONDS", gpu ? ">GPU J" : NULL, gpu ? ">+/-" : NULL, gpu ? ">GPU W" : NULL,
                    cpu ? ">CPU J" : NULL, cpu ? ">+/-" : NULL, cpu ? ">CPU W" : NULL, dram ? ">DRAM J" : NULL,
                    dram ? ">+/-" : NULL, columns->gpu_memory ? ">GPU MiB" : NULL,
                    columns->host_memory ? ">HOST MiB" : NULL, "EPOCH");
}

static char *epoch_title(const struct epoch *epoch, const struct columns *columns)
{
    if (epoch->part == EPOCH_ITSELF)
        return mem_printf("%s%s%s", epoch->name, epoch->label ? " " : "", epoch->label ? epoch->label : "");
    const char *part = epoch_part_name(epoch->part);
    return columns->names ? mem_printf("(%s of %s)", part, epoch->name) : mem_printf("(%s)", part);
}

static struct reading mib(struct reading bytes)
{
    return (struct reading){bytes.value / BYTES_PER_MIB, bytes.valid};
}

static void add_row(const struct epoch *epoch, const struct energy_meters_epoch *figures, const struct columns *columns,
                    struct table *table)
{
    const struct window_energy *gpu = &figures->of[ENERGY_GPU].window, *cpu = &figures->of[ENERGY_PACKAGE].window,
                               *dram = &figures->of[ENERGY_DRAM].window;
    table_row(table, NULL, mem_printf("%.3f", (double)(epoch->end_ns - epoch->start_ns) / (double)NS_PER_S),
              cell(gpu->energy_j, 2), cell(gpu->half_width_j, 2), cell(gpu->power_mean_w, 1), cell(cpu->energy_j, 2),
              cell(cpu->half_width_j, 2), cell(cpu->power_mean_w, 1), cell(dram->energy_j, 2),
              cell(dram->half_width_j, 2), cell(mib(figures->of[ENERGY_GPU].memory_peak_bytes), 0),
              cell(mib(figures->host_memory_peak_bytes), 0), epoch_title(epoch, columns));
}

void energy_epochs_text(const struct measured *measured, struct text *out)
{
    size_t count = measured->result.epoch_count;
    if (count == 0)
        return;
    struct columns columns = find_columns(measured);
    struct table *table = make_table(&columns);
    for (size_t i = 0; i < count; i++)
        if (i < ROWS_HEAD || i + ROWS_TAIL >= count)
            add_row(&measured->epochs[i], &measured->result.epochs[i], &columns, table);
    table_end(table, out);
    if (count > ROWS_HEAD + ROWS_TAIL)
        text_addf(out, "  %zu more between the first %d and the last %d.\n", count - ROWS_HEAD - ROWS_TAIL, ROWS_HEAD,
                  ROWS_TAIL);
    text_add_char(out, '\n');
}

static json_t *rounded(struct reading reading)
{
    return reading.valid ? json_finite(number_round(reading.value, DIGITS)) : json_null();
}

static json_t *joules(const struct energy_meters_figures *figures)
{
    return figures->window.energy_j.valid ? json_finite((double)figures->energy_mj / 1000) : json_null();
}

static json_t *seconds(int64_t ns)
{
    return json_finite((double)ns / (double)NS_PER_S);
}

static json_t *epoch_json(const struct epoch *epoch, const struct energy_meters_epoch *figures, int64_t start_ns)
{
    const struct energy_meters_figures *gpu = &figures->of[ENERGY_GPU], *cpu = &figures->of[ENERGY_PACKAGE],
                                       *dram = &figures->of[ENERGY_DRAM];
    return json_pack("{s:o*, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
                     json_string(epoch->name), "part", epoch_part_name(epoch->part), "label",
                     json_text_or_null(epoch->label), "start_s", seconds(epoch->start_ns - start_ns), "end_s",
                     seconds(epoch->end_ns - start_ns), "duration_s", seconds(epoch->end_ns - epoch->start_ns),
                     "source", json_text_or_null(epoch->part == EPOCH_ITSELF ? mark_source_name(epoch->source) : NULL),
                     "gpu_energy_j", joules(gpu), "gpu_half_width_j", rounded(gpu->window.half_width_j), "gpu_power_w",
                     rounded(gpu->window.power_mean_w), "gpu_mem_peak_mib", rounded(mib(gpu->memory_peak_bytes)),
                     "cpu_energy_j", joules(cpu), "cpu_half_width_j", rounded(cpu->window.half_width_j),
                     "dram_energy_j", joules(dram), "dram_half_width_j", rounded(dram->window.half_width_j),
                     "host_mem_peak_mib", rounded(mib(figures->host_memory_peak_bytes)));
}

json_t *energy_epochs_json(const struct measured *measured)
{
    json_t *json = json_array();
    for (size_t i = 0; i < measured->result.epoch_count; i++)
        json_array_append_new(json, epoch_json(&measured->epochs[i], &measured->result.epochs[i], measured->start_ns));
    return json;
}
