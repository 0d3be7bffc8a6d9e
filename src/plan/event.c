#include "plan/event.h"

#include "base/clock.h"

#include <string.h>

static const char *const type_names[EVENT_TYPES] = {
    [EVENT_SESSION_STARTED] = "session_started",
    [EVENT_EXPERIMENT_STARTED] = "experiment_started",
    [EVENT_ATTEMPT_PREPARED] = "attempt_prepared",
    [EVENT_JOB_BORN] = "job_born",
    [EVENT_ATTEMPT_STARTED] = "attempt_started",
    [EVENT_METRIC] = "metric",
    [EVENT_MARK] = "mark",
    [EVENT_ATTEMPT_STOPPING] = "attempt_stopping",
    [EVENT_JOB_EXITED] = "job_exited",
    [EVENT_JOB_PROVEN] = "job_proven",
    [EVENT_ATTEMPT_ENDED] = "attempt_ended",
    [EVENT_RETRY_PAUSE] = "retry_pause",
    [EVENT_EXPERIMENT_ENDED] = "experiment_ended",
    [EVENT_PAUSE] = "pause",
    [EVENT_EVIDENCE] = "evidence",
    [EVENT_GUARD] = "guard",
    [EVENT_NOTE] = "note",
    [EVENT_BUDGET] = "budget",
    [EVENT_SESSION_ENDED] = "session_ended",
    [EVENT_EXPERIMENT_AGAIN] = "experiment_again",
    [EVENT_CALIBRATION] = "calibration",
    [EVENT_FILES_WRITTEN] = "files_written",
};

static const char *const outcome_names[] = {
    [OUTCOME_NONE] = "none",
    [OUTCOME_SUCCEEDED] = "succeeded",
    [OUTCOME_FAILED] = "failed",
    [OUTCOME_INTERRUPTED] = "interrupted",
};

/* count: not found. */
static unsigned find_name_index(const char *const *names, unsigned count, const char *name)
{
    unsigned i = 0;
    while (i < count && strcmp(name, names[i]) != 0)
        i++;
    return i;
}

void event_fini(struct event *event)
{
    json_decref(event->data);
    *event = (struct event){0};
}

const char *event_type_name(enum event_type type)
{
    return type_names[type];
}

bool event_type_parse(const char *name, enum event_type *out)
{
    unsigned place = find_name_index(type_names, EVENT_TYPES, name);
    if (place < EVENT_TYPES)
        *out = (enum event_type)place;
    return place < EVENT_TYPES;
}

bool event_is_journaled(enum event_type type)
{
    return type != EVENT_METRIC && type != EVENT_NOTE;
}

const char *outcome_name(enum outcome outcome)
{
    return outcome_names[outcome];
}

bool outcome_parse(const char *name, enum outcome *out)
{
    unsigned place = find_name_index(outcome_names, OUTCOME_INTERRUPTED + 1, name);
    if (place <= OUTCOME_INTERRUPTED)
        *out = (enum outcome)place;
    return place <= OUTCOME_INTERRUPTED;
}

json_t *event_to_json(const struct event *event)
{
    char time[40];
    clock_format_iso_offset(event->realtime_ns, clock_local_offset_s(event->realtime_ns), time);
    return json_pack(
        "{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:o}", "type", event_type_name(event->type), "time",
        time, "realtime_ns", (json_int_t)event->realtime_ns, "monotonic_ns",
        (json_int_t)event->monotonic_ns, "session", (json_int_t)event->session, "experiment",
        (json_int_t)event->experiment, "attempt", (json_int_t)event->attempt, "data",
        event->data ? json_incref(event->data) : json_object());
}

bool event_from_json(const json_t *json, struct event *out)
{
    const char *type;
    json_t *data;
    json_int_t realtime_ns, monotonic_ns, session, experiment, attempt;
    struct event event = {0};
    if (json_unpack((json_t *)json, "{s:s, s:o, s:I, s:I, s:I, s:I, s:I}", "type", &type, "data",
                    &data, "realtime_ns", &realtime_ns, "monotonic_ns", &monotonic_ns, "session",
                    &session, "experiment", &experiment, "attempt", &attempt) != 0 ||
        !event_type_parse(type, &event.type) || !json_is_object(data))
        return false;
    *out = (struct event){event.type, monotonic_ns, realtime_ns,      session,
                          experiment, attempt,      json_incref(data)};
    return true;
}

/* ---- The states of an experiment as a table: row the state, column the event, cell the state
 * after it. */

static const char *const state_names[STATE_COUNT] = {
    [STATE_PLANNED] = "planned",   [STATE_PREPARING] = "preparing", [STATE_RUNNING] = "running",
    [STATE_STOPPING] = "stopping", [STATE_VERIFYING] = "verifying", [STATE_DONE] = "done",
};

/* An empty cell (0) is no arrow, so a state is in the table as its number plus one. */
#define TO(state) ((state) + 1)
#define STAYS(state)                                                                    \
    [EVENT_PAUSE] = TO(state), [EVENT_EVIDENCE] = TO(state), [EVENT_GUARD] = TO(state), \
    [EVENT_NOTE] = TO(state), [EVENT_SESSION_STARTED] = TO(state),                      \
    [EVENT_SESSION_ENDED] = TO(state), [EVENT_FILES_WRITTEN] = TO(state),               \
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
            /* a session died here; the next takes it up */
            [EVENT_EXPERIMENT_STARTED] = TO(STATE_PREPARING),
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
            STAYS(STATE_RUNNING), [EVENT_METRIC] = TO(STATE_RUNNING),
            [EVENT_MARK] = TO(STATE_RUNNING),
            [EVENT_JOB_BORN] = TO(STATE_RUNNING), /* a background job starts again */
            /* its exit, or the foreground's before the stop is written */
            [EVENT_JOB_EXITED] = TO(STATE_RUNNING), [EVENT_ATTEMPT_STOPPING] = TO(STATE_STOPPING),
            [EVENT_JOB_PROVEN] = TO(STATE_VERIFYING), /* recovery of a dead session's job */
        },
    [STATE_STOPPING] =
        {
            STAYS(STATE_STOPPING),
            [EVENT_METRIC] = TO(STATE_STOPPING),
            [EVENT_MARK] = TO(STATE_STOPPING), /* what came last is written when all is gone */
            /* a second reason: interrupted while the timeout's grace runs */
            [EVENT_ATTEMPT_STOPPING] = TO(STATE_STOPPING),
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
