/* journal: events into run.db and back. What runs inside a transaction of the caller's says so. Private to store/. */
#ifndef TARE_RESULTS_STORE_JOURNAL_H
#define TARE_RESULTS_STORE_JOURNAL_H

#include "results/store/db.h"
#include "results/store/store.h"
#include "results/store/replay.h"

/* In a transaction: one event as number seq, and the tables behind it. after: the state of its experiment then. */
bool journal_write(sqlite3 *db, int64_t seq, const struct event *event, enum experiment_state after, struct err *err);

/* The zone of a session's times (base/clock.h) is in meta under this and the session's number; sessions of older
 * versions have none. JOURNAL_ZONE_OF: an expression of SQL for the zone of a session. */
#define JOURNAL_ZONE             "zone."
#define JOURNAL_ZONE_OF(session) "(SELECT value FROM meta WHERE key = '" JOURNAL_ZONE "' || " session ")"

/* What such a cell says of a moment; false: nothing. */
bool journal_offset(sqlite3_stmt *row, int column, int64_t realtime_ns, int64_t *offset_s);

/* Which attempt an experiment's result is of; 0: there is none. */
bool journal_result_attempt(sqlite3 *db, int64_t experiment, int64_t *out, struct err *err);

bool journal_last_seq(sqlite3 *db, int64_t *out, struct err *err);

/* Calls each for every event after seq `behind`, in order, until it says false. */
typedef bool journal_each_fn(void *context, int64_t seq, const struct event *event, struct err *err);
bool journal_each(sqlite3 *db, int64_t behind, journal_each_fn *each, void *context, struct err *err);

/* The whole journal into an empty replay. */
bool journal_replay_all(sqlite3 *db, struct journal_replay *replay, struct err *err);

/* In a transaction: the plan of a new run. And the plan read back. */
bool journal_write_plan(sqlite3 *db, const struct plan *plan, struct err *err);
bool journal_read_plan(sqlite3 *db, struct plan *out, struct err *err);

#endif
