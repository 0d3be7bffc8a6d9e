/* energy: what an attempt drew, in the tables and in the files that people read. Private to store/. */
#ifndef TARE_RESULTS_STORE_ENERGY_H
#define TARE_RESULTS_STORE_ENERGY_H

#include "base/reading.h"
#include "base/text.h"
#include "plan/event.h"
#include "results/store/db.h"
#include "results/store/facts.h"
#include "results/store/store.h"

/* Of EVENT_ATTEMPT_ENDED: its "energy" into the tables. */
bool energy_write(sqlite3 *db, const struct event *event, struct err *err);

/* Of the study's columns (energy_column). block: "energy" of an attempt, or NULL. */
struct reading energy_cell(const json_t *block, size_t column);

/* The same as the study's energy_metrics; {} where nothing was measured. */
json_t *energy_metrics(const json_t *block);

/* The highest that any one GPU had, in MiB. */
struct reading energy_gpu_memory_mib(const json_t *block);

/* A number of the block: energy_number(block, "gpu", "joules"). */
struct reading energy_number(const json_t *block, const char *scope, const char *key);

/* Where several ran at the same time, the CPU's is the attempt's share. */
struct result_energy energy_result(const json_t *block);

/* Adds an attempt that ended; one that is in the sums already is not added again. */
void energy_use(struct result_used *used, int64_t attempt, const json_t *block);

/* What one epoch drew; energies in whole millijoules, so that they add up. */
struct energy_epoch {
    int64_t gpu_mj, cpu_mj, dram_mj;
    bool has_gpu, has_cpu, has_dram;
    struct reading gpu_half_width_j, gpu_power_w, gpu_memory_bytes, cpu_half_width_j, dram_half_width_j;
    struct reading host_memory_bytes;
};

/* Of a row of epoch_energy, from its column first on. */
#define ENERGY_EPOCH_COLUMNS                                                                                           \
    "gpu_mj, gpu_half_width_j, gpu_power_w, gpu_memory_peak_bytes, cpu_mj, cpu_half_width_j, dram_mj,"                 \
    " dram_half_width_j, host_memory_peak_bytes"
void energy_epoch_read(sqlite3_stmt *row, int first, struct energy_epoch *out);

/* Its keys in experiment.json, its columns in marks.csv (each with a comma before it), its cells. */
void energy_epoch_json(const struct energy_epoch *epoch, json_t *out);
void energy_epoch_head(struct text *out);
void energy_epoch_cells(const struct energy_epoch *epoch, struct text *out);

#endif
