#include "results/store/import.h"
#include "results/store/evidence.h"
#include "results/store/jsonl.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Of lines read and not yet in run.db: as JSON they take some twenty times as much memory. */
enum { WAITING_MAX = 1 << 20 };

struct importing {
    struct store *store;
    struct import_lines lines;
    struct import_loss *loss;
    struct event last; /* without its data: when, in which session; session 0: nothing was taken */
};

static void lose(struct importing *importing, int64_t count, const struct err *why, size_t number)
{
    struct import_loss *loss = importing->loss;
    if (loss->events == 0) {
        loss->first = *why;
        err_wrap(&loss->first, "events.jsonl:%zu", number);
    }
    loss->events += (size_t)count;
}

static void add(struct importing *importing, const struct event *event)
{
    store_add(importing->store, event, NULL, NULL);
    importing->last = *event;
    importing->last.data = NULL;
}

static void add_implied(struct importing *importing, enum event_type type, const struct event *by,
                        int64_t attempt)
{
    struct event event = {.type = type,
                          .monotonic_ns = by->monotonic_ns,
                          .realtime_ns = by->realtime_ns,
                          .session = by->session,
                          .experiment = type == EVENT_SESSION_STARTED ? 0 : by->experiment,
                          .attempt = attempt};
    if (store_would_take(importing->store, &event, NULL))
        add(importing, &event);
}

/* Beginnings whose lines are lost are implied by what came of them; nothing else is, and least of
 * all a proof. */
static bool bridge(struct importing *importing, const struct event *event, struct err *why)
{
    const struct store_experiment *experiment =
        store_experiment(importing->store, (size_t)event->experiment);
    if (importing->loss->events == 0)
        return false;
    if (event->type != EVENT_SESSION_STARTED &&
        event->session == store_next_session(importing->store))
        add_implied(importing, EVENT_SESSION_STARTED, event, 0);
    if (experiment && event->attempt > 0) {
        if (experiment->state == STATE_PLANNED || experiment->state == STATE_DONE)
            add_implied(importing, EVENT_EXPERIMENT_STARTED, event, 0);
        if (event->type != EVENT_ATTEMPT_PREPARED && event->attempt == experiment->attempts + 1)
            add_implied(importing, EVENT_ATTEMPT_PREPARED, event, event->attempt);
    }
    return store_would_take(importing->store, event, why);
}

static void take_line(struct importing *importing, const char *line, size_t length, size_t number)
{
    struct event event;
    struct err why = {0};
    int64_t missing;
    bool usable = import_line_take(&importing->lines, line, length, &event, &missing, &why);
    if (missing > 0) {
        struct err gap;
        err_set(&gap, "%lld event%s missing before it", (long long)missing,
                missing == 1 ? " is" : "s are");
        lose(importing, missing, &gap, number);
    }
    /* What the other store says of its own files; this one writes its own. */
    if (usable && event.type == EVENT_FILES_WRITTEN) {
        event_fini(&event);
        return;
    }
    if (usable)
        usable =
            store_would_take(importing->store, &event, &why) || bridge(importing, &event, &why);
    if (usable)
        add(importing, &event);
    else
        lose(importing, 1, &why, number);
    event_fini(&event);
}

static bool take_lines(struct importing *importing, FILE *file, struct err *err)
{
    AUTO_TEXT struct text line = {0};
    struct err too_long;
    size_t number = 0, waiting = 0;
    int got;
    err_set(&too_long, "is longer than %d MiB", DB_CELL_MAX / (1 << 20));
    while ((got = fs_read_line(file, DB_CELL_MAX, &line)) != 0) {
        number++;
        if (got < 0) {
            importing->lines.seq++;
            lose(importing, 1, &too_long, number);
            continue;
        }
        if (text_get(&line)[line.length - 1] != '\n')
            return true; /* it is being written, or was when its writer died */
        take_line(importing, text_get(&line), line.length, number);
        waiting += line.length;
        if (waiting < WAITING_MAX)
            continue;
        if (!store_flush(importing->store, err))
            return false;
        waiting = 0;
    }
    return !ferror(file) || err_sys(err, "read events.jsonl");
}

/* Nobody knows what the lost lines spoke of. */
static void add_evidence(struct importing *importing, const struct import_source *source)
{
    int64_t number = source->experiment > 0 ? source->experiment : 1;
    const struct store_experiment *experiment = store_experiment(importing->store, (size_t)number);
    const struct import_loss *loss = importing->loss;
    if (loss->events == 0 || !experiment || experiment->attempts == 0 ||
        importing->last.session == 0)
        return;
    AUTO_FREE char *text =
        mem_printf("%s: %s; %zu event%s lost, the rest was read", source->name, loss->first.text,
                   loss->events, loss->events == 1 ? " is" : "s are");
    struct event event = importing->last;
    event.type = EVENT_EVIDENCE;
    event.experiment = number;
    event.attempt = experiment->attempts;
    event.data = evidence_json("records_lost", text);
    if (event.data)
        store_add(importing->store, &event, NULL, NULL);
    json_decref(event.data);
}

bool store_import(struct store *store, const struct import_source *source, struct import_loss *loss,
                  struct err *err)
{
    *loss = (struct import_loss){0};
    struct importing importing = {
        .store = store,
        .lines = {.experiment = source->experiment, .session_shift = store_next_session(store) - 1},
        .loss = loss,
    };
    AUTO_FILE FILE *file = jsonl_read(source->dir, err);
    bool ok = file && take_lines(&importing, file, err);
    add_evidence(&importing, source);
    return ok;
}

/* More are not believed: numbers are added to them. */
static const int64_t NUMBER_MAX = INT64_C(1) << 40;

/* The number that the line says it has, or that of the place where it stands. */
static bool take_seq(struct import_lines *lines, const json_t *json, int64_t *missing,
                     struct err *err)
{
    json_int_t seq = lines->seq + 1;
    if (json_get(json, "seq") &&
        (!json_get_int(json, "seq", &seq) || seq < 1 || seq > NUMBER_MAX)) {
        lines->seq++;
        return err_set(err, "has no number that can be");
    }
    /* It takes nobody's place. */
    if (seq <= lines->seq)
        return err_set(err, "is event %lld a second time", (long long)seq);
    *missing = seq - lines->seq - 1;
    lines->seq = seq;
    return true;
}

static bool place(const struct import_lines *lines, struct event *event, struct err *err)
{
    if (event->session < 1 || event->session > NUMBER_MAX)
        return err_set(err, "is of no session");
    event->session += lines->session_shift;
    if (lines->experiment == 0 || event->experiment == 0)
        return true;
    if (event->experiment != 1)
        return err_set(err, "is about experiment %lld, where there is but one",
                       (long long)event->experiment);
    event->experiment = lines->experiment;
    /* Numbers of a plan that has one experiment mean nothing here. */
    if (event->type == EVENT_EVIDENCE && json_get(event->data, "experiments"))
        json_object_set_new(event->data, "experiments", json_array());
    return true;
}

/* What the tables cannot be without. Whoever wrote the line may have been another version, or a
 * disk. */
static bool has_texts(const struct event *event, const char *const *keys, struct err *err)
{
    for (; *keys; keys++)
        if (!json_get_text(event->data, *keys))
            return err_set(err, "is a %s without '%s'", event_type_name(event->type), *keys);
    return true;
}

static bool is_whole(const struct event *event, struct err *err)
{
    static const char *const of_mark[] = {"name", "at", "source", NULL}, *const of_evidence[] = {
                                                                             "kind", "text", NULL};
    json_int_t t_ns;
    if (!event_is_journaled(event->type))
        return err_set(err, "is a %s, which no journal holds", event_type_name(event->type));
    if (event->type == EVENT_EVIDENCE)
        return has_texts(event, of_evidence, err);
    if (event->type != EVENT_MARK)
        return true;
    return has_texts(event, of_mark, err) &&
           (json_get_int(event->data, "t_ns", &t_ns) || err_set(err, "is a mark without 't_ns'"));
}

bool import_line_take(struct import_lines *lines, const char *line, size_t length,
                      struct event *out, int64_t *missing, struct err *err)
{
    json_error_t why;
    json_t *json = json_load_bounded(line, length, JSON_REJECT_DUPLICATES, &why);
    *missing = 0;
    *out = (struct event){0};
    bool parsed = json && event_from_json(json, out);
    if (!json)
        err_set(err, "%s", why.text);
    else if (!parsed)
        err_set(err, "is no event");
    if (!parsed)
        lines->seq++;
    bool fine = parsed && take_seq(lines, json, missing, err) && place(lines, out, err) &&
                is_whole(out, err);
    json_decref(json);
    if (!fine)
        event_fini(out);
    return fine;
}
