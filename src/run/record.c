/* Events on their way into the journal, and what follows each. */
#include "run/runner.h"

#include "base/clock.h"
#include "base/mem.h"

struct record {
    struct runner *runner;
    struct event event; /* without data when it is only a wait for files */
    struct lane *lane;
    lane_step *next;
};

static struct event make_event(const struct runner *runner, const struct runner_entry *entry)
{
    return (struct event){
        .type = entry->type,
        .monotonic_ns = clock_monotonic_ns(),
        .realtime_ns = clock_realtime_ns(),
        .session = runner->session,
        .experiment = entry->experiment,
        .attempt = entry->attempt,
        .data = entry->data ? entry->data : json_object(),
    };
}

static void listen(const struct runner *runner, const struct event *event)
{
    const struct run_listener *listener = &runner->request->listener;
    if (listener->event)
        listener->event(listener->context, event);
}

static void journal_lost(struct runner *runner, const struct err *cause)
{
    struct err err = *cause;
    err_wrap(&err, "the run cannot be recorded");
    runner->mute = true;
    runner_break_disk(runner, &err);
}

static void recorded(void *context, bool ok, const struct err *err)
{
    struct record *record = context;
    struct runner *runner = record->runner;
    if (!ok && !runner->mute)
        journal_lost(runner, err);
    if (ok && record->event.data)
        listen(runner, &record->event);
    if (record->next)
        record->next(record->lane);
    event_fini(&record->event);
    free(record);
}

static struct record *record_new(struct runner *runner, struct lane *lane, lane_step *next)
{
    struct record *record = mem_alloc(sizeof *record);
    *record = (struct record){.runner = runner, .lane = lane, .next = next};
    return record;
}

void runner_record(struct runner *runner, struct runner_entry entry)
{
    if (runner->mute) {
        json_decref(entry.data);
        if (entry.next)
            entry.next(entry.lane);
        return;
    }
    struct record *record = record_new(runner, entry.lane, entry.next);
    record->event = make_event(runner, &entry);
    store_add(runner->request->store, &record->event, recorded, record);
}

void runner_write_results(struct runner *runner, size_t number, struct lane *lane, lane_step *next)
{
    if (!runner->mute)
        store_write_results(runner->request->store, number, recorded, record_new(runner, lane, next));
    else if (next)
        next(lane);
}

void runner_say(struct runner *runner, char *text)
{
    json_t *data = json_object();
    json_object_set_new(data, "text", json_string(text));
    free(text);
    runner_tell(runner, (struct runner_entry){.type = EVENT_NOTE, .data = data});
}

void runner_tell(struct runner *runner, struct runner_entry entry)
{
    struct event event = make_event(runner, &entry);
    listen(runner, &event);
    event_fini(&event);
}
