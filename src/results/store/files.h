/* files: experiment.json, in the study's keys, from run.db alone. Private to store/. */
#ifndef TARE_RESULTS_STORE_FILES_H
#define TARE_RESULTS_STORE_FILES_H

#include "base/digest.h"
#include "base/fs.h"
#include "results/store/db.h"
#include "results/store/store.h"

/* What stands in it; NULL: err says why. */
json_t *files_experiment_json(sqlite3 *db, const struct plan *plan, size_t number, struct err *err);

/* <id>/experiment.json, by write. written: of the bytes. */
bool files_write_experiment(int dir, sqlite3 *db, const struct plan *plan, size_t number, fs_write_fn *write,
                            struct digest *written, struct err *err);

/* Of a parallel experiment: "parallel" of each of the attempts that stand in tare, and of the last one. */
bool files_add_parallel(sqlite3 *db, int64_t number, json_t *tare, struct err *err);

#endif
