/* files: summary.csv and experiment.json, in the study's columns and keys, from run.db alone. Private to store/. */
#ifndef TARE_STORE_FILES_H
#define TARE_STORE_FILES_H

#include "base/fs.h"
#include "store/db.h"
#include "store/store.h"

/* summary.csv: all experiments that ended for good, in the plan's order; summary_safe.csv: those of them that are safe (verdict_is_safe). */
bool files_write_summary(int dir, sqlite3 *db, const struct plan *plan, struct err *err);

/* What stands in it; NULL: err says why. */
json_t *files_experiment_json(sqlite3 *db, const struct plan *plan, size_t number, struct err *err);

/* <id>/experiment.json, by write. */
bool files_write_experiment(int dir, sqlite3 *db, const struct plan *plan, size_t number, fs_write_fn *write,
                            struct err *err);

/* Of a parallel experiment: "parallel" of each of the attempts that stand in tare, and of the last one. */
bool files_add_parallel(sqlite3 *db, int64_t number, json_t *tare, struct err *err);

#endif
