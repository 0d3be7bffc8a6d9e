/* A run as it is now (results/store/live.h): what run.db says when it is opened, and what
 * events.jsonl adds from then on. */
#include "base/fs_path.h"
#include "results/store/energy.h"
#include "results/store/live.h"
#include "results/store/lock.h"
#include "results/store/replay.h"
#include "results/store/results.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* At the start so much of events.jsonl is read for what happened last; in one update at most so
 * much of what is new. */
enum { TAIL_BYTES = 1 << 20, STEP_BYTES = 8 << 20, LINE_BYTES = 64 << 20 };

/* A runner on another host is known to live while it replaces live.json. */
static const int64_t ELSEWHERE_NS = 90 * NS_PER_S;

static void drop_rows(struct live_run *run)
{
    EACH (experiment, run->experiments, run->plan.count) {
        free(experiment->evidence);
        free(experiment->failure);
        free(experiment->error);
        json_decref(experiment->metrics);
    }
    free(run->experiments);
    plan_fini(&run->plan);
}

static void put_text(char **at, const char *text)
{
    free(*at);
    *at = text ? mem_strdup(text) : NULL;
}

static void add_evidence(struct live_experiment *row, enum evidence_weight weight, const char *text)
{
    if (row->has_evidence && weight <= row->weight)
        return;
    row->has_evidence = true;
    row->weight = weight;
    put_text(&row->evidence, text);
}

static void clear_evidence(struct live_experiment *row)
{
    row->has_evidence = false;
    put_text(&row->evidence, NULL);
}

static json_t *metrics_of(const struct result *item)
{
    if (item->outcome == OUTCOME_NONE)
        return NULL;
    json_t *out = json_object();
    EACH (metric, item->metrics, item->metric_count)
        json_object_set_new(out, metric->name,
                            metric->valid ? json_finite(metric->value) : json_null());
    return out;
}

static void take_result(struct live_experiment *row, const struct result *item)
{
    row->state = item->state;
    row->outcome = item->outcome;
    row->again = item->again;
    row->verdict = item->verdict;
    row->ended_ns = item->ended_realtime_ns;
    row->duration_s = item->duration_s;
    row->energy = item->energy;
    row->used = item->used;
    row->attempts = item->used.attempts;
    put_text(&row->failure, item->failure);
    put_text(&row->error, item->error);
    json_decref(row->metrics);
    row->metrics = metrics_of(item);
    EACH (entry, item->evidence, item->evidence_count)
        add_evidence(row, entry->weight, entry->text);
}

/* The plan and all results anew. */
static bool load(struct live_run *run, struct err *err)
{
    struct results results;
    if (!results_read_at(run->reader->dir, run->dir, &results, err))
        return false;
    struct live_experiment *rows =
        mem_array(results.plan.count ? results.plan.count : 1, sizeof *rows);
    run->version++;
    for (size_t i = 0; i < results.plan.count; i++) {
        rows[i] =
            (struct live_experiment){.plan = &results.plan.experiments[i], .version = run->version};
        if (i < run->plan.count) { /* what run.db does not tell */
            rows[i].attempts = run->experiments[i].attempts;
            rows[i].started_ns = run->experiments[i].started_ns;
        }
        if (i < results.count)
            take_result(&rows[i], &results.items[i]);
    }
    drop_rows(run);
    run->experiments = rows;
    run->plan = results.plan;
    results.plan = (struct plan){0};
    results_fini(&results);
    return true;
}

/* The verdict is not in the events: it is made of them, and in the file that the store wrote. */
static void read_verdict(const struct live_run *run, struct live_experiment *row)
{
    AUTO_TEXT struct text text = {0};
    AUTO_CLOSE int folder = fs_open_folder_beneath(run->reader->dir, row->plan->id);
    if (folder < 0 || !fs_read_at(folder, "experiment.json", LINE_BYTES, &text, NULL))
        return;
    json_t *json = json_load_bounded(text_get(&text), text.length, 0, NULL);
    const char *name = json_get_text(json_get(json, "tare"), "verdict");
    if (name && !verdict_parse(name, &row->verdict))
        row->verdict = VERDICT_NONE;
    json_decref(json);
}

static void take_attempt_end(struct live_experiment *row, const struct event *event)
{
    const json_t *data = event->data, *energy = json_get(data, "energy");
    json_get_number(data, "duration_s", &row->duration_s);
    row->energy = energy_result(energy);
    energy_use(&row->used, event->attempt, energy);
    put_text(&row->error, json_get_text(data, "error"));
    put_text(&row->failure, json_get_text(json_get(data, "failure"), "cause"));
    json_decref(row->metrics);
    row->metrics = json_incref(json_object_get(data, "metrics"));
}

static void take_experiment_event(struct live_run *run, struct live_experiment *row,
                                  const struct event *event)
{
    const char *name;
    enum experiment_state after;
    if (event_state_after(event, row->state, &after))
        row->state = after;
    row->version = run->version;
    switch (event->type) {
    case EVENT_EXPERIMENT_STARTED:
        row->outcome = OUTCOME_NONE;
        row->ended_ns = 0;
        break;
    case EVENT_ATTEMPT_PREPARED:
        row->attempts = event->attempt;
        row->started_ns = 0;
        clear_evidence(row);
        break;
    case EVENT_ATTEMPT_STARTED:
        row->started_ns = event->realtime_ns;
        break;
    case EVENT_ATTEMPT_ENDED:
        take_attempt_end(row, event);
        break;
    case EVENT_EXPERIMENT_ENDED:
        name = json_get_text(event->data, "outcome");
        if (!name || !outcome_parse(name, &row->outcome))
            row->outcome = OUTCOME_NONE;
        row->again = row->again && row->outcome == OUTCOME_INTERRUPTED;
        row->ended_ns = event->realtime_ns;
        break;
    case EVENT_FILES_WRITTEN:
        read_verdict(run, row);
        break;
    case EVENT_EXPERIMENT_AGAIN:
        row->again = true;
        break;
    case EVENT_EVIDENCE:
        name = json_get_text(event->data, "kind");
        add_evidence(row, evidence_weight(name), json_get_text(event->data, "text"));
        break;
    default:
        break;
    }
}

static void take_session_event(struct live_run *run, const struct event *event)
{
    const char *outcome = json_get_text(event->data, "outcome");
    run->session = event->session;
    if (event->type == EVENT_SESSION_STARTED) {
        run->session_started_ns = event->realtime_ns;
        put_text(&run->reader->outcome, NULL);
    } else if (event->type == EVENT_SESSION_ENDED) {
        put_text(&run->reader->outcome, outcome ? outcome : "unknown");
        run->reader->reload = true;
    }
    run->outcome = run->reader->outcome;
}

/* A line of events.jsonl. old: what the rows have already. */
static void take_line(struct live_run *run, const char *line, size_t length, bool old)
{
    struct event event;
    json_t *json = json_load_bounded(line, length, 0, NULL);
    if (!json || !event_from_json(json, &event)) {
        run->skipped_lines++;
        json_decref(json);
        return;
    }
    if (event.type != EVENT_FILES_WRITTEN && event.type != EVENT_MARK) {
        json_set_count(json, "version", run->version);
        json_array_append(run->events, json);
        while (json_array_size(run->events) > LIVE_EVENTS_KEPT)
            json_array_remove(run->events, 0);
    }
    if (event.type == EVENT_SESSION_STARTED || event.type == EVENT_SESSION_ENDED)
        take_session_event(run, &event);
    else if (event.experiment > 0 && (uint64_t)event.experiment <= run->plan.count) {
        struct live_experiment *row = &run->experiments[event.experiment - 1];
        if (!old)
            take_experiment_event(run, row, &event);
        else if (event.type == EVENT_ATTEMPT_STARTED)
            row->started_ns = event.realtime_ns;
        row->attempts = event.attempt > row->attempts ? event.attempt : row->attempts;
    }
    event_fini(&event);
    json_decref(json);
}

/* The whole lines between the reader's place and to; what is behind the last line's end waits for
 * its rest. */
static bool take_lines(struct live_run *run, int64_t to, bool old, struct err *err)
{
    struct live_reader *reader = run->reader;
    int64_t left = to - reader->offset;
    if (left <= 0)
        return true;
    size_t size = (size_t)(left < STEP_BYTES || old ? left : STEP_BYTES);
    AUTO_FREE char *bytes = mem_alloc(size + 1);
    ssize_t count = pread(reader->events_fd, bytes, size, (off_t)reader->offset);
    if (count < 0)
        return err_sys(err, "read %s/events.jsonl", run->dir);
    char *at = bytes, *end;
    while ((end = memchr(at, '\n', (size_t)(bytes + count - at)))) {
        if (!reader->in_long_line)
            take_line(run, at, (size_t)(end - at), old);
        reader->in_long_line = false;
        at = end + 1;
    }
    if (at == bytes && (size_t)count == size && size == STEP_BYTES) { /* longer than any event is */
        run->skipped_lines += !reader->in_long_line;
        reader->in_long_line = true;
        at = bytes + count;
    }
    reader->offset += at - bytes;
    return true;
}

static int64_t events_size(const struct live_run *run)
{
    struct stat st;
    return fstat(run->reader->events_fd, &st) == 0 ? (int64_t)st.st_size : -1;
}

/* Rows first as run.db has them; events that it has already only tell what happened last. */
static bool begin(struct live_run *run, struct err *err)
{
    struct live_reader *reader = run->reader;
    int64_t size = events_size(run);
    if (!load(run, err))
        return false;
    reader->offset = size > TAIL_BYTES ? size - TAIL_BYTES : 0;
    reader->in_long_line = reader->offset > 0; /* its first line is a part of one */
    return take_lines(run, size, true, err);
}

static void look_for_life(struct live_run *run)
{
    enum lock_seen seen = lock_look_at(run->reader->dir);
    bool ended = run->reader->outcome != NULL || run->session == 0;
    enum live_state state = seen == LOCK_HELD   ? LIVE_UNDER_WAY
                            : ended             ? LIVE_ENDED
                            : seen == LOCK_FREE ? LIVE_DIED
                                                : LIVE_ELSEWHERE;
    if (state == LIVE_ELSEWHERE && run->reader->replaced_ns &&
        clock_monotonic_ns() - run->reader->replaced_ns < ELSEWHERE_NS)
        state = LIVE_UNDER_WAY;
    if (state != run->state)
        run->version++;
    run->state = state;
}

/* What the kernel calls an open folder now, so that "." has a name and no link has one. */
static char *name_of(int dir, const char *path)
{
    AUTO_FREE char *self = mem_printf("/proc/self/fd/%d", dir);
    AUTO_FREE char *full = realpath(self, NULL);
    return fs_basename(full ? full : path);
}

bool live_run_open(const char *dir, struct live_run *out, struct err *err)
{
    AUTO_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *out = (struct live_run){0};
    return fd < 0 ? err_sys(err, "open %s", dir) : live_run_open_at(fd, dir, out, err);
}

bool live_run_open_at(int fd, const char *dir, struct live_run *out, struct err *err)
{
    *out = (struct live_run){.dir = mem_strdup(dir), .reader = mem_alloc(sizeof *out->reader)};
    *out->reader = (struct live_reader){.dir = -1, .events_fd = -1};
    out->name = name_of(fd, dir);
    out->events = json_array();
    out->reader->dir = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = out->reader->dir >= 0 || err_sys(err, "open %s", dir);
    good = good &&
           ((out->reader->events_fd = fs_open_at(out->reader->dir, "events.jsonl", err)) >= 0 ||
            err_wrap(err, "%s", dir));
    good = good && begin(out, err) && live_run_update(out, NULL, err);
    if (!good)
        live_run_close(out);
    return good;
}

void live_run_close(struct live_run *run)
{
    drop_rows(run);
    json_decref(run->events);
    if (run->reader) {
        json_decref(run->reader->live);
        free(run->reader->outcome);
        if (run->reader->dir >= 0)
            close(run->reader->dir);
        if (run->reader->events_fd >= 0)
            close(run->reader->events_fd);
    }
    free(run->slots);
    free(run->reader);
    free(run->name);
    free(run->dir);
    *run = (struct live_run){0};
}

bool live_run_update(struct live_run *run, bool *changed, struct err *err)
{
    struct live_reader *reader = run->reader;
    uint64_t before = run->version;
    struct stat st;
    int64_t size = events_size(run);
    if (fstat(reader->dir, &st) != 0 || st.st_nlink == 0 || size < 0)
        return err_set(err, "%s: the folder was removed", run->dir);
    if (size < reader->offset) { /* a resume has cut a torn line */
        reader->offset = 0;
        json_array_clear(run->events);
        if (!begin(run, err))
            return false;
    } else if (size > reader->offset) {
        int64_t was = reader->offset;
        run->version++;
        if (!take_lines(run, size, false, err))
            return false;
        run->version -= reader->offset == was; /* a part of a line: nothing yet */
    }
    live_read_slots(run);
    if (reader->reload && reader->offset == size) { /* what came last of all is in run.db */
        reader->reload = false;
        if (!load(run, err))
            return false;
    }
    look_for_life(run);
    if (changed)
        *changed = run->version != before;
    return true;
}

struct live_counts live_run_counts(const struct live_run *run)
{
    struct live_counts out = {0};
    EACH (row, run->experiments, run->plan.count) {
        bool ended = row->state == STATE_DONE;
        out.planned += row->state == STATE_PLANNED;
        out.running += !ended && row->state != STATE_PLANNED;
        out.succeeded += ended && row->outcome == OUTCOME_SUCCEEDED;
        out.failed += ended && row->outcome == OUTCOME_FAILED;
        out.interrupted += ended && row->outcome == OUTCOME_INTERRUPTED;
        out.clean += ended && row->verdict == VERDICT_CLEAN;
        out.unverified += ended && row->verdict == VERDICT_UNVERIFIED;
        out.suspect += ended && row->verdict == VERDICT_SUSPECT;
        out.contaminated += ended && row->verdict == VERDICT_CONTAMINATED;
    }
    return out;
}

const char *live_state_name(enum live_state state)
{
    static const char *const names[] = {"under_way", "ended", "died", "elsewhere"};
    return names[state];
}

const char *live_verdict_text(const struct live_experiment *experiment)
{
    if (experiment->state == STATE_DONE && experiment->verdict != VERDICT_NONE)
        return verdict_name(experiment->verdict);
    if (experiment->state == STATE_DONE)
        return experiment->outcome == OUTCOME_FAILED ? "none" : "not judged";
    if (experiment->state == STATE_PLANNED)
        return "";
    if (!experiment->has_evidence)
        return "no evidence";
    switch (experiment->weight) {
    case EVIDENCE_CONTAMINATED:
        return "contaminated";
    case EVIDENCE_SUSPECT:
        return "suspect";
    case EVIDENCE_UNVERIFIED:
    case EVIDENCE_INCONSISTENT:
        return "unverified";
    default:
        return "evidence recorded";
    }
}
