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
    [EVENT_FILES_WRITTEN] = "files_written",
    [EVENT_RECORDS_CLOSED] = "records_closed",
};

static const char *const outcome_names[] = {
    [OUTCOME_NONE] = "none",
    [OUTCOME_SUCCEEDED] = "succeeded",
    [OUTCOME_FAILED] = "failed",
    [OUTCOME_INTERRUPTED] = "interrupted",
};

/* The place of name among count of them; count: it is none. */
static unsigned find_name(const char *const *names, unsigned count, const char *name)
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
    unsigned place = find_name(type_names, EVENT_TYPES, name);
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
    unsigned place = find_name(outcome_names, OUTCOME_INTERRUPTED + 1, name);
    if (place <= OUTCOME_INTERRUPTED)
        *out = (enum outcome)place;
    return place <= OUTCOME_INTERRUPTED;
}

json_t *event_to_json(const struct event *event)
{
    char time[40];
    clock_format_iso_offset(event->realtime_ns, clock_local_offset_s(event->realtime_ns), time);
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:o}", "type", event_type_name(event->type), "time", time,
                     "realtime_ns", (json_int_t)event->realtime_ns, "monotonic_ns", (json_int_t)event->monotonic_ns,
                     "session", (json_int_t)event->session, "experiment", (json_int_t)event->experiment, "attempt",
                     (json_int_t)event->attempt, "data", event->data ? json_incref(event->data) : json_object());
}

bool event_from_json(const json_t *json, struct event *out)
{
    const char *type;
    json_t *data;
    json_int_t realtime_ns, monotonic_ns, session, experiment, attempt;
    struct event event = {0};
    if (json_unpack((json_t *)json, "{s:s, s:o, s:I, s:I, s:I, s:I, s:I}", "type", &type, "data", &data, "realtime_ns",
                    &realtime_ns, "monotonic_ns", &monotonic_ns, "session", &session, "experiment", &experiment,
                    "attempt", &attempt) != 0 ||
        !event_type_parse(type, &event.type) || !json_is_object(data))
        return false;
    *out = (struct event){event.type, monotonic_ns, realtime_ns, session, experiment, attempt, json_incref(data)};
    return true;
}
