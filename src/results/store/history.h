/* history: what the metrics' patterns matched, match by match: into the table, and out of it. */
#ifndef TARE_RESULTS_STORE_HISTORY_H
#define TARE_RESULTS_STORE_HISTORY_H

#include "results/store/store.h"
#include "results/store/tables.h"

/* Those of a run that are kept, by experiment, attempt, metric and step, read as facts_read does.
 * False: each gave false, or err says what else. */
bool history_each(const char *run_dir, history_each_fn *each, void *context, struct err *err);

/* "metric,epoch,step,seconds,value" and a newline. */
void history_add_cells(const struct history_point *point, struct text *out);

/* Of EVENT_ATTEMPT_ENDED: its "history" into the table. */
bool history_write(sqlite3 *db, const struct event *event, struct err *err);

/* Of each metric with a known goal the best finite number of the last attempt, and where it was:
 * {"value", "goal", "epoch", "step", "seconds"}; null: there is none. */
bool history_add_best(sqlite3 *db, const struct plan_experiment *experiment, json_t *out,
                      struct err *err);

/* The curves of the last attempt: {metric: {"step", "epoch" (no key: not known), "seconds",
 * "value"}}, lists of the same length of about so many points at most: of each stretch the lowest,
 * the highest and what is no finite number; the first and the last. thinned: set where points were
 * left out, here or when they were recorded. */
bool history_add_curves(sqlite3 *db, int64_t experiment, size_t points, json_t *out, bool *thinned,
                        struct err *err);

/* history.csv in the experiment's folder, with all its attempts; none where no metric was
 * matched. */
bool history_write_file(int folder, sqlite3 *db, int64_t experiment, fs_write_fn *write,
                        struct err *err);

#endif
