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

static const struct {
    enum energy_meters_scope scope;
    const char *energy, *power;
} scopes[] = {{ENERGY_GPU, "GPU J", "GPU W"}, {ENERGY_PACKAGE, "CPU J", "CPU W"}, {ENERGY_DRAM, "DRAM J", NULL}};

enum { SCOPES = sizeof scopes / sizeof *scopes };

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

static void add_cell(struct table *table, struct reading value, int digits)
{
    AUTO_FREE char *text = value.valid ? mem_printf("%.*f", digits, value.value) : mem_strdup("-");
    table_add_cell(table, text, NULL);
}

static struct table *make_table(const struct columns *columns)
{
    struct table *table = table_new(false);
    table_add_column(table, " ", false);
    table_add_column(table, "SECONDS", true);
    for (size_t i = 0; i < SCOPES; i++) {
        if (!columns->of[scopes[i].scope])
            continue;
        table_add_column(table, scopes[i].energy, true);
        table_add_column(table, "+/-", true);
        if (scopes[i].power)
            table_add_column(table, scopes[i].power, true);
    }
    if (columns->gpu_memory)
        table_add_column(table, "GPU MiB", true);
    if (columns->host_memory)
        table_add_column(table, "HOST MiB", true);
    table_add_column(table, "EPOCH", false);
    return table;
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
    AUTO_FREE char *title = epoch_title(epoch, columns);
    table_add_row(table);
    table_add_cell(table, "", NULL);
    add_cell(table, (struct reading){(double)(epoch->end_ns - epoch->start_ns) / (double)NS_PER_S, true}, 3);
    for (size_t i = 0; i < SCOPES; i++) {
        const struct window_energy *window = &figures->of[scopes[i].scope].window;
        if (!columns->of[scopes[i].scope])
            continue;
        add_cell(table, window->energy_j, 2);
        add_cell(table, window->half_width_j, 2);
        if (scopes[i].power)
            add_cell(table, window->power_mean_w, 1);
    }
    if (columns->gpu_memory)
        add_cell(table, mib(figures->of[ENERGY_GPU].memory_peak_bytes), 0);
    if (columns->host_memory)
        add_cell(table, mib(figures->host_memory_peak_bytes), 0);
    table_add_cell(table, title, NULL);
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
    table_print(table, out);
    table_free(table);
    if (count > ROWS_HEAD + ROWS_TAIL)
        text_addf(out, "  %zu more between the first %d and the last %d.\n", count - ROWS_HEAD - ROWS_TAIL, ROWS_HEAD,
                  ROWS_TAIL);
    text_add_char(out, '\n');
}

static void set(json_t *json, const char *key, struct reading reading)
{
    json_object_set_new(json, key, reading.valid ? json_finite(number_round(reading.value, DIGITS)) : json_null());
}

static void set_energy(json_t *json, const char *energy, const char *half_width, const struct energy_meters_figures *figures)
{
    const struct window_energy *window = &figures->window;
    json_object_set_new(json, energy,
                        window->energy_j.valid ? json_finite((double)figures->energy_mj / 1000) : json_null());
    set(json, half_width, window->half_width_j);
}

static json_t *epoch_json(const struct epoch *epoch, const struct energy_meters_epoch *figures, int64_t start_ns)
{
    bool itself = epoch->part == EPOCH_ITSELF;
    json_t *json = json_object();
    json_object_set_new(json, "name", json_string(epoch->name));
    json_object_set_new(json, "part", json_string(epoch_part_name(epoch->part)));
    json_object_set_new(json, "label", json_text_or_null(epoch->label));
    json_object_set_new(json, "start_s", json_finite((double)(epoch->start_ns - start_ns) / (double)NS_PER_S));
    json_object_set_new(json, "end_s", json_finite((double)(epoch->end_ns - start_ns) / (double)NS_PER_S));
    json_object_set_new(json, "duration_s", json_finite((double)(epoch->end_ns - epoch->start_ns) / (double)NS_PER_S));
    json_object_set_new(json, "source", itself ? json_string(mark_source_name(epoch->source)) : json_null());
    set_energy(json, "gpu_energy_j", "gpu_half_width_j", &figures->of[ENERGY_GPU]);
    set(json, "gpu_power_w", figures->of[ENERGY_GPU].window.power_mean_w);
    set(json, "gpu_mem_peak_mib", mib(figures->of[ENERGY_GPU].memory_peak_bytes));
    set_energy(json, "cpu_energy_j", "cpu_half_width_j", &figures->of[ENERGY_PACKAGE]);
    set_energy(json, "dram_energy_j", "dram_half_width_j", &figures->of[ENERGY_DRAM]);
    set(json, "host_mem_peak_mib", mib(figures->host_memory_peak_bytes));
    return json;
}

json_t *energy_epochs_json(const struct measured *measured)
{
    json_t *json = json_array();
    for (size_t i = 0; i < measured->result.epoch_count; i++)
        json_array_append_new(json, epoch_json(&measured->epochs[i], &measured->result.epochs[i], measured->start_ns));
    return json;
}
