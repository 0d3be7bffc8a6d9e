#include "serve/runs.h"
#include "base/fs_path.h"
#include "base/json_print.h"
#include "serve/token.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* Of a folder with more the newest by name are shown; so many are held open beside those under
 * way. */
enum { RUNS_MAX = 500, OPEN_MAX = 32 };

static const int64_t SCAN_NS = 2 * NS_PER_S, FRESH_NS = NS_PER_S / 2, UNWATCHED_NS = 60 * NS_PER_S,
                     READ_AT_ONCE_NS = NS_PER_S / 2;

static bool is_name_used(const struct serve_runs *runs, const char *name)
{
    EACH (item, runs->items, runs->count)
        if (strcmp((*item)->name, name) == 0)
            return true;
    return false;
}

static void close_served_run(struct serve_run *run)
{
    channel_end(&run->channel);
    if (run->open)
        live_run_close(&run->live);
    run->open = false;
}

static void remove_run(struct serve_runs *runs, size_t at)
{
    struct serve_run *run = runs->items[at];
    json_array_append_new(runs->gone, json_string(run->name));
    runs->version++;
    close_served_run(run);
    json_decref(run->summary);
    close(run->dir);
    free(run->path);
    free(run->name);
    free(run);
    memmove(&runs->items[at], &runs->items[at + 1], (runs->count - at - 1) * sizeof *runs->items);
    runs->count--;
}

static bool is_same_folder(int a, int b)
{
    struct stat one, other;
    return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* dir: the run's folder; duplicated if the run is new. */
static void add_served_run(struct serve_runs *runs, int dir, const char *path, bool named)
{
    for (size_t i = 0; i < runs->count; i++)
        if (strcmp(runs->items[i]->path, path) == 0) {
            if ((runs->items[i]->found = is_same_folder(runs->items[i]->dir, dir)))
                return;
            remove_run(runs, i); /* another folder has its path */
            break;
        }
    AUTO_FREE char *full = named ? realpath(path, NULL) : NULL; /* "." has a name, too */
    AUTO_FREE char *last = fs_basename(full ? full : path);
    AUTO_CLOSE int own = runs->count == RUNS_MAX ? -1 : fcntl(dir, F_DUPFD_CLOEXEC, 0);
    if (own < 0 || !fs_check_name(last, NULL) || !utf8_is_valid(last, strlen(last))) {
        runs->left_out++;
        return;
    }
    struct serve_run *run = mem_alloc(sizeof *run);
    *run = (struct serve_run){.dir = steal_fd(&own),
                              .path = mem_strdup(path),
                              .name = mem_strdup(last),
                              .named = named,
                              .found = true};
    for (size_t n = 2; is_name_used(runs, run->name); n++) {
        free(run->name);
        run->name = mem_printf("%s~%zu", last, n);
    }
    runs->items = mem_room(runs->items, runs->count, sizeof *runs->items);
    runs->items[runs->count++] = run;
}

/* A folder with a regular events.jsonl is a run. */
static bool has_events_file(int folder)
{
    struct stat st;
    return folder >= 0 && fstatat(folder, "events.jsonl", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(st.st_mode);
}

static void scan_folder(struct serve_runs *runs, const char *path)
{
    AUTO_STRV struct strv names = {0};
    AUTO_DIR DIR *list = opendir(path);
    for (struct dirent *entry; list && (entry = readdir(list));)
        if (fs_check_name(entry->d_name, NULL))
            strv_add(&names, entry->d_name);
    strv_sort(&names);
    for (size_t i = names.count; i-- > 0;) { /* the newest first */
        AUTO_CLOSE int folder =
            openat(dirfd(list), names.items[i], O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        AUTO_FREE char *run = mem_printf("%s/%s", path, names.items[i]);
        if (has_events_file(folder))
            add_served_run(runs, folder, run, false);
    }
}

static void scan(struct serve_runs *runs)
{
    runs->scanned_ns = clock_monotonic_ns();
    runs->left_out = 0;
    EACH (item, runs->items, runs->count)
        (*item)->found = false;
    for (size_t i = 0; i < runs->paths.count; i++) {
        const char *path = runs->paths.items[i];
        AUTO_CLOSE int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (has_events_file(folder))
            add_served_run(runs, folder, path, true);
        else
            scan_folder(runs, path);
    }
    for (size_t i = runs->count; i-- > 0;)
        if (!runs->items[i]->found)
            remove_run(runs, i);
}

/* Sums what is known; absent if nothing is. */
static json_t *total_energy_json(const struct live_run *live)
{
    double joules = 0;
    size_t measured = 0, ended = 0;
    EACH (row, live->experiments, live->plan.count) {
        if (row->state != STATE_DONE)
            continue;
        ended++;
        measured += row->energy.gpu_j.valid;
        joules += row->energy.gpu_j.valid ? row->energy.gpu_j.value : 0;
    }
    return json_pack("{s:o, s:I, s:I}", "gpu_j", measured ? json_finite(joules) : json_null(),
                     "measured", (json_int_t)measured, "ended", (json_int_t)ended);
}

static json_t *power_json(const struct live_run *live)
{
    double watts = 0;
    bool known = false;
    for (size_t i = 0; live->state == LIVE_UNDER_WAY && i < live->slot_count; i++)
        if (live->slots[i].power_w.valid) {
            known = true;
            watts += live->slots[i].power_w.value;
        }
    return known ? json_finite(watts) : json_null();
}

static int64_t last_ended_ns(const struct live_run *live)
{
    int64_t last = 0;
    EACH (experiment, live->experiments, live->plan.count)
        if (experiment->ended_ns > last)
            last = experiment->ended_ns;
    return last;
}

static json_t *milliseconds(int64_t ns)
{
    return ns ? json_integer(ns / NS_PER_MS) : json_null();
}

static json_t *summary_of(const struct serve_run *run)
{
    const struct live_run *live = &run->live;
    json_t *all = live_run_json(live, UINT64_MAX), *out = json_object();
    static const char *const keys[] = {
        "name", "state", "outcome", "paused", "session", "session_started_ms", "live_ms", "counts"};
    json_object_set_new(out, "run", json_string(run->name));
    EACH_OF (key, keys)
        json_object_set(out, *key, json_object_get(all, *key));
    json_object_set_new(out, "energy", total_energy_json(live));
    json_object_set_new(out, "power_w", power_json(live));
    json_set_count(out, "slots", live->slot_count);
    json_object_set_new(out, "last_ended_ms", milliseconds(last_ended_ns(live)));
    json_decref(all);
    return out;
}

/* Takes the row; it is a new one only where it says something else. */
static void set_summary(struct serve_runs *runs, struct serve_run *run, json_t *summary)
{
    if (run->summary && json_equal(run->summary, summary)) {
        json_decref(summary);
        return;
    }
    json_decref(run->summary);
    run->summary = summary;
    run->summary_version = ++runs->version;
}

static void fail_run(struct serve_runs *runs, struct serve_run *run, const struct err *err)
{
    close_served_run(run);
    run->readable = false;
    AUTO_FREE char *line = utf8_line(err->text);
    set_summary(runs, run,
                json_pack("{s:s, s:s, s:o}", "run", run->name, "state", "unreadable", "error",
                          json_text_or_null(line)));
}

static struct timespec events_changed(const struct serve_run *run)
{
    struct stat st;
    return fstatat(run->dir, "events.jsonl", &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_mtim
                                                                            : (struct timespec){0};
}

static bool open_served_run(struct serve_runs *runs, struct serve_run *run, struct err *err)
{
    run->changed = events_changed(run);
    run->updated_ns = clock_monotonic_ns();
    if (!live_run_open_at(run->dir, run->path, &run->live, err)) {
        fail_run(runs, run, err);
        return false;
    }
    run->open = run->readable = true;
    run->sent_s = 0;
    if (!serve_random_hex(run->nonce, SERVE_NONCE, &(struct err){0}))
        snprintf(run->nonce, sizeof run->nonce, "%016llx", (unsigned long long)run->updated_ns);
    set_summary(runs, run, summary_of(run));
    return true;
}

static int64_t now_ms(void)
{
    return clock_realtime_ns() / NS_PER_MS;
}

static json_t *event_json(const struct serve_run *run, uint64_t since)
{
    bool whole = since == 0 || since > run->live.version;
    json_t *json = live_run_json(&run->live, whole ? 0 : since);
    json_object_set_new(json, "full", json_boolean(whole));
    json_object_set_new(json, "now_ms", json_integer((json_int_t)now_ms()));
    return json;
}

static void print_event(const struct serve_run *run, json_t *json, struct text *out)
{
    text_addf(out, "id: %s-%llu\nevent: run\ndata: ", run->nonce,
              (unsigned long long)run->live.version);
    json_print(json, out);
    text_add(out, "\n\n");
    json_decref(json);
}

void serve_run_event(const struct serve_run *run, uint64_t since, struct text *out)
{
    print_event(run, event_json(run, since), out);
}

static void publish_run_event(struct serve_run *run, uint64_t since)
{
    struct text text = {0};
    json_t *json = event_json(run, since);
    run->sent_s = live_json_newer_points(json, run->sent_s);
    print_event(run, json, &text);
    channel_publish(&run->channel, &text);
}

/* As it is now, at most half a second old. */
static bool update_run(struct serve_runs *runs, struct serve_run *run, struct err *err)
{
    int64_t now_ns = clock_monotonic_ns();
    bool changed = false;
    if (!run->open)
        return open_served_run(runs, run, err);
    if (now_ns - run->updated_ns < FRESH_NS)
        return true;
    run->updated_ns = now_ns;
    uint64_t before = run->live.version;
    if (!live_run_update(&run->live, &changed, err)) {
        fail_run(runs, run, err);
        return false;
    }
    if (!changed)
        return true;
    set_summary(runs, run, summary_of(run));
    if (run->channel.count)
        publish_run_event(run, before);
    return true;
}

static bool is_kept_open(const struct serve_run *run)
{
    return run->channel.count || run->live.state == LIVE_UNDER_WAY ||
           run->live.state == LIVE_ELSEWHERE ||
           clock_monotonic_ns() - run->wanted_ns < UNWATCHED_NS;
}

/* Those that were read and went on since, and those that nobody needs. */
static void check_closed_runs(struct serve_runs *runs)
{
    size_t open = 0;
    EACH (item, runs->items, runs->count) {
        struct serve_run *run = *item;
        if (!run->open && run->summary) {
            struct timespec changed = events_changed(run);
            if (changed.tv_sec != run->changed.tv_sec || changed.tv_nsec != run->changed.tv_nsec) {
                json_decref(run->summary);
                run->summary = NULL;
            }
        }
        if (run->open && !is_kept_open(run) && (!run->named || ++open > OPEN_MAX))
            close_served_run(run);
    }
}

bool serve_runs_read_next(struct serve_runs *runs)
{
    struct err err = {0};
    for (size_t i = 0; i < runs->count; i++)
        if (!runs->items[i]->summary) {
            open_served_run(runs, runs->items[i], &err);
            return true;
        }
    return false;
}

void serve_runs_look(struct serve_runs *runs)
{
    int64_t begin_ns = clock_monotonic_ns();
    if (begin_ns - runs->scanned_ns >= SCAN_NS) {
        scan(runs);
        check_closed_runs(runs);
    }
    while (clock_monotonic_ns() - begin_ns < READ_AT_ONCE_NS && serve_runs_read_next(runs))
        ;
    struct err err = {0};
    for (size_t i = 0; i < runs->count; i++)
        if (runs->items[i]->open)
            update_run(runs, runs->items[i], &err);
}

void serve_runs_tick(struct serve_runs *runs)
{
    struct err err = {0};
    if (runs->channel.count)
        serve_runs_look(runs);
    for (size_t i = 0; i < runs->count; i++)
        if (runs->items[i]->channel.count)
            update_run(runs, runs->items[i], &err);
    if (runs->channel.count && (runs->version != runs->published || json_array_size(runs->gone))) {
        struct text text = {0};
        serve_runs_event(runs, runs->published, &text);
        channel_publish(&runs->channel, &text);
    }
    runs->published = runs->version;
    json_array_clear(runs->gone);
}

static void beat(struct channel *channel)
{
    struct text text = {0};
    text_add(&text, "event: beat\ndata: {}\n\n");
    channel_publish(channel, &text);
}

void serve_runs_beat(struct serve_runs *runs)
{
    beat(&runs->channel);
    EACH (item, runs->items, runs->count)
        beat(&(*item)->channel);
}

struct serve_run *serve_runs_get(struct serve_runs *runs, const char *name, struct err *err)
{
    if (clock_monotonic_ns() - runs->scanned_ns >= SCAN_NS) {
        scan(runs);
        check_closed_runs(runs);
    }
    for (size_t i = 0; i < runs->count; i++) {
        struct serve_run *run = runs->items[i];
        if (strcmp(run->name, name) != 0)
            continue;
        run->wanted_ns = clock_monotonic_ns();
        return update_run(runs, run, err) ? run : NULL;
    }
    return NULL;
}

static json_t *rows_json(const struct serve_runs *runs, uint64_t since)
{
    json_t *rows = json_array();
    EACH (item, runs->items, runs->count) {
        const struct serve_run *run = *item;
        if (!run->summary && since == 0)
            json_array_append_new(rows,
                                  json_pack("{s:s, s:s}", "run", run->name, "state", "reading"));
        else if (run->summary && run->summary_version > since)
            json_array_append(rows, run->summary);
    }
    return rows;
}

json_t *serve_runs_json(struct serve_runs *runs)
{
    serve_runs_look(runs);
    return json_pack("{s:i, s:o, s:I, s:I}", "format", 1, "runs", rows_json(runs, 0), "left_out",
                     (json_int_t)runs->left_out, "now_ms", (json_int_t)now_ms());
}

void serve_runs_event(struct serve_runs *runs, uint64_t since, struct text *out)
{
    json_auto_t *json = json_pack("{s:b, s:o, s:O, s:I, s:I}", "full", since == 0, "runs",
                                  rows_json(runs, since), "gone", runs->gone, "left_out",
                                  (json_int_t)runs->left_out, "now_ms", (json_int_t)now_ms());
    text_add(out, "event: runs\ndata: ");
    json_print(json, out);
    text_add(out, "\n\n");
}

void serve_runs_init(struct serve_runs *runs, const struct serve_options *options)
{
    *runs = (struct serve_runs){
        .gone = json_array(), .version = 1, .published = 1, .scanned_ns = -SCAN_NS};
    EACH (path, options->paths, options->count)
        strv_add_once(&runs->paths, *path);
}

void serve_runs_fini(struct serve_runs *runs)
{
    channel_end(&runs->channel);
    while (runs->count)
        remove_run(runs, runs->count - 1);
    free(runs->items);
    strv_fini(&runs->paths);
    json_decref(runs->gone);
}
