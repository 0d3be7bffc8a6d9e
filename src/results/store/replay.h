/* replay: events in their order, into what is known of each experiment: that of a run that is opened, and of each event that is added.
 * Kept in memory, so that the loop never asks the disk. And the check that an event fits behind those before it. Private to store/. */
#ifndef TARE_RESULTS_STORE_REPLAY_H
#define TARE_RESULTS_STORE_REPLAY_H

#include "results/store/store.h"

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
bool journal_replay_check(const struct journal_replay *replay, const struct event *event, enum experiment_state *after, struct err *err);

/* Takes the event in; it was checked. */
void journal_replay_apply(struct journal_replay *replay, const struct event *event, enum experiment_state after);

/* Both: of an event that was written before. */
bool journal_replay_take(struct journal_replay *replay, const struct event *event, enum experiment_state *after, struct err *err);

/* The event's "outcome", OUTCOME_NONE when it has none. */
enum outcome event_outcome(const struct event *event);

/* The event's "role": "foreground" when it names none. */
const char *event_role(const struct event *event);

#endif
