/* worker: the files of a run while it is written: events.jsonl, summary.csv, and the thread that
 * writes them. Private to store/. */
#ifndef TARE_RESULTS_STORE_WORKER_H
#define TARE_RESULTS_STORE_WORKER_H

#include "base/digest.h"
#include "base/err.h"
#include "base/text.h"
#include "plan/event.h"
#include "plan/plan.h"
#include "results/store/store.h"
#include "results/store/tables.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* The lines of events.jsonl. A copy of them in a file without a name stays with the runner: the
 * disk is compared with it and restored from it. (jsonl.c) */

enum { SUMMARY_ALL, SUMMARY_SAFE, SUMMARY_AFFECTED, SUMMARY_FILES };

/* The experiment.json files that the lines say were written. */
struct written_files {
    struct digest *digests; /* by number - 1 */
    bool *known;            /* which of them */
    size_t count;
};

struct event_lines {
    int64_t count;
    /* the first line that differed from run.db when the run was opened; 0: none */
    int64_t disputed;
    bool other_versions; /* not all sessions are of this version: tables made anew could differ */
    struct written_files files;
    int copy;     /* -1: none is kept */
    off_t length; /* of the copy */
};

/* Opens that of any run, to read it: NULL where it is no regular file, or too long. A journal has
 * some kilobytes an attempt. */
#define JSONL_BYTES_MAX ((off_t)1 << 30)

/* Summary.csv, all experiments that ended for good; summary_safe.csv, those of them against
 * which nothing speaks; and summary_affected.csv, the others, with the reason. In the study's
 * columns, from run.db alone. A row is appended, so that it costs the same however many there
 * are. A row that changes, or belongs before others, has all files made anew, when that takes
 * less than a hundredth of the time since they were last, at the latest in summary_finish; and
 * so has the first row of a session, whatever an earlier one left. Rows are not synced before
 * the end: run.db says it all. */

struct summary {
    int dir;                     /* borrowed */
    const struct plan *plan;     /* borrowed */
    bool scratch;                /* need not outlive a crash */
    struct strv params, metrics; /* the columns that depend on the plan, sorted */
    struct strv best;            /* of the metrics those that have a best number */
    int fd[SUMMARY_FILES];       /* -1: they are made anew before a row is written */
    off_t size[SUMMARY_FILES];
    bool *has;                     /* for each experiment: its row is there */
    size_t last;                   /* the highest number of a row; 0: none */
    bool stale;                    /* a row is not what run.db says, or not in its place */
    int64_t made_ns, took_ns;      /* when the files were made, and how long that took */
    SHA2_CTX state[SUMMARY_FILES]; /* of what was written, while fd is open */
    bool replaced;                 /* a file was not the one that was written, and was made anew */
};

/* The store's thread. One and no more: SQLite has one writer at a time anyway, events must be
 * committed in the order they were added, and a commit waits for the disk (fsync), which the
 * runner's loop must never do. It touches the connection and the files; the loop's thread touches
 * neither while it runs. */

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
    size_t count;
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
    struct event_lines lines;
    dev_t db_device; /* which file run.db is */
    ino_t db_inode;
    struct text settings, registry; /* what settings.json and registry.json hold */
    /* what others changed of the records, in words; empty: nothing */
    struct text changed;
    bool not_restored; /* and not all of it could be made anew */
    struct summary summary;
    /* experiments of which evidence came since the summary was written last */
    struct number_list judged;
    /* experiments whose files are written, which run.db does not know yet */
    struct number_list written;

    int event_fd; /* readable while done holds something */
    pthread_t thread;
    pthread_mutex_t mutex; /* guards all that follows */
    pthread_cond_t wake, idle;
    struct work_list queue, done;
    size_t pending; /* added and not yet in done */
    bool stopping;
    bool failed; /* the journal cannot be written any more; failure says why */
    struct err failure;
    /* something else was refused or not written since it was last told; complaint: the first */
    bool complained;
    struct err complaint;
};

/* Starts the thread, with all signals blocked (they are the loop's). The rest of the struct was
 * filled by the caller, who may have put items into queue and counted them in pending. */
bool worker_start(struct worker *worker, struct err *err);

/* Ends the thread when all was done, and frees what nobody dispatched. */
void worker_stop(struct worker *worker);

/* What is left to write when nothing is pending any more: rows that were put off, and what run.db
 * does not know yet. */
bool worker_finish(struct worker *worker, struct err *err);

/* The same thread's, for records.c: an experiment whose experiment.json was written, with the hash;
 * and an event of the store's own about the run, after those of the files, in a transaction of
 * their own. data: taken over; NULL: those of the files alone. */
void worker_wrote_files(struct worker *worker, size_t number, const struct digest *digest);
bool worker_write_own(struct worker *worker, enum event_type type, json_t *data, struct err *err);

/* Takes the item. When the journal has failed, or refused says why the item cannot be taken, it
 * goes to done at once. */
void worker_add(struct worker *worker, struct work_item *item, const struct err *refused);
bool worker_has_failed(struct worker *worker, struct err *err);

/* Waits until nothing is pending. */
void worker_wait(struct worker *worker);

/* Calls what is due. */
void worker_dispatch(struct worker *worker);

/* Nothing is pending and nothing is due. */
bool worker_quiet(struct worker *worker);

/* False, with what could not be written since this was last asked. The journal's failure is told
 * every time. */
bool worker_verdict(struct worker *worker, struct err *err);

enum settling {
    SETTLE_OPENED, /* what a crash left unfinished is not compared */
    SETTLE_ENDED,
    SETTLE_STOPPED /* nor is what takes time for each experiment */
};

#endif
