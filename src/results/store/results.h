/* results: the tables of run.db as structs. Private to store/. */
#ifndef TARE_RESULTS_STORE_RESULTS_H
#define TARE_RESULTS_STORE_RESULTS_H

#include "results/store/db.h"
#include "results/store/store.h"

/* Of the experiments numbered first to first + count - 1, in the plan's order; the caller frees. */
bool result_items_load(sqlite3 *db, const struct plan *plan, size_t first, size_t count, struct result **out,
                       struct err *err);
void result_items_free(struct result *items, size_t count);

/* The plan and its items. */
bool results_load(sqlite3 *db, struct results *out, struct err *err);

/* What the last session said of its budget; NULL: it had none. A new reference. */
bool results_load_budget(sqlite3 *db, json_t **out, struct err *err);

/* As results_read_json gives it. */
bool results_load_json(sqlite3 *db, json_t **out, struct err *err);

/* A private copy of a run's database, live or not, in files without a name ($TMPDIR): nothing of it is left, however
 * the reader ends. */
struct snapshot_files;
struct snapshot {
    struct snapshot_files *files;
    sqlite3 *db;
};
bool snapshot_open(const char *run_dir, struct snapshot *out, struct err *err);
void snapshot_close(struct snapshot *snapshot);

#endif
