/* view: what the journal says of each experiment, kept in memory so that the loop never asks the disk; and the check
 * that an event fits behind those before it. Private to store/. */
#ifndef TARE_RESULTS_STORE_VIEW_H
#define TARE_RESULTS_STORE_VIEW_H

#include "results/store/store.h"

struct view {
    struct store_experiment *items; /* by number - 1 */
    size_t count;
    int64_t last_session;
};

void view_init(struct view *view, size_t count);
void view_fini(struct view *view);

/* Whether the event may be written, and the state of its experiment after it (PLANNED when it is about the run). */
bool view_check(const struct view *view, const struct event *event, enum experiment_state *after, struct err *err);

/* Takes the event in; it was checked. */
void view_apply(struct view *view, const struct event *event, enum experiment_state after);

/* The event's "outcome", OUTCOME_NONE when it has none. */
enum outcome event_outcome(const struct event *event);

/* The event's "role": "foreground" when it names none. */
const char *event_role(const struct event *event);

#endif
