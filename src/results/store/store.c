#include "base/fs_output.h"
#include "plan/plan_json.h"
#include "results/store/db.h"
#include "results/store/journal.h"
#include "results/store/jsonl.h"
#include "results/store/lock.h"
#include "results/store/records.h"
#include "results/store/replay.h"
#include "results/store/schema.h"
#include "results/store/summary.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "tare_build.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* Of settings and registry, far more than any has. */
enum { TEXT_MAX = 64 << 20 };

struct store {
    int dir, lock;
    struct plan plan;
    struct journal_replay replay;
    bool running;  /* worker has its thread */
    bool finished; /* store_finish was called: with */
    bool fine;
    struct err failure;
    struct worker worker;
};

static void store_free(struct store *store)
{
    if (!store)
        return;
    if (store->running)
        worker_stop(&store->worker);
    work_list_free(&store->worker.queue); /* when the thread never started */
    summary_fini(&store->worker.summary);
    free(store->worker.written.items);
    event_lines_fini(&store->worker.lines);
    text_fini(&store->worker.settings);
    text_fini(&store->worker.registry);
    text_fini(&store->worker.changed);
    db_close(&store->worker.db);
    journal_replay_fini(&store->replay);
    plan_fini(&store->plan);
    cleanup_close(&store->worker.jsonl);
    cleanup_close(&store->dir);
    free(store->worker.dir_path);
    cleanup_close(&store->lock); /* last: whoever takes it next finds everything closed */
    free(store);
}

/* dir is duplicated, so that the caller may close its own at any time. */
static struct store *store_new(int dir, const char *dir_path, struct err *err)
{
    struct store *store = mem_alloc(sizeof *store);
    *store = (struct store){.lock = -1, .worker = {.jsonl = -1, .dir_path = mem_strdup(dir_path)}};
    store->worker.lines.copy = -1;
    EACH (item, store->worker.summary.fd, SUMMARY_FILES)
        *item = -1;
    store->dir = fcntl(dir, F_DUPFD_CLOEXEC, 3);
    if (store->dir < 0) {
        err_sys(err, "open %s", dir_path);
        store_free(store);
        return NULL;
    }
    store->lock = lock_take(dir, dir_path, err);
    if (store->lock < 0) {
        store_free(store);
        return NULL;
    }
    return store;
}

static bool is_empty(int dir, const char *dir_path, struct err *err)
{
    AUTO_DIR DIR *open_dir = fs_list(dir, ".");
    if (!open_dir)
        return err_sys(err, "read the folder %s", dir_path);
    bool empty = true;
    for (struct dirent *entry; empty && (entry = readdir(open_dir));)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    return empty || err_set(err, "the folder %s is not empty", dir_path);
}

static bool make_db(struct store *store, const struct store_head *head, struct err *err)
{
    store->worker.db = db_open_at(store->dir, store->worker.dir_path, "run.db", true, err);
    if (!store->worker.db || !db_use_wal(store->worker.db, err) ||
        (store->worker.scratch && !db_run(store->worker.db, err, "PRAGMA synchronous=OFF", "")) ||
        !db_begin(store->worker.db, err))
        return false;
    if (!schema_make(store->worker.db, err) ||
        !db_run(store->worker.db, err, "INSERT INTO meta (key, value) VALUES ('created_by', ?)",
                "t", TARE_NAME " " TARE_VERSION) ||
        !journal_write_plan(store->worker.db, head->plan, err)) {
        db_rollback(store->worker.db);
        return false;
    }
    return db_commit(store->worker.db, err);
}

/* Of events.jsonl, and for each experiment that is planned, whether it ran or not. */
static const off_t LARGE_BYTES = 2 << 20, PLANNED_BYTES = 1 << 10;

static struct work_item *item_new(enum work kind, size_t number, store_done_fn *done, void *context)
{
    struct work_item *item = mem_alloc(sizeof *item);
    *item = (struct work_item){.kind = kind, .number = number, .done = done, .context = context};
    return item;
}

/* Experiments whose end was committed before a crash, and whose files were not written then; or
 * whose verdict changed after they were written. */
static bool find_unwritten(sqlite3 *db, size_t count, bool only_changed, struct work_list *out,
                           struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query = db_query(db, err,
                                              "SELECT number FROM experiments WHERE state='done' "
                                              "AND files_written<>1 AND (files_written=2 OR NOT ?)"
                                              " ORDER BY number",
                                              "i", (int64_t)only_changed);
    while (db_next(&query, err)) {
        int64_t number = sqlite3_column_int64(query, 0);
        if (number < 1 || (size_t)number > count)
            continue;
        work_list_add(out, item_new(WORK_FILES, (size_t)number, NULL, NULL));
    }
    return query != NULL;
}

/* When and in which session the last event was. */
static bool load_last(struct worker *worker, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query = db_query(
        worker->db, err,
        "SELECT session, monotonic_ns, realtime_ns FROM events ORDER BY seq DESC LIMIT 1", "");
    int step = db_step(query, err);
    if (step > 0)
        worker->last = (struct event){.session = sqlite3_column_int64(query, 0),
                                      .monotonic_ns = sqlite3_column_int64(query, 1),
                                      .realtime_ns = sqlite3_column_int64(query, 2)};
    return step >= 0;
}

/* Those that are not there are not missed. */
static void read_texts(struct worker *worker)
{
    if (!fs_read_at(worker->dir, "settings.json", TEXT_MAX, &worker->settings, NULL))
        text_clear(&worker->settings);
    if (!fs_read_at(worker->dir, "registry.json", TEXT_MAX, &worker->registry, NULL))
        text_clear(&worker->registry);
}

/* What both ways of opening end with. */
static bool begin(struct store *store, struct err *err)
{
    struct worker *worker = &store->worker;
    worker->dir = store->dir;
    worker->plan = &store->plan;
    worker->jsonl = jsonl_open(store->dir, worker->dir_path, err);
    if (worker->jsonl < 0 || !journal_read_plan(worker->db, &store->plan, err))
        return false;
    event_lines_init(&worker->lines, store->plan.count);
    if ((!worker->scratch && !event_lines_keep(&worker->lines, store->dir, err)) ||
        !jsonl_repair(worker->jsonl, worker->db, &worker->lines, err) || !load_last(worker, err))
        return false;
    read_texts(worker);
    summary_init(&worker->summary, store->dir, &store->plan, worker->scratch);
    if (!records_know_db(worker, err))
        return false;
    db_unlimit_time(worker->db);
    worker->last_seq = worker->lines.count;
    if (worker->lines.count > 0 && !records_settle(worker, SETTLE_OPENED))
        return err_set(err, "%s", text_get(&worker->changed));
    journal_replay_init(&store->replay, store->plan.count);
    if (!journal_replay_all(store->worker.db, &store->replay, err) ||
        !journal_last_seq(store->worker.db, &worker->last_seq, err) ||
        !find_unwritten(store->worker.db, store->plan.count, false, &worker->queue, err))
        return false;
    /* An earlier session may have been killed while it wrote a row, or lost rows with its machine's
     * power. */
    if (worker->lines.count > 0)
        work_list_add(&worker->queue, item_new(WORK_FILES, 0, NULL, NULL));
    for (const struct work_item *item = worker->queue.first; item; item = item->next)
        worker->pending++;
    store->running = worker_start(worker, err);
    return store->running;
}

struct store *store_create(int dir, const char *dir_path, const struct store_head *head,
                           struct err *err)
{
    if (!is_empty(dir, dir_path, err))
        return NULL;
    struct store *store = store_new(dir, dir_path, err);
    if (!store)
        return NULL;
    store->worker.scratch = head->scratch;
    /* run.db comes last: a folder that has a plan in it has everything. */
    bool ok =
        fs_write_atomic(dir, "settings.json", head->settings_text, head->settings_length, err) &&
        fs_write_atomic(dir, "registry.json", head->registry_text, head->registry_length, err) &&
        make_db(store, head, err) && begin(store, err);
    if (ok && fsync(dir) < 0 && errno != EINVAL)
        ok = err_sys(err, "fsync the folder");
    if (ok)
        return store;
    err_wrap(err, "make the run %s", dir_path);
    store_free(store);
    return NULL;
}

static bool has_file(int dir, const char *name)
{
    struct stat status;
    return fstatat(dir, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Holes are not counted. */
static int64_t bytes_of(int dir, const char *name)
{
    struct stat status;
    return fstatat(dir, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status.st_blocks * INT64_C(512)
                                                                 : 0;
}

struct store *store_open(int dir, const char *dir_path, struct err *err)
{
    /* A run begins with its lock; in a folder without one nothing is made. */
    if (!has_file(dir, "run.db") && !has_file(dir, "run.lock")) {
        if (has_file(dir, "summary.csv")) {
            err_set(err,
                    "%s holds results without a plan to go on with: there is no run.db; 'audit "
                    "--repeat FILE' "
                    "writes settings that repeat what is not clean",
                    dir_path);
            return NULL;
        }
        errno = ENOENT;
        err_sys(err, "%s holds no run: open run.db", dir_path);
        return NULL;
    }
    struct store *store = store_new(dir, dir_path, err);
    if (!store)
        return NULL;
    fs_clear_unfinished(dir, true); /* an earlier session may have been killed while it wrote */
    bool has_db = has_file(dir, "run.db") ||
                  (bytes_of(dir, "events.jsonl") > 0
                       ? err_set(err, "run.db is missing, though events.jsonl holds records: "
                                      "somebody removed it, and the "
                                      "plan with it, so the run cannot be gone on with")
                       : schema_no_plan(err));
    store->worker.db = has_db ? db_open_at(dir, dir_path, "run.db", false, err) : NULL;
    if (store->worker.db)
        db_limit_time(store->worker.db, bytes_of(dir, "run.db") + bytes_of(dir, "run.db-wal"));
    if (store->worker.db && schema_check(store->worker.db, err) &&
        db_use_wal(store->worker.db, err) && begin(store, err))
        return store;
    err_wrap(err, "open the run %s", dir_path);
    store_free(store);
    return NULL;
}

static void drain(struct store *store)
{
    do {
        worker_wait(&store->worker);
        worker_dispatch(&store->worker);
    } while (!worker_quiet(&store->worker));
}

/* Evidence that came after an experiment's end changes its verdict: its files are written anew. The
 * store's thread has nothing to do meanwhile. */
static bool write_late(struct store *store, struct err *err)
{
    struct work_list late = {0};
    bool ok = find_unwritten(store->worker.db, store->plan.count, true, &late, err);
    for (const struct work_item *item = late.first; ok && item; item = item->next)
        worker_add(&store->worker, item_new(WORK_FILES, item->number, NULL, NULL), NULL);
    work_list_free(&late);
    drain(store);
    return ok && worker_verdict(&store->worker, err);
}

static bool finish(struct store *store, enum settling settling)
{
    struct worker *worker = &store->worker;
    struct err *err = &store->failure;
    if (!store->finished) {
        drain(store);
        bool ok = worker_verdict(worker, err) && write_late(store, err);
        /* the thread has nothing to do any more */
        ok = worker_finish(worker, ok ? err : NULL) && ok;
        store->fine = ok && (records_settle(worker, settling) ||
                             err_set(err, "%s", text_get(&worker->changed)));
    }
    store->finished = true;
    return store->fine;
}

bool store_finish(struct store *store)
{
    return finish(store, SETTLE_ENDED);
}

bool store_finish_stopped(struct store *store)
{
    return finish(store, SETTLE_STOPPED);
}

bool store_is_large(struct store *store)
{
    drain(store); /* its thread adds lines */
    return store->worker.lines.length + (off_t)store->plan.count * PLANNED_BYTES > LARGE_BYTES;
}

bool store_close(struct store *store, struct err *err)
{
    if (!store)
        return true;
    struct worker *worker = &store->worker;
    store_finish(store);
    bool ok = store->fine;
    if (!ok && err)
        *err = store->failure;
    worker_stop(worker);
    store->running = false;
    /* Closing would checkpoint too, but would not say when it fails. Somebody who reads (BUSY) only
     * keeps the -wal alive. */
    errno = 0;
    int rc = worker->db ? sqlite3_wal_checkpoint_v2(worker->db, NULL, SQLITE_CHECKPOINT_TRUNCATE,
                                                    NULL, NULL)
                        : SQLITE_OK;
    if (ok && rc != SQLITE_OK && (rc & 0xff) != SQLITE_BUSY)
        ok = db_error(worker->db, err, "checkpoint");
    if (fdatasync(worker->jsonl) < 0 && ok)
        ok = err_sys(err, "fsync events.jsonl");
    if (ok && worker->changed.length > 0)
        ok = err_set(
            err, "another program changed records of this run: %s%s", text_get(&worker->changed),
            worker->not_restored ? "" : "; they were made anew from what the runner had kept");
    store_free(store);
    return ok;
}

const struct plan *store_plan(const struct store *store)
{
    return &store->plan;
}

int64_t store_next_session(const struct store *store)
{
    return store->replay.last_session + 1;
}

void store_add(struct store *store, const struct event *event, store_done_fn *done, void *context)
{
    struct err refused = {0};
    struct work_item *item = item_new(WORK_EVENT, 0, done, context);
    bool ok = !worker_has_failed(&store->worker, &refused) &&
              journal_replay_check(&store->replay, event, &item->after, &refused);
    if (ok) {
        item->event = *event;
        /* A copy of its own: the store's thread must not share what the caller may still hold. */
        item->event.data = event->data ? json_deep_copy(event->data) : json_object();
        journal_replay_apply(&store->replay, event, item->after);
    }
    worker_add(&store->worker, item, ok ? NULL : &refused);
}

bool store_would_take(const struct store *store, const struct event *event, struct err *err)
{
    enum experiment_state after;
    return journal_replay_check(&store->replay, event, &after, err);
}

int store_fd(const struct store *store)
{
    return store->worker.event_fd;
}

void store_dispatch(struct store *store)
{
    worker_dispatch(&store->worker);
}

bool store_flush(struct store *store, struct err *err)
{
    drain(store);
    return worker_verdict(&store->worker, err);
}

const struct store_use *store_use(const struct store *store)
{
    return &store->replay.use;
}

const struct run_budget *store_budget(const struct store *store)
{
    return run_budget_is_set(&store->replay.budget) ? &store->replay.budget : &store->plan.budget;
}

const struct store_experiment *store_experiment(const struct store *store, size_t number)
{
    return number >= 1 && number <= store->replay.count ? &store->replay.items[number - 1] : NULL;
}

void store_write_results(struct store *store, size_t number, store_done_fn *done, void *context)
{
    struct err refused;
    bool known = number >= 1 && number <= store->plan.count;
    if (!known)
        err_set(&refused, "the plan has no experiment %zu", number);
    worker_add(&store->worker, item_new(WORK_FILES, number, done, context),
               known ? NULL : &refused);
}

struct reading_results {
    bool ok;
    struct err err;
};

static void reading_done(void *context, bool ok, const struct err *err)
{
    struct reading_results *reading = context;
    reading->ok = ok;
    if (!ok)
        reading->err = *err;
}

static bool read_back(struct store *store, struct results *results, json_t **json, struct err *err)
{
    struct reading_results reading = {0};
    struct work_item *item = item_new(WORK_READ, 0, reading_done, &reading);
    item->results = results;
    item->json = json;
    worker_add(&store->worker, item, NULL);
    drain(store);
    if (!reading.ok && err)
        *err = reading.err;
    return reading.ok;
}

bool results_from_store(struct store *store, struct results *out, struct err *err)
{
    *out = (struct results){0};
    return read_back(store, out, NULL, err);
}

json_t *results_json_from_store(struct store *store, struct err *err)
{
    json_t *out = NULL;
    return read_back(store, NULL, &out, err) ? out : NULL;
}
