/* Replays events in order: checks each, and tracks the state of experiments and jobs. */
#ifndef TARE_RESULTS_STORE_REPLAY_H
#define TARE_RESULTS_STORE_REPLAY_H

#include "results/store/store.h"
#include "results/store/tables.h"

/* What an attempt used, of the data of its EVENT_ATTEMPT_ENDED: gross, GPU boards and CPU packages,
 * as far as they are measured. */
struct reading attempt_energy_j(const json_t *ended);

void journal_replay_init(struct journal_replay *replay, size_t count);
void journal_replay_fini(struct journal_replay *replay);

/* Whether the event may be written, and the state of its experiment after it (PLANNED when it is
 * about the run). */
bool journal_replay_check(const struct journal_replay *replay, const struct event *event,
                          enum experiment_state *after, struct err *err);

/* Takes the event in; it was checked. */
void journal_replay_apply(struct journal_replay *replay, const struct event *event,
                          enum experiment_state after);

/* Both: of an event that was written before. */
bool journal_replay_take(struct journal_replay *replay, const struct event *event,
                         enum experiment_state *after, struct err *err);

/* The event's "outcome", OUTCOME_NONE when it has none. */
enum outcome event_outcome(const struct event *event);

/* False: of an experiment that ended before its first attempt. */
bool event_begun(const struct event *event);

/* As state_next, but an experiment that was not begun is planned still. */
bool event_state_after(const struct event *event, enum experiment_state state,
                       enum experiment_state *after);

/* The event's "role": "foreground" when it names none. */
const char *event_role(const struct event *event);

#endif
