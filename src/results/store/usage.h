/* usage: how long each GPU slot of a run was used, from the sessions in run.db. */
#ifndef TARE_RESULTS_STORE_USAGE_H
#define TARE_RESULTS_STORE_USAGE_H

#include "results/store/tables.h"

/* docs/reference/files.md describes it; null: there is but one lane. */
bool usage_json(sqlite3 *db, const struct plan *plan, json_t **out, struct err *err);

#endif
