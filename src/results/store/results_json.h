/* The JSON of a run for its page: sessions, pauses, experiments and curves. */
#ifndef TARE_RESULTS_STORE_RESULTS_JSON_H
#define TARE_RESULTS_STORE_RESULTS_JSON_H

#include "results/store/store.h"
#include "results/store/tables.h"

/* All of it as JSON, for a page: {"name", "seed", "sessions": [...], "pauses": [{"from_ms",
 * "seconds", "why"}], "lanes":
 * {...} (docs/reference/files.md), or null where there is one, "counts": {"experiments",
 * "succeeded", "failed", "clean", "suspect", "contaminated", "unjudged"}, "experiments": at most
 * 2000 of them, those that failed or are not clean first, then the latest: [what experiment.json
 * holds, and "number", "mode", "spans":
 * [{"attempt", "from_ms", "to_ms", "outcome"}]]}; _ms: since 1970. Reads as results_read does. A
 * new reference; NULL: err says why. */
json_t *results_read_json(const char *run_dir, struct err *err);

/* Whether the last session in what results_read_json gave has ended, or none began. */
bool results_json_has_ended(const json_t *run);

/* Removes these experiments from it, and adds why to its problems. */
void results_json_leave_out(json_t *run, const struct strv *ids, const char *why);

/* As results_read_json gives it. */
bool results_load_json(sqlite3 *db, json_t **out, struct err *err);

#endif
