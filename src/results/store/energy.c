#include "results/store/energy.h"
#include "results/store/db.h"
#include "results/store/energy_record.h"

#include "base/csv.h"
#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_PER_MIB 1048576.0

/* The epochs stand in a table of their own. */
bool energy_write(sqlite3 *db, const struct event *event, struct err *err)
{
    const json_t *block = json_get(event->data, "energy");
    const json_t *devices = json_get(block, "devices"), *epochs = json_get(block, "epochs");
    if (!json_is_object(block))
        return true;
    json_t *rest = json_copy((json_t *)(void *)block);
    json_object_del(rest, "epochs");
    bool ok = db_run(db, err, "UPDATE attempts SET energy=? WHERE experiment=? AND number=?", "jii",
                     rest, event->experiment, event->attempt);
    json_decref(rest);
    for (size_t i = 0; ok && i < json_array_size(devices); i++)
        ok = !json_get_text(json_array_get(devices, i), "device") ||
             db_run(db, err,
                    "INSERT OR REPLACE INTO energy VALUES "
                    "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                    "iik", event->experiment, event->attempt, json_array_get(devices, i),
                    "device scope uuid source joules half_width_j sensor_uncertainty covered_share "
                    "longest_gap_s"
                    " power_mean_w power_max_w power_min_w power_cv_within temperature_mean_c "
                    "temperature_max_c"
                    " utilisation_mean_percent utilisation_max_percent sm_clock_mean_mhz "
                    "memory_peak_bytes flags");
    for (size_t i = 0; ok && i < json_array_size(epochs); i++)
        ok = db_run(db, err,
                    "INSERT OR REPLACE INTO epoch_energy (experiment, attempt, "
                    "number, " ENERGY_EPOCH_COLUMNS ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                    "iiik", event->experiment, event->attempt, (int64_t)i + 1,
                    json_array_get(epochs, i), ENERGY_EPOCH_COLUMNS);
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

#define AT(member) offsetof(struct energy_record, member)
static const struct {
    const char *column, *metric;
    size_t at; /* of the reading */
} columns[ENERGY_COLUMNS] = {
    {"energy_cpu_pkg_joules", "cpu_energy_pkg_joules", AT(cpu_package.energy_j)},
    {"energy_cpu_ram_joules", "cpu_energy_ram_joules", AT(dram.energy_j)},
    {"energy_cpu_total_joules", "cpu_energy_total_joules", SIZE_MAX}, /* the two together */
    {"energy_gpu_avg_watts", "gpu_power_avg_watts", AT(gpu.power_mean_w)},
    {"energy_gpu_max_watts", "gpu_power_max_watts", AT(gpu.power_max_w)},
    {"energy_gpu_min_watts", "gpu_power_min_watts", AT(gpu.power_min_w)},
    {"energy_gpu_total_joules", "gpu_energy_total_joules", AT(gpu.energy_j)},
    {"energy_gpu_temp_avg_celsius", "gpu_temp_avg_celsius", AT(gpu.temperature_mean_c)},
    {"energy_gpu_temp_max_celsius", "gpu_temp_max_celsius", AT(gpu.temperature_max_c)},
    {"energy_gpu_util_avg_percent", "gpu_util_avg_percent", AT(gpu.utilisation_mean_percent)},
    {"energy_gpu_util_max_percent", "gpu_util_max_percent", AT(gpu.utilisation_max_percent)},
};

const char *energy_column(size_t column)
{
    return columns[column].column;
}

const char *energy_metric(size_t column)
{
    return columns[column].metric;
}

struct reading energy_figure(const struct energy_record *energy, size_t column)
{
    struct reading package = energy->cpu_package.energy_j, dram = energy->dram.energy_j;
    if (columns[column].at == SIZE_MAX)
        return (struct reading){package.value + dram.value, package.valid && dram.valid};
    return *(const struct reading *)(const void *)((const char *)energy + columns[column].at);
}

json_t *energy_metrics(const json_t *block)
{
    json_t *json = json_object();
    AUTO(energy_record_fini) struct energy_record energy;
    energy_record_read(block, &energy);
    for (size_t i = 0; energy.device_count > 0 && i < ENERGY_COLUMNS; i++)
        json_set_reading(json, columns[i].metric, energy_figure(&energy, i));
    return json;
}

static const struct {
    const char *key; /* in experiment.json and marks.csv */
    /* of the column; the key's is J for mJ, MiB for bytes */
    enum { EPOCH_PLAIN, EPOCH_MJ, EPOCH_BYTES } unit;
} epoch_figures[ENERGY_EPOCH_FIGURES] = {
    {"gpu_energy_j", EPOCH_MJ},         {"gpu_half_width_j", EPOCH_PLAIN},
    {"gpu_power_w", EPOCH_PLAIN},       {"gpu_mem_peak_mib", EPOCH_BYTES},
    {"cpu_energy_j", EPOCH_MJ},         {"cpu_half_width_j", EPOCH_PLAIN},
    {"dram_energy_j", EPOCH_MJ},        {"dram_half_width_j", EPOCH_PLAIN},
    {"host_mem_peak_mib", EPOCH_BYTES},
};

void energy_epoch_read(sqlite3_stmt *row, int first, struct energy_epoch *out)
{
    static const double units[] = {
        [EPOCH_PLAIN] = 1, [EPOCH_MJ] = 1000, [EPOCH_BYTES] = BYTES_PER_MIB};
    for (int i = 0; i < ENERGY_EPOCH_FIGURES; i++) {
        bool whole = epoch_figures[i].unit == EPOCH_MJ;
        out->mj[i] = sqlite3_column_int64(row, first + i);
        double value = whole ? (double)out->mj[i] : sqlite3_column_double(row, first + i);
        out->figures[i] =
            (struct reading){value / units[epoch_figures[i].unit], !db_is_null(row, first + i)};
    }
}

void energy_epoch_json(const struct energy_epoch *epoch, json_t *out)
{
    for (int i = 0; i < ENERGY_EPOCH_FIGURES; i++)
        json_set_reading(out, epoch_figures[i].key, epoch->figures[i]);
}

void energy_epoch_head(struct text *out)
{
    for (int i = 0; i < ENERGY_EPOCH_FIGURES; i++)
        text_addf(out, ",%s", epoch_figures[i].key);
}

/* Millijoules as joules, exactly: sums over the file come out even. */
void energy_epoch_cells(const struct energy_epoch *epoch, struct text *out)
{
    for (int i = 0; i < ENERGY_EPOCH_FIGURES; i++) {
        long long mj = epoch->mj[i];
        if (epoch_figures[i].unit == EPOCH_MJ && epoch->figures[i].valid)
            text_addf(out, ",%s%lld.%03lld", mj < 0 ? "-" : "", llabs(mj) / 1000, llabs(mj) % 1000);
        else
            csv_add_reading(out, epoch->figures[i]);
    }
}
