/* usage: how long each GPU slot of a run was used, from the sessions in run.db. */
#ifndef TARE_RESULTS_STORE_USAGE_H
#define TARE_RESULTS_STORE_USAGE_H

#include "results/store/tables.h"

/* The lanes of a live, finished, crashed or collected run, by its journal alone; empty: the run has
 * one lane. */
bool usage_read(sqlite3 *db, const struct plan *plan, struct lane_uses *out, struct err *err);

void lane_uses_fini(struct lane_uses *lanes);

/* Without the spans of the lanes; null: one lane. A new reference. */
json_t *lane_uses_json(const struct lane_uses *lanes);

/* As usage_read, for the page (docs/reference/files.md), with the spans of each lane; null: one
 * lane. */
bool usage_json(sqlite3 *db, const struct plan *plan, json_t **out, struct err *err);

#endif
