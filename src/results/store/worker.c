#include "results/store/db.h"
#include "results/store/experiment_json.h"
#include "results/store/journal.h"
#include "results/store/jsonl.h"
#include "results/store/records.h"
#include "results/store/results.h"
#include "results/store/results_json.h"
#include "results/store/summary.h"

#include "base/mem.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>

void work_list_add(struct work_list *list, struct work_item *item)
{
    item->next = NULL;
    if (list->last)
        list->last->next = item;
    else
        list->first = item;
    list->last = item;
}

static void work_item_free(struct work_item *item)
{
    event_fini(&item->event);
    free(item);
}

void work_list_free(struct work_list *list)
{
    while (list->first) {
        struct work_item *next = list->first->next;
        work_item_free(list->first);
        list->first = next;
    }
    list->last = NULL;
}

/* With the mutex held. */
static void publish(struct worker *worker, struct work_item *item)
{
    if (!item->ok && !worker->complained) {
        worker->complained = true;
        worker->complaint = item->err;
    }
    work_list_add(&worker->done, item);
    uint64_t one = 1;
    ssize_t written = write(worker->event_fd, &one, sizeof one);
    /* it can only fail when the counter is full, and then the descriptor is readable already */
    (void)written;
}

static void set_failure(struct worker *worker, const struct err *err)
{
    pthread_mutex_lock(&worker->mutex);
    if (!worker->failed) {
        worker->failed = true;
        worker->failure = *err;
    }
    pthread_mutex_unlock(&worker->mutex);
}

bool worker_has_failed(struct worker *worker, struct err *err)
{
    pthread_mutex_lock(&worker->mutex);
    bool failed = worker->failed;
    if (failed && err)
        *err = worker->failure;
    pthread_mutex_unlock(&worker->mutex);
    return failed;
}

static void add_number(struct number_list *list, size_t number)
{
    if (list->count > 0 && list->items[list->count - 1] == number)
        return;
    MEM_ADD(list->items, list->count) = number;
}

/* Events on their way into run.db and events.jsonl. */
struct writing {
    struct text lines;
    int64_t seq;
};

static bool write_event(struct worker *worker, struct writing *writing, const struct event *event,
                        enum experiment_state after, struct err *err)
{
    if (!journal_write(worker->db, ++writing->seq, event, after, err))
        return false;
    jsonl_add_line(&writing->lines, writing->seq, event);
    return true;
}

/* An event that the store adds by itself, at the time of the last one. data: taken over. */
static bool write_own(struct worker *worker, struct writing *writing, enum event_type type,
                      size_t experiment, json_t *data, struct err *err)
{
    struct event event = worker->last;
    event.type = type;
    event.experiment = (int64_t)experiment;
    event.attempt = 0;
    event.data = data;
    bool ok = event.session == 0 || write_event(worker, writing, &event, STATE_PLANNED, err);
    json_decref(data);
    return ok;
}

/* In a transaction, with the next events: what was written needs no transaction, hence no fsync, of
 * its own. It spares the next opening the work. */
static bool mark_written(struct worker *worker, struct writing *writing, struct err *err)
{
    for (size_t i = 0; i < worker->written.count; i++) {
        size_t number = worker->written.items[i];
        char hex[DIGEST_HEX + 1];
        digest_print(&worker->lines.files.digests[number - 1], hex);
        if (!write_own(worker, writing, EVENT_FILES_WRITTEN, number,
                       json_pack("{s:s}", "experiment.json", hex), err))
            return false;
    }
    return true;
}

void worker_wrote_files(struct worker *worker, size_t number, const struct digest *digest)
{
    worker->lines.files.digests[number - 1] = *digest;
    worker->lines.files.known[number - 1] = true;
    add_number(&worker->written, number);
}

static bool write_all_events(struct worker *worker, struct work_item *first,
                             const struct work_item *end, struct writing *writing, struct err *err)
{
    if (!mark_written(worker, writing, err))
        return false;
    for (struct work_item *item = first; item != end; item = item->next) {
        if (!write_event(worker, writing, &item->event, item->after, err))
            return false;
        if (item->event.type == EVENT_EVIDENCE && item->event.experiment > 0)
            add_number(&worker->judged, (size_t)item->event.experiment);
        worker->last = item->event;
        worker->last.data = NULL;
    }
    return true;
}

static struct writing writing_begin(const struct worker *worker)
{
    return (struct writing){.seq = worker->last_seq};
}

/* later: what failed when all was committed, and was not appended. */
static bool commit(struct worker *worker, const struct writing *writing, struct err *later,
                   struct err *err)
{
    int64_t count = writing->seq - worker->last_seq;
    if (!db_commit(worker->db, err))
        return false;
    worker->last_seq = writing->seq;
    worker->written.count = 0;
    if (event_lines_append(&worker->lines, text_get(&writing->lines), writing->lines.length, count,
                           later))
        jsonl_append(worker->jsonl, &writing->lines, later);
    return true;
}

bool worker_write_own(struct worker *worker, enum event_type type, json_t *data, struct err *err)
{
    struct writing writing = writing_begin(worker);
    struct err later = {0};
    bool begun = db_begin(worker->db, err);
    bool ok = begun && mark_written(worker, &writing, err) &&
              (!data || write_own(worker, &writing, type, 0, json_incref(data), err));
    if (begun && !ok)
        db_rollback(worker->db);
    ok = ok && commit(worker, &writing, &later, err);
    if (ok && *later.text) {
        *err = later;
        ok = false;
    }
    json_decref(data);
    text_fini(&writing.lines);
    return ok;
}

bool worker_finish(struct worker *worker, struct err *err)
{
    if (!summary_finish(&worker->summary, worker->db, err))
        return false;
    if (worker->written.count == 0 || worker_has_failed(worker, NULL))
        return true;
    return worker_write_own(worker, EVENT_NOTE, NULL, err);
}

static bool write_events(struct worker *worker, struct work_item *first,
                         const struct work_item *end, struct err *later, struct err *err)
{
    struct writing writing = writing_begin(worker);
    bool ok = db_begin(worker->db, err);
    if (ok && !write_all_events(worker, first, end, &writing, err)) {
        db_rollback(worker->db);
        ok = false;
    }
    ok = ok && commit(worker, &writing, later, err);
    text_fini(&writing.lines);
    return ok;
}

/* All events that wait go into one transaction: one fsync, however many came while the last one
 * ran. */
static void commit_events(struct worker *worker, struct work_item *first,
                          const struct work_item *end)
{
    struct err err = {0};
    bool ok = !worker_has_failed(worker, &err);
    if (ok) {
        struct err later = {0};
        ok = records_keep_db(worker, &err) && write_events(worker, first, end, &later, &err);
        if (!ok)
            err_wrap(&err, "the journal cannot be written");
        /* What is committed counts as written, even when its line cannot be appended: the next
         * opening repairs that. The events behind it fail. */
        if (!ok || *later.text)
            set_failure(worker, ok ? &later : &err);
    }
    for (struct work_item *item = first; item != end; item = item->next) {
        item->ok = ok;
        item->err = err;
    }
}

/* Of these experiments, and of those whose verdict may have changed since. */
static bool write_rows(struct worker *worker, const struct work_item *first,
                       const struct work_item *end, struct err *err)
{
    for (const struct work_item *item = first; item != end; item = item->next)
        if (item->number > 0)
            add_number(&worker->judged, item->number);
    bool ok =
        summary_put(&worker->summary, worker->db, worker->judged.items, worker->judged.count, err);
    worker->judged.count = 0;
    return ok;
}

static void write_files(struct worker *worker, struct work_item *first, const struct work_item *end)
{
    struct err err = {0};
    bool rows = write_rows(worker, first, end, &err);
    for (struct work_item *item = first; item != end; item = item->next) {
        struct digest digest;
        item->ok =
            rows && (item->number == 0 ||
                     files_write_experiment(worker->dir, worker->db, worker->plan, item->number,
                                            worker->scratch ? fs_write_unsynced : fs_write_atomic,
                                            &digest, &item->err));
        if (!rows)
            item->err = err;
        if (item->ok && item->number > 0)
            worker_wrote_files(worker, item->number, &digest);
    }
}

static void read_results(struct worker *worker, struct work_item *first,
                         const struct work_item *end)
{
    for (struct work_item *item = first; item != end; item = item->next)
        item->ok = item->json ? results_load_json(worker->db, item->json, &item->err)
                              : results_load(worker->db, item->results, &item->err);
}

static void append(struct work_list *list, struct work_list *more)
{
    while (more->first) {
        struct work_item *item = more->first;
        more->first = item->next;
        item->next = NULL;
        work_list_add(list, item);
    }
    *more = (struct work_list){0};
}

/* Of what waits, up to a reading of it all, events come first: with many lanes they and files
 * alternate, and one commit and one writing of the rows are enough for all. What files say is then
 * that of a later moment, which is as good. */
static void events_first(struct work_list *batch)
{
    struct work_list sorted = {0}, files = {0};
    for (struct work_item *item = batch->first, *next; item; item = next) {
        next = item->next;
        item->next = NULL;
        if (item->kind == WORK_FILES) {
            work_list_add(&files, item);
            continue;
        }
        if (item->kind == WORK_READ)
            append(&sorted, &files);
        work_list_add(&sorted, item);
    }
    append(&sorted, &files);
    *batch = sorted;
}

static void process(struct worker *worker, struct work_list *batch)
{
    events_first(batch);
    while (batch->first) {
        struct work_item *first = batch->first;
        struct work_item *end = first->next;
        while (end && end->kind == first->kind)
            end = end->next;
        switch (first->kind) {
        case WORK_EVENT:
            commit_events(worker, first, end);
            break;
        case WORK_FILES:
            write_files(worker, first, end);
            break;
        case WORK_READ:
            read_results(worker, first, end);
            break;
        }
        pthread_mutex_lock(&worker->mutex);
        while (batch->first != end) {
            struct work_item *item = batch->first;
            batch->first = item->next;
            publish(worker, item);
            worker->pending--;
        }
        if (worker->pending == 0)
            pthread_cond_broadcast(&worker->idle);
        pthread_mutex_unlock(&worker->mutex);
    }
}

static void *run(void *context)
{
    struct worker *worker = context;
    for (;;) {
        pthread_mutex_lock(&worker->mutex);
        while (!worker->queue.first && !worker->stopping)
            pthread_cond_wait(&worker->wake, &worker->mutex);
        struct work_list batch = worker->queue;
        worker->queue = (struct work_list){0};
        pthread_mutex_unlock(&worker->mutex);
        if (!batch.first)
            return NULL;
        process(worker, &batch);
    }
}

bool worker_start(struct worker *worker, struct err *err)
{
    worker->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (worker->event_fd < 0)
        return err_sys(err, "make an eventfd");
    pthread_mutex_init(&worker->mutex, NULL);
    pthread_cond_init(&worker->wake, NULL);
    pthread_cond_init(&worker->idle, NULL);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&worker->thread, NULL, run, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code == 0)
        return true;
    close(worker->event_fd);
    errno = code;
    return err_sys(err, "start the store's thread");
}

void worker_stop(struct worker *worker)
{
    pthread_mutex_lock(&worker->mutex);
    worker->stopping = true;
    pthread_cond_signal(&worker->wake);
    pthread_mutex_unlock(&worker->mutex);
    pthread_join(worker->thread, NULL);
    work_list_free(&worker->done);
    free(worker->judged.items);
    close(worker->event_fd);
    pthread_cond_destroy(&worker->wake);
    pthread_cond_destroy(&worker->idle);
    pthread_mutex_destroy(&worker->mutex);
}

void worker_add(struct worker *worker, struct work_item *item, const struct err *refused)
{
    pthread_mutex_lock(&worker->mutex);
    if (refused || (worker->failed && item->kind == WORK_EVENT)) {
        item->err = refused ? *refused : worker->failure;
        publish(worker, item);
    } else {
        work_list_add(&worker->queue, item);
        worker->pending++;
        pthread_cond_signal(&worker->wake);
    }
    pthread_mutex_unlock(&worker->mutex);
}

void worker_wait(struct worker *worker)
{
    pthread_mutex_lock(&worker->mutex);
    while (worker->pending > 0)
        pthread_cond_wait(&worker->idle, &worker->mutex);
    pthread_mutex_unlock(&worker->mutex);
}

void worker_dispatch(struct worker *worker)
{
    pthread_mutex_lock(&worker->mutex);
    struct work_list due = worker->done;
    worker->done = (struct work_list){0};
    uint64_t count;
    ssize_t got = read(worker->event_fd, &count, sizeof count);
    (void)got; /* EAGAIN: nothing was told */
    pthread_mutex_unlock(&worker->mutex);
    while (due.first) {
        struct work_item *item = due.first;
        due.first = item->next;
        /* Without the mutex, and from a list of its own: done may add more. */
        if (item->done)
            item->done(item->context, item->ok, item->ok ? NULL : &item->err);
        work_item_free(item);
    }
}

bool worker_quiet(struct worker *worker)
{
    pthread_mutex_lock(&worker->mutex);
    bool quiet = worker->pending == 0 && !worker->done.first;
    pthread_mutex_unlock(&worker->mutex);
    return quiet;
}

bool worker_verdict(struct worker *worker, struct err *err)
{
    pthread_mutex_lock(&worker->mutex);
    bool ok = !worker->failed && !worker->complained;
    if (!ok && err)
        *err = worker->failed ? worker->failure : worker->complaint;
    worker->complained = false;
    pthread_mutex_unlock(&worker->mutex);
    return ok;
}
