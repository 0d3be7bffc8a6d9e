/* energy: writes the energies of attempts and epochs to run.db, and reads them. */
#ifndef TARE_RESULTS_STORE_ENERGY_H
#define TARE_RESULTS_STORE_ENERGY_H

#include "results/store/store.h"
#include "results/store/tables.h"

const char *energy_column(size_t column); /* "energy_cpu_pkg_joules" */

const char *energy_metric(size_t column); /* "cpu_energy_pkg_joules" */

/* Of EVENT_ATTEMPT_ENDED: its "energy" into the tables. */
bool energy_write(sqlite3 *db, const struct event *event, struct err *err);

/* The same as the study's energy_metrics; {} where nothing was measured. */
json_t *energy_metrics(const json_t *block);

/* A number of the block: energy_number(block, "gpu", "joules"). */
struct reading energy_number(const json_t *block, const char *scope, const char *key);

/* Where several ran at the same time, the CPU's is the attempt's share. */
struct result_energy energy_result(const json_t *block);

/* Adds an attempt that ended; one that is in the sums already is not added again. */
void energy_use(struct result_used *used, int64_t attempt, const json_t *block);

/* Its keys in experiment.json, its columns in marks.csv (each with a comma before it), its
 * cells. */
void energy_epoch_json(const struct energy_epoch *epoch, json_t *out);
void energy_epoch_head(struct text *out);
void energy_epoch_cells(const struct energy_epoch *epoch, struct text *out);

#endif
