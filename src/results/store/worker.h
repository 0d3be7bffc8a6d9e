/* worker: the store's thread. One and no more: SQLite has one writer at a time anyway, events must be committed in
 * the order they were added, and a commit waits for the disk (fsync), which the runner's loop must never do. It
 * touches the connection and the files; the loop's thread touches neither while it runs. Private to store/. */
#ifndef TARE_RESULTS_STORE_WORKER_H
#define TARE_RESULTS_STORE_WORKER_H

#include "results/store/chain.h"
#include "results/store/db.h"
#include "results/store/store.h"
#include "results/store/summary.h"

#include <pthread.h>

enum work { WORK_EVENT, WORK_FILES, WORK_READ };

struct work_item {
    struct work_item *next;
    enum work kind;
    struct event event;          /* EVENT: with data of its own */
    enum experiment_state after; /* EVENT */
    size_t number;               /* FILES: the experiment's; 0: the summary alone */
    struct results *results;     /* READ: filled, or */
    json_t **json;               /* this one set */
    store_done_fn *done;
    void *context;
    bool ok;
    struct err err;
};

struct work_list {
    struct work_item *first, *last;
};

void work_list_add(struct work_list *list, struct work_item *item);
void work_list_free(struct work_list *list);

struct number_list {
    size_t *items;
    size_t count, capacity;
};

struct worker {
    sqlite3 *db;             /* owned by the store, which finds it here */
    int dir;                 /* borrowed */
    int jsonl;               /* as db */
    char *dir_path;          /* as db: for messages */
    const struct plan *plan; /* borrowed */
    bool scratch;            /* what it writes need not outlive a crash */

    /* The thread's own. */
    int64_t last_seq;
    struct event last; /* when and in which session the last event was; without its data */
    struct chain chain;
    dev_t db_device; /* which file run.db is */
    ino_t db_inode;
    struct text settings, registry; /* what settings.json and registry.json hold */
    struct text changed;            /* what others changed of the records, in words; empty: nothing */
    bool not_restored;              /* and not all of it could be made anew */
    struct summary summary;
    struct number_list judged;  /* experiments of which evidence came since the summary was written last */
    struct number_list written; /* experiments whose files are written, which run.db does not know yet */

    int event_fd; /* readable while done holds something */
    pthread_t thread;
    pthread_mutex_t mutex; /* guards all that follows */
    pthread_cond_t wake, idle;
    struct work_list queue, done;
    size_t pending; /* added and not yet in done */
    bool stopping;
    bool failed; /* the journal cannot be written any more; failure says why */
    struct err failure;
    bool complained; /* something else was refused or not written since it was last told; complaint: the first */
    struct err complaint;
};

/* Starts the thread, with all signals blocked (they are the loop's). The rest of the struct was filled by the
 * caller, who may have put items into queue and counted them in pending. */
bool worker_start(struct worker *worker, struct err *err);

/* Ends the thread when all was done, and frees what nobody dispatched. */
void worker_stop(struct worker *worker);

/* What is left to write when nothing is pending any more: rows that were put off, and what run.db does not know yet. */
bool worker_finish(struct worker *worker, struct err *err);

/* The same thread's, for records.c: an experiment whose experiment.json was written, with the hash; and an event of the store's own about
 * the run, behind those of the files, in a transaction of their own. data: taken over; NULL: those of the files alone. */
void worker_wrote_files(struct worker *worker, size_t number, const struct digest *digest);
bool worker_write_own(struct worker *worker, enum event_type type, json_t *data, struct err *err);

/* Takes the item. When the journal has failed, or refused says why the item cannot be taken, it goes to done at
 * once. */
void worker_add(struct worker *worker, struct work_item *item, const struct err *refused);
bool worker_has_failed(struct worker *worker, struct err *err);

/* Waits until nothing is pending. */
void worker_wait(struct worker *worker);

/* Calls what is due. */
void worker_dispatch(struct worker *worker);

/* Nothing is pending and nothing is due. */
bool worker_quiet(struct worker *worker);

/* False, with what could not be written since this was last asked. The journal's failure is told every time. */
bool worker_verdict(struct worker *worker, struct err *err);

/* Whether the files of a run hold what the store wrote, and making anew what does not. What the runner holds in memory and in its
 * own copy of the lines is the truth. On the store's thread, or when it has nothing to do. Private to store/. */

/* Remembers which file run.db is: it may be removed or replaced while it is open. */
bool records_know_db(struct worker *worker, struct err *err);

/* Before events are written: a run.db that is no longer there is made anew at once. */
bool records_keep_db(struct worker *worker, struct err *err);

/* Compares all files, and makes anew those that were changed; worker->changed says which, and whether that could be done. opening: what a
 * crash left unfinished is not compared. False: run.db is lost. */
bool records_settle(struct worker *worker, bool opening);

/* The last record: the hashes of all files. */
bool records_close(struct worker *worker, struct err *err);

#endif
