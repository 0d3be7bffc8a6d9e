/* experiment_json: writes experiment.json from run.db. */
#ifndef TARE_RESULTS_STORE_EXPERIMENT_JSON_H
#define TARE_RESULTS_STORE_EXPERIMENT_JSON_H

#include "results/store/tables.h"

/* What is in it; NULL: err says why. */
json_t *files_experiment_json(sqlite3 *db, const struct plan *plan, size_t number, struct err *err);

/* <id>/experiment.json, by write. written: of the bytes. */
bool files_write_experiment(int dir, sqlite3 *db, const struct plan *plan, size_t number,
                            fs_write_fn *write, struct digest *written, struct err *err);

/* Whether the first length bytes of two open files are the same. */
bool files_same_bytes(int a, int b, off_t length);

/* Of EVENT_GUARD: an energy net of the bare idle, which is known some time after its attempt has
 * ended, goes into the sums and devices of that attempt's energy. */
bool guard_json_net_write(sqlite3 *db, const struct event *event, struct err *err);

#endif
