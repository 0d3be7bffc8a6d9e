/* results: reads the results of a run from run.db. */
#ifndef TARE_RESULTS_STORE_RESULTS_H
#define TARE_RESULTS_STORE_RESULTS_H

#include "results/store/store.h"
#include "results/store/tables.h"

bool results_read(const char *run_dir, struct results *out, struct err *err);

/* The same of an open folder; run_dir is for messages. */
bool results_read_at(int dir, const char *run_dir, struct results *out, struct err *err);

void results_fini(struct results *results);

/* {"time": "clean", ...} of the quantities that a row has; a new reference. */
json_t *facts_verdicts_json(const struct verdicts *verdicts);

/* Of a live, a finished or a crashed run, without changing a byte of it. */
bool facts_read(const char *run_dir, struct facts *out, struct err *err);
void facts_fini(struct facts *facts);

/* Of the experiments numbered first to first + count - 1, in the plan's order; the caller frees. */
bool result_items_load(sqlite3 *db, const struct plan *plan, size_t first, size_t count,
                       struct result **out, struct err *err);
void result_items_free(struct result *items, size_t count);

/* The plan and its items. */
bool results_load(sqlite3 *db, struct results *out, struct err *err);

#endif
