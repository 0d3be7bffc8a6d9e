#include "results/store/tables.h"

#include "base/csv.h"
#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double BYTES_PER_MIB = 1048576;

static bool write_device(sqlite3 *db, const struct event *event, const json_t *device, struct err *err)
{
    return db_run(db, err, "INSERT OR REPLACE INTO energy VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", "iik",
                  event->experiment, event->attempt, device,
                  "device scope uuid source joules half_width_j sensor_uncertainty covered_share longest_gap_s"
                  " power_mean_w power_max_w power_min_w power_cv_within temperature_mean_c temperature_max_c"
                  " utilisation_mean_percent utilisation_max_percent sm_clock_mean_mhz memory_peak_bytes flags");
}

static bool write_epoch(sqlite3 *db, const struct event *event, size_t number, const json_t *epoch, struct err *err)
{
    return db_run(db, err,
                  "INSERT OR REPLACE INTO epoch_energy (experiment, attempt, number, name, start_ns, end_ns,"
                  " " ENERGY_EPOCH_COLUMNS ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                  "iiik", event->experiment, event->attempt, (int64_t)number, epoch,
                  "name start_ns end_ns gpu_mj gpu_half_width_j gpu_power_w gpu_memory_peak_bytes cpu_mj"
                  " cpu_half_width_j dram_mj dram_half_width_j host_memory_peak_bytes");
}

/* The epochs stand in a table of their own. */
static bool write_block(sqlite3 *db, const struct event *event, const json_t *block, struct err *err)
{
    json_t *rest = json_copy((json_t *)(void *)block);
    json_object_del(rest, "epochs");
    bool ok = db_run(db, err, "UPDATE attempts SET energy=? WHERE experiment=? AND number=?", "jii", rest,
                     event->experiment, event->attempt);
    json_decref(rest);
    return ok;
}

bool energy_write(sqlite3 *db, const struct event *event, struct err *err)
{
    const json_t *block = json_get(event->data, "energy");
    if (!json_is_object(block))
        return true;
    bool ok = write_block(db, event, block, err);
    const json_t *devices = json_get(block, "devices"), *epochs = json_get(block, "epochs");
    for (size_t i = 0; ok && i < json_array_size(devices); i++) {
        const json_t *device = json_array_get(devices, i);
        ok = !json_get_text(device, "device") || write_device(db, event, device, err);
    }
    for (size_t i = 0; ok && i < json_array_size(epochs); i++)
        ok = write_epoch(db, event, i + 1, json_array_get(epochs, i), err);
    return ok;
}

struct reading energy_number(const json_t *block, const char *scope, const char *key)
{
    return json_get_reading(json_get(block, scope), key);
}

struct result_energy energy_result(const json_t *block)
{
    struct result_energy out = {
        .gpu_j = energy_number(block, "gpu", "joules"),
        .gpu_half_width_j = energy_number(block, "gpu", "half_width_j"),
        .cpu_j = energy_number(block, "cpu_package", "joules"),
        .cpu_half_width_j = energy_number(block, "cpu_package", "half_width_j"),
    };
    /* Where several ran at the same time, what the packages drew is not this one's alone. */
    struct reading share_mj = energy_number(block, "cpu_package_share", "attributed_mj");
    if (share_mj.valid) {
        out.cpu_j = (struct reading){share_mj.value / 1000, true};
        out.cpu_half_width_j = (struct reading){0};
    }
    return out;
}

static void add_used(double *sum, uint64_t *attempts, struct reading energy_j)
{
    if (!energy_j.valid || !isfinite(energy_j.value) || energy_j.value < 0)
        return;
    *sum += energy_j.value;
    ++*attempts;
}

void energy_use(struct result_used *used, int64_t attempt, const json_t *block)
{
    struct result_energy energy = energy_result(block);
    if (attempt <= used->ended)
        return;
    used->ended = attempt;
    used->attempts = attempt > used->attempts ? attempt : used->attempts;
    add_used(&used->gpu_j, &used->gpu_attempts, energy.gpu_j);
    add_used(&used->cpu_j, &used->cpu_attempts, energy.cpu_j);
}

static const struct {
    const char *column, *metric, *scope, *key;
} columns[ENERGY_COLUMNS] = {
    {"energy_cpu_pkg_joules", "cpu_energy_pkg_joules", "cpu_package", "joules"},
    {"energy_cpu_ram_joules", "cpu_energy_ram_joules", "dram", "joules"},
    {"energy_cpu_total_joules", "cpu_energy_total_joules", NULL, NULL}, /* the two together */
    {"energy_gpu_avg_watts", "gpu_power_avg_watts", "gpu", "power_mean_w"},
    {"energy_gpu_max_watts", "gpu_power_max_watts", "gpu", "power_max_w"},
    {"energy_gpu_min_watts", "gpu_power_min_watts", "gpu", "power_min_w"},
    {"energy_gpu_total_joules", "gpu_energy_total_joules", "gpu", "joules"},
    {"energy_gpu_temp_avg_celsius", "gpu_temp_avg_celsius", "gpu", "temperature_mean_c"},
    {"energy_gpu_temp_max_celsius", "gpu_temp_max_celsius", "gpu", "temperature_max_c"},
    {"energy_gpu_util_avg_percent", "gpu_util_avg_percent", "gpu", "utilisation_mean_percent"},
    {"energy_gpu_util_max_percent", "gpu_util_max_percent", "gpu", "utilisation_max_percent"},
};

const char *energy_column(size_t column)
{
    return columns[column].column;
}

const char *energy_metric(size_t column)
{
    return columns[column].metric;
}

struct reading energy_cell(const json_t *block, size_t column)
{
    if (columns[column].scope)
        return energy_number(block, columns[column].scope, columns[column].key);
    struct reading package = energy_number(block, "cpu_package", "joules"),
                   dram = energy_number(block, "dram", "joules");
    return (struct reading){package.value + dram.value, package.valid && dram.valid};
}

json_t *energy_metrics(const json_t *block)
{
    json_t *json = json_object();
    bool measured = json_array_size(json_object_get(block, "devices")) > 0;
    for (size_t i = 0; measured && i < ENERGY_COLUMNS; i++) {
        struct reading cell = energy_cell(block, i);
        json_set_reading(json, columns[i].metric, cell);
    }
    return json;
}

struct reading energy_gpu_memory_mib(const json_t *block)
{
    struct reading bytes = energy_number(block, "gpu", "memory_peak_bytes");
    return (struct reading){bytes.value / BYTES_PER_MIB, bytes.valid};
}

static struct reading real_cell(sqlite3_stmt *row, int column)
{
    return (struct reading){sqlite3_column_double(row, column), !db_is_null(row, column)};
}

void energy_epoch_read(sqlite3_stmt *row, int first, struct energy_epoch *out)
{
    *out = (struct energy_epoch){
        .gpu_mj = sqlite3_column_int64(row, first),
        .has_gpu = !db_is_null(row, first),
        .gpu_half_width_j = real_cell(row, first + 1),
        .gpu_power_w = real_cell(row, first + 2),
        .gpu_memory_bytes = real_cell(row, first + 3),
        .cpu_mj = sqlite3_column_int64(row, first + 4),
        .has_cpu = !db_is_null(row, first + 4),
        .cpu_half_width_j = real_cell(row, first + 5),
        .dram_mj = sqlite3_column_int64(row, first + 6),
        .has_dram = !db_is_null(row, first + 6),
        .dram_half_width_j = real_cell(row, first + 7),
        .host_memory_bytes = real_cell(row, first + 8),
    };
}

static struct reading joules(int64_t mj, bool valid)
{
    return (struct reading){(double)mj / 1000, valid};
}

static struct reading mib(struct reading bytes)
{
    return (struct reading){bytes.value / BYTES_PER_MIB, bytes.valid};
}

void energy_epoch_json(const struct energy_epoch *epoch, json_t *out)
{
    json_set_reading(out, "gpu_energy_j", joules(epoch->gpu_mj, epoch->has_gpu));
    json_set_reading(out, "gpu_half_width_j", epoch->gpu_half_width_j);
    json_set_reading(out, "gpu_power_w", epoch->gpu_power_w);
    json_set_reading(out, "gpu_mem_peak_mib", mib(epoch->gpu_memory_bytes));
    json_set_reading(out, "cpu_energy_j", joules(epoch->cpu_mj, epoch->has_cpu));
    json_set_reading(out, "cpu_half_width_j", epoch->cpu_half_width_j);
    json_set_reading(out, "dram_energy_j", joules(epoch->dram_mj, epoch->has_dram));
    json_set_reading(out, "dram_half_width_j", epoch->dram_half_width_j);
    json_set_reading(out, "host_mem_peak_mib", mib(epoch->host_memory_bytes));
}

void energy_epoch_head(struct text *out)
{
    text_add(out, ",gpu_energy_j,gpu_half_width_j,gpu_power_w,gpu_mem_peak_mib,cpu_energy_j,cpu_half_width_j,"
                  "dram_energy_j,dram_half_width_j,host_mem_peak_mib");
}

/* Millijoules as joules, exactly: sums over the file come out even. */
static void add_energy(struct text *out, int64_t mj, bool valid)
{
    if (valid)
        text_addf(out, ",%s%lld.%03lld", mj < 0 ? "-" : "", llabs((long long)mj) / 1000, llabs((long long)mj) % 1000);
    else
        text_add_char(out, ',');
}

void energy_epoch_cells(const struct energy_epoch *epoch, struct text *out)
{
    add_energy(out, epoch->gpu_mj, epoch->has_gpu);
    csv_add_reading(out, epoch->gpu_half_width_j);
    csv_add_reading(out, epoch->gpu_power_w);
    csv_add_reading(out, mib(epoch->gpu_memory_bytes));
    add_energy(out, epoch->cpu_mj, epoch->has_cpu);
    csv_add_reading(out, epoch->cpu_half_width_j);
    add_energy(out, epoch->dram_mj, epoch->has_dram);
    csv_add_reading(out, epoch->dram_half_width_j);
    csv_add_reading(out, mib(epoch->host_memory_bytes));
}
