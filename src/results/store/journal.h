/* journal: events into run.db and back. What runs inside a transaction of the caller's says so. Private to store/. */
#ifndef TARE_RESULTS_STORE_JOURNAL_H
#define TARE_RESULTS_STORE_JOURNAL_H

#include "results/store/db.h"
#include "results/store/store.h"

/* Events in their order, into what is known of each experiment: that of a run that is opened, and of each event that is added.
 * Kept in memory, so that the loop never asks the disk. And the check that an event fits behind those before it. (replay.c) */

struct journal_replay {
    struct store_experiment *items; /* by number - 1 */
    size_t count;
    int64_t last_session;
    int64_t last_ns; /* of the session's last event */
    struct store_use use;
    struct run_budget budget; /* of the last session that said one */
};

void journal_replay_init(struct journal_replay *replay, size_t count);
void journal_replay_fini(struct journal_replay *replay);

/* Whether the event may be written, and the state of its experiment after it (PLANNED when it is about the run). */
bool journal_replay_check(const struct journal_replay *replay, const struct event *event, enum experiment_state *after,
                          struct err *err);

/* Takes the event in; it was checked. */
void journal_replay_apply(struct journal_replay *replay, const struct event *event, enum experiment_state after);

/* Both: of an event that was written before. */
bool journal_replay_take(struct journal_replay *replay, const struct event *event, enum experiment_state *after,
                         struct err *err);

/* The event's "outcome", OUTCOME_NONE when it has none. */
enum outcome event_outcome(const struct event *event);

/* The event's "role": "foreground" when it names none. */
const char *event_role(const struct event *event);

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
