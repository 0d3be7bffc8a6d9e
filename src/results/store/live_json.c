/* live.json into slots, a run as JSON, and what watchers ask of the runner
 * (results/store/live.h). */
#include "base/json_print.h"
#include "results/store/live.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/record.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIVE_BYTES = 16 << 20, REQUEST_BYTES = 4096, REQUEST_OLD_S = 60 };

static int64_t integer_of(const json_t *json, const char *key)
{
    json_int_t out = 0;
    return json_get_int(json, key, &out) ? out : 0;
}

static const json_t *object_of(const json_t *json, const char *key, json_type type)
{
    const json_t *value = json_get(json, key);
    return value && json_typeof(value) == type ? value : NULL;
}

#define TRAINING(member) RECORD(struct live_training, member)
static const struct record_field training_fields[] = {
    TRAINING(name), TRAINING(at), TRAINING(of), TRAINING(share), {0}};

static struct live_training training_of(const json_t *json)
{
    const json_t *object = object_of(json, "training", JSON_OBJECT);
    struct live_training out = {.known = object != NULL};
    record_get(training_fields, object, &out);
    return out;
}

static void take_slot(struct live_run *run, const json_t *json, size_t place)
{
    struct live_slot *slot = &run->slots[place];
    int64_t experiment = integer_of(json, "experiment");
    const char *phase = json_get_text(json, "phase");
    const json_t *points = object_of(json, "points", JSON_OBJECT);
    *slot = (struct live_slot){
        .number = place + 1,
        .gpus = json_object_get(json, "gpus"),
        .experiment =
            experiment > 0 && (uint64_t)experiment <= run->plan.count ? (size_t)experiment : 0,
        .attempt = integer_of(json, "attempt"),
        .since_ns = integer_of(json, "since_ns"),
        .started_ns = integer_of(json, "started_ns"),
        .pause_s = json_get_reading(json, "pause_s").value,
        .power_w = json_get_reading(json, "power_w"),
        .utilisation_percent = json_get_reading(json, "utilisation_percent"),
        .memory_bytes = json_get_reading(json, "memory_bytes"),
        .memory_total_bytes = json_get_reading(json, "memory_total_bytes"),
        .temperature_c = json_get_reading(json, "temperature_c"),
        .bars = object_of(json, "bars", JSON_ARRAY),
        .training = training_of(json),
        .metrics = object_of(json, "metrics", JSON_OBJECT),
        .power_points = object_of(points, "power_w", JSON_ARRAY),
        .metric_points = object_of(points, "metrics", JSON_OBJECT),
    };
    phase = phase ? phase : "idle";
    snprintf(slot->phase, sizeof slot->phase, "%.*s",
             (int)utf8_cut(phase, strlen(phase), sizeof slot->phase - 1), phase);
    if (!slot->experiment)
        return;
    struct live_experiment *row = &run->experiments[slot->experiment - 1];
    slot->state = row->state;
    row->slot = slot->number;
    row->started_ns = slot->started_ns ? slot->started_ns : row->started_ns;
}

/* Which row is on which slot, and what those were that are on one no more. */
static void take_slots(struct live_run *run, const json_t *list)
{
    size_t count = json_array_size(list);
    EACH (experiment, run->experiments, run->plan.count)
        experiment->slot = 0;
    free(run->slots);
    run->slot_count = count < LIVE_SLOTS_MAX ? count : LIVE_SLOTS_MAX;
    run->slots = mem_array(run->slot_count ? run->slot_count : 1, sizeof *run->slots);
    for (size_t i = 0; i < run->slot_count; i++)
        take_slot(run, json_array_get(list, i), i);
}

static void forget_slots(struct live_run *run)
{
    struct live_reader *reader = run->reader;
    if (!reader->live)
        return;
    take_slots(run, NULL);
    json_decref(reader->live);
    reader->live = NULL;
    reader->live_inode = 0;
    run->live_ns = 0;
    run->paused = false;
    run->version++;
}

void live_read_slots(struct live_run *run)
{
    struct live_reader *reader = run->reader;
    struct stat st;
    AUTO_TEXT struct text text = {0};
    if (fstatat(reader->dir, LIVE_FILE, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        forget_slots(run);
        return;
    }
    bool same = st.st_ino == reader->live_inode && st.st_mtim.tv_sec == reader->live_time.tv_sec &&
                st.st_mtim.tv_nsec == reader->live_time.tv_nsec;
    if ((same && !reader->reload) || !fs_read_at(reader->dir, LIVE_FILE, LIVE_BYTES, &text, NULL))
        return;
    json_t *json = json_load_bounded(text_get(&text), text.length, 0, NULL);
    if (!json_is_object(json)) {
        json_decref(json);
        return;
    }
    reader->replaced_ns = reader->live_inode ? clock_monotonic_ns() : 0;
    reader->live_inode = st.st_ino;
    reader->live_time = st.st_mtim;
    json_t *before = reader->live;
    reader->live = json;
    run->live_ns = integer_of(json, "written_ns");
    run->paused = json_is_true(json_object_get(json, "paused"));
    run->version++;
    take_slots(run, json_object_get(json, "slots"));
    json_decref(before);
}

static json_t *ms_or_null(int64_t ns)
{
    return ns ? json_integer(ns / NS_PER_MS) : json_null();
}

static json_t *borrowed_or_null(const json_t *json)
{
    return json ? json_incref((json_t *)(uintptr_t)json) : json_null();
}

static json_t *slot_points_json(const struct live_slot *slot)
{
    if (!slot->power_points && !slot->metric_points)
        return json_null();
    return json_pack("{s:o, s:o}", "power_w", borrowed_or_null(slot->power_points), "metrics",
                     borrowed_or_null(slot->metric_points));
}

static json_t *slot_json(const struct live_run *run, const struct live_slot *slot)
{
    const char *id = slot->experiment ? run->plan.experiments[slot->experiment - 1].id : NULL;
    return json_pack(
        "{s:I, s:o, s:o, s:s?, s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:o}",
        "slot", (json_int_t)slot->number, "gpus", borrowed_or_null(slot->gpus), "experiment",
        slot->experiment ? json_integer((json_int_t)slot->experiment) : json_null(), "id", id,
        "attempt", (json_int_t)slot->attempt, "phase", slot->phase, "since_ms",
        ms_or_null(slot->since_ns), "started_ms", ms_or_null(slot->started_ns), "pause_s",
        slot->pause_s > 0 ? json_finite(slot->pause_s) : json_null(), "power_w",
        json_reading_or_null(slot->power_w), "utilisation_percent",
        json_reading_or_null(slot->utilisation_percent), "memory_bytes",
        json_reading_or_null(slot->memory_bytes), "memory_total_bytes",
        json_reading_or_null(slot->memory_total_bytes), "temperature_c",
        json_reading_or_null(slot->temperature_c), "bars", borrowed_or_null(slot->bars), "training",
        slot->training.known ? record_json(training_fields, &slot->training) : json_null(),
        "metrics", borrowed_or_null(slot->metrics), "points", slot_points_json(slot));
}

static json_t *row_json(const struct live_experiment *row)
{
    return json_pack(
        "{s:I, s:s, s:s, s:o, s:s, s:s, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:o, s:o}",
        "number", (json_int_t)row->plan->number, "id", row->plan->id, "state",
        state_name(row->state), "outcome",
        row->outcome == OUTCOME_NONE ? json_null() : json_string(outcome_name(row->outcome)),
        "verdict", verdict_name(row->verdict), "verdict_text", live_verdict_text(row), "evidence",
        json_text_or_null(row->evidence), "attempts", (json_int_t)row->attempts, "slot",
        row->slot ? json_integer((json_int_t)row->slot) : json_null(), "started_ms",
        ms_or_null(row->started_ns), "ended_ms", ms_or_null(row->ended_ns), "duration_s",
        row->duration_s > 0 ? json_finite(row->duration_s) : json_null(), "gpu_j",
        json_reading_or_null(row->energy.gpu_j), "gpu_half_width_j",
        json_reading_or_null(row->energy.gpu_half_width_j), "cpu_j",
        json_reading_or_null(row->energy.cpu_j), "cpu_half_width_j",
        json_reading_or_null(row->energy.cpu_half_width_j), "failure",
        json_text_or_null(row->failure), "error", json_text_or_null(row->error), "metrics",
        borrowed_or_null(row->metrics));
}

#define COUNT(member) RECORD(struct live_counts, member)
static const struct record_field count_fields[] = {
    COUNT(planned), COUNT(running),    COUNT(succeeded), COUNT(failed),       COUNT(interrupted),
    COUNT(clean),   COUNT(unverified), COUNT(suspect),   COUNT(contaminated), {0}};

static json_t *counts_json(const struct live_run *run)
{
    struct live_counts counts = live_run_counts(run);
    json_t *out = json_pack("{s:I}", "experiments", (json_int_t)run->plan.count);
    record_set(out, count_fields, &counts);
    return out;
}

json_t *live_run_json(const struct live_run *run, uint64_t since)
{
    json_t *slots = json_array(), *rows = json_array(), *events = json_array(), *event;
    size_t i;
    for (i = 0; i < run->slot_count; i++)
        json_array_append_new(slots, slot_json(run, &run->slots[i]));
    for (i = 0; i < run->plan.count; i++)
        if (run->experiments[i].version > since)
            json_array_append_new(rows, row_json(&run->experiments[i]));
    json_array_foreach(run->events, i,
                       event) if (since == 0 || (uint64_t)integer_of(event, "version") > since)
        json_array_append(events, event);
    return json_pack("{s:i, s:I, s:o, s:o, s:s, s:s?, s:I, s:o, s:b, s:o, s:o, s:o, s:o, s:o}",
                     "format", 1, "version", (json_int_t)run->version, "run",
                     json_text_or_null(run->name), "name", json_text_or_null(run->plan.name),
                     "state", live_state_name(run->state), "outcome", run->outcome, "session",
                     (json_int_t)run->session, "session_started_ms",
                     ms_or_null(run->session_started_ns), "paused", run->paused, "live_ms",
                     ms_or_null(run->live_ns), "counts", counts_json(run), "slots", slots,
                     "experiments", rows, "events", events);
}

static json_t *newer_points(const json_t *points, double since_s, double *last_s)
{
    json_t *out = json_array(), *point;
    size_t i;
    json_array_foreach(points, i, point)
    {
        double second = json_number_value(json_array_get(point, 0));
        *last_s = fmax(*last_s, second);
        if (second > since_s - 2)
            json_array_append(out, point);
    }
    return out;
}

double live_json_newer_points(json_t *json, double since_s)
{
    size_t i;
    double last_s = since_s;
    json_t *slot, *points;
    const char *name;
    json_array_foreach(json_object_get(json, "slots"), i, slot)
    {
        const json_t *all = json_object_get(slot, "points");
        json_t *metrics = json_object();
        json_object_foreach(json_object_get(all, "metrics"), name, points)
            json_object_set_new(metrics, name, newer_points(points, since_s, &last_s));
        json_object_set_new(
            slot, "points",
            json_pack("{s:o, s:o}", "power_w",
                      newer_points(json_object_get(all, "power_w"), since_s, &last_s), "metrics",
                      metrics));
    }
    return last_s;
}

static const char *const request_names[LIVE_REQUESTS] = {"pause", "continue", "skip", "stop"};

const char *live_request_name(enum live_request request)
{
    return request_names[request];
}

static bool parse_request(const char *name, enum live_request *out)
{
    for (unsigned i = 0; i < LIVE_REQUESTS; i++)
        if (strcmp(name, request_names[i]) == 0) {
            *out = (enum live_request)i;
            return true;
        }
    return false;
}

/* One that nobody took for so long is no hindrance: whoever was to take it has ended. */
static bool is_waiting(int dir)
{
    struct stat st;
    return fstatat(dir, LIVE_CONTROL_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           clock_realtime_ns() / NS_PER_S - st.st_mtim.tv_sec < REQUEST_OLD_S;
}

bool live_ask(const struct live_run *run, enum live_request request, size_t experiment,
              struct err *err)
{
    int dir = run->reader->dir;
    struct stat st;
    const char *name = request_names[request];
    if (run->state != LIVE_UNDER_WAY && run->state != LIVE_ELSEWHERE)
        return err_set(err, "%s: %s is not under way: there is nothing to %s", run->dir, run->name,
                       name);
    if (fstat(dir, &st) != 0)
        return err_sys(err, "%s", run->dir);
    if (geteuid() != st.st_uid && geteuid() != 0)
        return err_set(err,
                       "%s: the run belongs to another user (uid %u): only its owner may %s it",
                       run->dir, (unsigned)st.st_uid, name);
    bool known = experiment > 0 && experiment <= run->plan.count;
    enum experiment_state state = known ? run->experiments[experiment - 1].state : STATE_DONE;
    if (request == LIVE_SKIP && (!known || state == STATE_DONE || state == STATE_PLANNED))
        return err_set(err, "%s: experiment %zu is not under way", run->dir, experiment);
    if (is_waiting(dir))
        return err_set(err, "%s: an earlier request has not been taken yet: try again in a second",
                       run->dir);
    json_t *json = json_pack("{s:s, s:I}", "request", name, "experiment", (json_int_t)experiment);
    AUTO_TEXT struct text text = {0};
    json_print(json, &text);
    json_decref(json);
    return fs_write_unsynced(dir, LIVE_CONTROL_FILE, text_get(&text), text.length, err) ||
           err_wrap(err, "%s", run->dir);
}

/* Whoever may change the folder may ask. */
static bool is_trusted(int dir, int fd, struct err *err)
{
    struct stat of_dir, st;
    if (fstat(dir, &of_dir) != 0 || fstat(fd, &st) != 0)
        return err_sys(err, "%s", LIVE_CONTROL_FILE);
    return st.st_uid == of_dir.st_uid || st.st_uid == 0 ||
           err_set(err, "%s is of another user (uid %u) than the run's folder: it was removed",
                   LIVE_CONTROL_FILE, (unsigned)st.st_uid);
}

int live_take_request(int dir, enum live_request *request, size_t *experiment, struct err *err)
{
    AUTO_TEXT struct text text = {0};
    struct stat st;
    if (fstatat(dir, LIVE_CONTROL_FILE, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return 0;
    AUTO_CLOSE int fd = fs_open_at(dir, LIVE_CONTROL_FILE, err);
    bool good = fd >= 0 && is_trusted(dir, fd, err) &&
                fs_read_at(dir, LIVE_CONTROL_FILE, REQUEST_BYTES, &text, err);
    unlinkat(dir, LIVE_CONTROL_FILE, 0);
    if (!good)
        return -1;
    json_t *json = json_load_bounded(text_get(&text), text.length, 0, NULL);
    const char *name = json_get_text(json, "request");
    int64_t number = integer_of(json, "experiment");
    good = name && parse_request(name, request) && number >= 0;
    *experiment = good ? (size_t)number : 0;
    json_decref(json);
    if (!good)
        err_set(err, "%s is no request: it was removed", LIVE_CONTROL_FILE);
    return good ? 1 : -1;
}
