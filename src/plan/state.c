/* The states of an experiment as a table: row the state, column the event, cell the state after it. */
#include "plan/event.h"

static const char *const state_names[STATE_COUNT] = {
    [STATE_PLANNED] = "planned",   [STATE_PREPARING] = "preparing", [STATE_RUNNING] = "running",
    [STATE_STOPPING] = "stopping", [STATE_VERIFYING] = "verifying", [STATE_DONE] = "done",
};

/* An empty cell (0) is no arrow, so a state stands in the table as its number plus one. */
#define TO(state) ((state) + 1)
#define STAYS(state)                                                                                                   \
    [EVENT_PAUSE] = TO(state), [EVENT_EVIDENCE] = TO(state), [EVENT_GUARD] = TO(state), [EVENT_NOTE] = TO(state),      \
    [EVENT_SESSION_STARTED] = TO(state), [EVENT_SESSION_ENDED] = TO(state), [EVENT_FILES_WRITTEN] = TO(state),         \
    [EVENT_BUDGET] = TO(state)

static const unsigned char arrows[STATE_COUNT][EVENT_TYPES] = {
    [STATE_PLANNED] =
        {
            STAYS(STATE_PLANNED),
            [EVENT_EXPERIMENT_STARTED] = TO(STATE_PREPARING),
        },
    [STATE_PREPARING] =
        {
            STAYS(STATE_PREPARING),
            [EVENT_EXPERIMENT_STARTED] = TO(STATE_PREPARING), /* a session died here; the next takes it up */
            [EVENT_ATTEMPT_PREPARED] = TO(STATE_PREPARING),
            [EVENT_JOB_BORN] = TO(STATE_PREPARING),
            [EVENT_ATTEMPT_STARTED] = TO(STATE_RUNNING),
            [EVENT_ATTEMPT_STOPPING] = TO(STATE_STOPPING),
            [EVENT_JOB_EXITED] = TO(STATE_PREPARING), /* died at its gate */
            [EVENT_JOB_PROVEN] = TO(STATE_VERIFYING),
            [EVENT_ATTEMPT_ENDED] = TO(STATE_VERIFYING), /* no job was ever born */
            [EVENT_EXPERIMENT_ENDED] = TO(STATE_DONE),
        },
    [STATE_RUNNING] =
        {
            STAYS(STATE_RUNNING), [EVENT_METRIC] = TO(STATE_RUNNING), [EVENT_MARK] = TO(STATE_RUNNING),
            [EVENT_JOB_BORN] = TO(STATE_RUNNING),   /* a background job starts again */
            [EVENT_JOB_EXITED] = TO(STATE_RUNNING), /* its exit, or the foreground's before the stop is written */
            [EVENT_ATTEMPT_STOPPING] = TO(STATE_STOPPING),
            [EVENT_JOB_PROVEN] = TO(STATE_VERIFYING), /* recovery of a dead session's job */
        },
    [STATE_STOPPING] =
        {
            STAYS(STATE_STOPPING),
            [EVENT_METRIC] = TO(STATE_STOPPING),
            [EVENT_MARK] = TO(STATE_STOPPING), /* what came last is written when all is gone */
            [EVENT_ATTEMPT_STOPPING] =
                TO(STATE_STOPPING), /* a second reason: interrupted while the timeout's grace runs */
            [EVENT_JOB_EXITED] = TO(STATE_STOPPING),
            [EVENT_JOB_PROVEN] = TO(STATE_VERIFYING),
        },
    [STATE_VERIFYING] =
        {
            STAYS(STATE_VERIFYING),
            [EVENT_METRIC] = TO(STATE_VERIFYING),
            [EVENT_JOB_EXITED] = TO(STATE_VERIFYING), /* the other job of a parallel experiment */
            [EVENT_JOB_PROVEN] = TO(STATE_VERIFYING),
            [EVENT_ATTEMPT_ENDED] = TO(STATE_VERIFYING),
            [EVENT_RETRY_PAUSE] = TO(STATE_VERIFYING),
            [EVENT_ATTEMPT_PREPARED] = TO(STATE_PREPARING),   /* the next attempt */
            [EVENT_EXPERIMENT_STARTED] = TO(STATE_PREPARING), /* taken up by a resume */
            [EVENT_EXPERIMENT_ENDED] = TO(STATE_DONE),
        },
    [STATE_DONE] =
        {
            STAYS(STATE_DONE), [EVENT_EXPERIMENT_AGAIN] = TO(STATE_DONE),
            [EVENT_EXPERIMENT_STARTED] = TO(STATE_PREPARING), /* interrupted, or planned again */
        },
};

const char *state_name(enum experiment_state state)
{
    return state_names[state];
}

bool state_next(enum experiment_state state, enum event_type type, enum experiment_state *out)
{
    unsigned char cell = arrows[state][type];
    if (cell == 0)
        return false;
    *out = (enum experiment_state)(cell - 1);
    return true;
}
