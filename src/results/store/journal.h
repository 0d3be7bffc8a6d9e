/* journal: writes each event, and the rows that follow from it, to run.db. */
#ifndef TARE_RESULTS_STORE_JOURNAL_H
#define TARE_RESULTS_STORE_JOURNAL_H

#include "results/store/tables.h"

/* In a transaction: one event as number seq, and the tables behind it. after: the state of its
 * experiment then. */
bool journal_write(sqlite3 *db, int64_t seq, const struct event *event, enum experiment_state after,
                   struct err *err);

/* What such a cell says of a moment; false: nothing. */
bool journal_offset(sqlite3_stmt *row, int column, int64_t realtime_ns, int64_t *offset_s);

/* Which attempt an experiment's result is of; 0: there is none. */
bool journal_result_attempt(sqlite3 *db, int64_t experiment, int64_t *out, struct err *err);

bool journal_last_seq(sqlite3 *db, int64_t *out, struct err *err);

bool journal_each(sqlite3 *db, journal_each_fn *each, void *context, struct err *err);

/* The whole journal into an empty replay. */
bool journal_replay_all(sqlite3 *db, struct journal_replay *replay, struct err *err);

/* In a transaction: the plan of a new run. And the plan read back. */
bool journal_write_plan(sqlite3 *db, const struct plan *plan, struct err *err);
bool journal_read_plan(sqlite3 *db, struct plan *out, struct err *err);

#endif
