#include "store/store.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/mem.h"
#include "store/journal.h"
#include "store/jsonl.h"
#include "store/lock.h"
#include "store/results.h"
#include "store/view.h"
#include "store/worker.h"
#include "tare_build.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct store {
    int dir, lock, jsonl;
    char *dir_path;
    sqlite3 *db;
    struct plan plan;
    struct view view;
    bool running; /* worker has its thread */
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
    db_close(&store->db);
    view_fini(&store->view);
    plan_fini(&store->plan);
    cleanup_close(&store->jsonl);
    cleanup_close(&store->dir);
    free(store->dir_path);
    cleanup_close(&store->lock); /* last: whoever takes it next finds everything closed */
    free(store);
}

/* dir is duplicated, so that the caller may close its own at any time. */
static struct store *store_new(int dir, const char *dir_path, struct err *err)
{
    struct store *store = mem_alloc(sizeof *store);
    *store = (struct store){.lock = -1, .jsonl = -1, .dir_path = mem_strdup(dir_path)};
    store->worker.summary.fd[SUMMARY_ALL] = store->worker.summary.fd[SUMMARY_SAFE] = -1;
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

static bool use_wal(sqlite3 *db, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query = db_query(db, err, "PRAGMA journal_mode=WAL", "");
    int step = query ? db_step(query, err) : -1;
    if (step < 0)
        return false;
    const char *mode = step ? db_text(query, 0) : NULL;
    if (!mode || strcmp(mode, "wal") != 0)
        return err_set(err, "run.db: this file system cannot hold a write-ahead log");
    return true;
}

static bool is_empty(int dir, const char *dir_path, struct err *err)
{
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *open_dir = copy < 0 ? NULL : fdopendir(copy);
    if (!open_dir) {
        err_sys(err, "read the folder %s", dir_path);
        if (copy >= 0)
            close(copy);
        return false;
    }
    bool empty = true;
    for (struct dirent *entry; empty && (entry = readdir(open_dir));)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    closedir(open_dir);
    return empty || err_set(err, "the folder %s is not empty", dir_path);
}

static bool make_db(struct store *store, const struct store_head *head, struct err *err)
{
    store->db = db_open_at(store->dir, store->dir_path, "run.db", true, err);
    if (!store->db || !use_wal(store->db, err) ||
        (store->worker.scratch && !db_run(store->db, err, "PRAGMA synchronous=OFF", "")) || !db_begin(store->db, err))
        return false;
    if (!schema_make(store->db, err) ||
        !db_run(store->db, err, "INSERT INTO meta (key, value) VALUES ('created_by', ?)", "t",
                TARE_NAME " " TARE_VERSION) ||
        !journal_write_plan(store->db, head->plan, err)) {
        db_rollback(store->db);
        return false;
    }
    return db_commit(store->db, err);
}

static void add_work(struct work_list *list, size_t number)
{
    struct work_item *item = mem_alloc(sizeof *item);
    item->kind = WORK_FILES;
    item->number = number;
    work_list_add(list, item);
}

/* Experiments whose end was committed before a crash, and whose files were not written then; or whose verdict changed
 * after they were written. */
static bool find_unwritten(sqlite3 *db, size_t count, bool only_changed, struct work_list *out, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err,
                 "SELECT number FROM experiments WHERE state='done' AND files_written<>1 AND (files_written=2 OR NOT ?)"
                 " ORDER BY number",
                 "i", (int64_t)only_changed);
    int step = query ? 0 : -1;
    while (query && (step = db_step(query, err)) > 0) {
        int64_t number = sqlite3_column_int64(query, 0);
        if (number < 1 || (size_t)number > count)
            continue;
        add_work(out, (size_t)number);
    }
    return step == 0;
}

/* What both ways of opening end with. */
static bool begin(struct store *store, struct err *err)
{
    store->jsonl = jsonl_open(store->dir, store->dir_path, err);
    if (store->jsonl < 0 || !jsonl_repair(store->jsonl, store->db, err) ||
        !journal_read_plan(store->db, &store->plan, err))
        return false;
    view_init(&store->view, store->plan.count);
    struct worker *worker = &store->worker;
    if (!journal_load_view(store->db, &store->view, err) || !journal_last_seq(store->db, &worker->last_seq, err) ||
        !find_unwritten(store->db, store->plan.count, false, &worker->queue, err))
        return false;
    /* It was killed, perhaps while it wrote a row, or lost rows with its machine's power. */
    int64_t unended;
    if (!db_number(store->db, "SELECT ended_realtime_ns IS NULL FROM sessions ORDER BY number DESC LIMIT 1", &unended,
                   err))
        return false;
    if (unended)
        add_work(&worker->queue, 0);
    for (const struct work_item *item = worker->queue.first; item; item = item->next)
        worker->pending++;
    db_unlimit_time(store->db);
    worker->db = store->db;
    worker->dir = store->dir;
    worker->jsonl = store->jsonl;
    worker->plan = &store->plan;
    summary_init(&worker->summary, store->dir, &store->plan, worker->scratch);
    store->running = worker_start(worker, err);
    return store->running;
}

static struct store *create(int dir, const char *dir_path, const struct store_head *head, bool scratch, struct err *err)
{
    if (!is_empty(dir, dir_path, err))
        return NULL;
    struct store *store = store_new(dir, dir_path, err);
    if (!store)
        return NULL;
    store->worker.scratch = scratch;
    /* run.db comes last: a folder that has a plan in it has everything. */
    bool ok = fs_write_atomic(dir, "settings.json", head->settings_text, head->settings_length, err) &&
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

struct store *store_create(int dir, const char *dir_path, const struct store_head *head, struct err *err)
{
    return create(dir, dir_path, head, false, err);
}

struct store *store_create_scratch(int dir, const char *dir_path, const struct store_head *head, struct err *err)
{
    return create(dir, dir_path, head, true, err);
}

static void add_files(struct store *store, size_t number, store_done_fn *done, void *context)
{
    struct work_item *item = mem_alloc(sizeof *item);
    item->kind = WORK_FILES;
    item->number = number;
    item->done = done;
    item->context = context;
    worker_add(&store->worker, item, NULL);
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
    return fstatat(dir, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status.st_blocks * INT64_C(512) : 0;
}

struct store *store_open(int dir, const char *dir_path, struct err *err)
{
    /* A run begins with its lock; in a folder without one nothing is made. */
    if (!has_file(dir, "run.db") && !has_file(dir, "run.lock")) {
        if (has_file(dir, "summary.csv")) {
            err_set(err,
                    "%s holds results without a plan to go on with: there is no run.db; 'audit --repeat FILE' "
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
    bool has_db = has_file(dir, "run.db") || schema_no_plan(err);
    store->db = has_db ? db_open_at(dir, dir_path, "run.db", false, err) : NULL;
    if (store->db)
        db_limit_time(store->db, bytes_of(dir, "run.db") + bytes_of(dir, "run.db-wal"));
    if (store->db && schema_check(store->db, err) && use_wal(store->db, err) && schema_upgrade(store->db, err) &&
        begin(store, err))
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

/* Evidence that came after an experiment's end changes its verdict: its files are written anew. The store's thread has
 * nothing to do meanwhile. */
static bool write_late(struct store *store, struct err *err)
{
    struct work_list late = {0};
    bool ok = find_unwritten(store->db, store->plan.count, true, &late, err);
    for (const struct work_item *item = late.first; ok && item; item = item->next)
        add_files(store, item->number, NULL, NULL);
    work_list_free(&late);
    drain(store);
    return ok && worker_verdict(&store->worker, err);
}

bool store_close(struct store *store, struct err *err)
{
    if (!store)
        return true;
    drain(store);
    bool ok = worker_verdict(&store->worker, err) && write_late(store, err);
    ok = worker_finish(&store->worker, ok ? err : NULL) && ok; /* the thread has nothing to do any more */
    worker_stop(&store->worker);
    store->running = false;
    /* Closing would checkpoint too, but would not say when it fails. Somebody who reads (BUSY) only keeps the -wal
     * alive. */
    errno = 0;
    int rc = sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    if (ok && rc != SQLITE_OK && (rc & 0xff) != SQLITE_BUSY)
        ok = db_error(store->db, err, "checkpoint");
    if (fdatasync(store->jsonl) < 0 && ok)
        ok = err_sys(err, "fsync events.jsonl");
    store_free(store);
    return ok;
}

const struct plan *store_plan(const struct store *store)
{
    return &store->plan;
}

int64_t store_next_session(const struct store *store)
{
    return store->view.last_session + 1;
}

void store_add(struct store *store, const struct event *event, store_done_fn *done, void *context)
{
    struct err refused = {0};
    struct work_item *item = mem_alloc(sizeof *item);
    item->kind = WORK_EVENT;
    item->done = done;
    item->context = context;
    bool ok = !worker_has_failed(&store->worker, &refused) && view_check(&store->view, event, &item->after, &refused);
    if (ok) {
        item->event = *event;
        /* A copy of its own: the store's thread must not share what the caller may still hold. */
        item->event.data = event->data ? json_deep_copy(event->data) : json_object();
        view_apply(&store->view, event, item->after);
    }
    worker_add(&store->worker, item, ok ? NULL : &refused);
}

bool store_would_take(const struct store *store, const struct event *event, struct err *err)
{
    enum experiment_state after;
    return view_check(&store->view, event, &after, err);
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

const struct store_experiment *store_experiment(const struct store *store, size_t number)
{
    return number >= 1 && number <= store->view.count ? &store->view.items[number - 1] : NULL;
}

void store_write_results(struct store *store, size_t number, store_done_fn *done, void *context)
{
    if (number >= 1 && number <= store->plan.count) {
        add_files(store, number, done, context);
        return;
    }
    struct err refused;
    err_set(&refused, "the plan has no experiment %zu", number);
    struct work_item *item = mem_alloc(sizeof *item);
    item->kind = WORK_FILES;
    item->done = done;
    item->context = context;
    worker_add(&store->worker, item, &refused);
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
    struct work_item *item = mem_alloc(sizeof *item);
    item->kind = WORK_READ;
    item->results = results;
    item->json = json;
    item->done = reading_done;
    item->context = &reading;
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
