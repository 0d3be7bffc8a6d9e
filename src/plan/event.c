#include "plan/event.h"

#include "base/clock.h"
#include "base/json.h"

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

#define OUTCOMES (sizeof outcome_names / sizeof *outcome_names)

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
    for (unsigned i = 0; i < EVENT_TYPES; i++) {
        if (strcmp(name, type_names[i]) == 0) {
            *out = (enum event_type)i;
            return true;
        }
    }
    return false;
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
    for (unsigned i = 0; i < OUTCOMES; i++) {
        if (strcmp(name, outcome_names[i]) == 0) {
            *out = (enum outcome)i;
            return true;
        }
    }
    return false;
}

json_t *event_to_json(const struct event *event)
{
    char time[40];
    clock_format_iso_offset(event->realtime_ns, clock_local_offset_s(event->realtime_ns), time);
    json_t *json = json_object();
    json_object_set_new(json, "type", json_string(event_type_name(event->type)));
    json_object_set_new(json, "time", json_string(time));
    json_object_set_new(json, "realtime_ns", json_integer(event->realtime_ns));
    json_object_set_new(json, "monotonic_ns", json_integer(event->monotonic_ns));
    json_object_set_new(json, "session", json_integer(event->session));
    json_object_set_new(json, "experiment", json_integer(event->experiment));
    json_object_set_new(json, "attempt", json_integer(event->attempt));
    if (event->data)
        json_object_set(json, "data", event->data);
    else
        json_object_set_new(json, "data", json_object());
    return json;
}

static bool read_integer(const json_t *json, const char *key, int64_t *out)
{
    json_int_t number = 0;
    if (!json_get_int(json, key, &number))
        return false;
    *out = number;
    return true;
}

bool event_from_json(const json_t *json, struct event *out)
{
    struct event event = {0};
    const char *type = json_get_text(json, "type");
    json_t *data = json_object_get(json, "data");
    if (!type || !event_type_parse(type, &event.type) || !json_is_object(data))
        return false;
    if (!read_integer(json, "realtime_ns", &event.realtime_ns) ||
        !read_integer(json, "monotonic_ns", &event.monotonic_ns) || !read_integer(json, "session", &event.session) ||
        !read_integer(json, "experiment", &event.experiment) || !read_integer(json, "attempt", &event.attempt))
        return false;
    event.data = json_incref(data);
    *out = event;
    return true;
}
