/* memory: writes the memory figures of attempts to run.db, and reads them. */
#ifndef TARE_RESULTS_STORE_MEMORY_H
#define TARE_RESULTS_STORE_MEMORY_H

#include "results/store/tables.h"

/* Of EVENT_ATTEMPT_PREPARED ("changed") and EVENT_ATTEMPT_ENDED ("oom", "memory", "snapshot"). */
bool memory_write(sqlite3 *db, const struct event *event, struct err *err);

/* Into each of an experiment's attempts (as experiment.json has them): "changed", "oom", "memory"
 * and "snapshot", where there is any of them. */
bool memory_add(sqlite3 *db, int64_t experiment, json_t *attempts, struct err *err);

/* What the ends of the attempts that are in tare said: "gpu_memory" into those whose job was
 * followed, what libtare-cuda.so counted in it; of a parallel experiment "parallel" into each, and
 * into tare that of the last one. */
bool memory_add_ended(sqlite3 *db, const struct plan_experiment *experiment, json_t *tare,
                      struct err *err);

/* memory and energy: an attempt's, as the tables have them (may be NULL). */
struct memory_peak memory_peak(const json_t *memory, const json_t *energy, bool parallel);
json_t *memory_peak_json(const struct memory_peak *peak); /* null: not known */

#endif
