/* store: run.db, events.jsonl, experiment.json and summary.csv. One thread of its own commits
 * events in the order they were added (SQLite WAL, synchronous=FULL): a slow disk never holds up
 * the loop. The only place that includes sqlite3.h. */
#ifndef TARE_RESULTS_STORE_STORE_H
#define TARE_RESULTS_STORE_STORE_H

#include "base/digest.h"
#include "base/err.h"
#include "base/goal.h"
#include "base/reading.h"
#include "base/text.h"
#include "measure/guard/evidence.h"
#include "plan/event.h"
#include "plan/plan.h"
#include "results/model.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;

/* What is written down once, at the start of a run. The texts are copied verbatim into
 * settings.json and registry.json. */
struct store_head {
    const struct plan *plan;
    const char *settings_text;
    size_t settings_length;
    const char *registry_text;
    size_t registry_length;
    /* nothing need outlive a crash: nothing is synced, and who made it syncs what is to stay */
    bool scratch;
};

/* Makes a run in dir (an open folder that must be empty): run.db with the whole plan,
 * settings.json, registry.json. Opening takes the runner's lock (an flock on run.lock in the
 * folder): a second opener is refused with an error that names the holder's pid and host. dir stays
 * the caller's. */
struct store *store_create(int dir, const char *dir_path, const struct store_head *head,
                           struct err *err);

/* Opens a run for going on: takes the lock, repairs events.jsonl (a torn last line is cut, events
 * committed but not yet appended are appended), loads the plan. */
struct store *store_open(int dir, const char *dir_path, struct err *err);

/* Commits what was added, compares all records with what was written, and restores what others
 * changed. Nothing may be added after it. False: store_close says why. */
bool store_finish(struct store *store);

/* Whether comparing all records, or making the page, takes longer than about half a second: some
 * 500 small experiments that ran, or 2,000 that are planned. */
bool store_is_large(struct store *store);

/* As store_finish, for a large run that is stopped and has little time: run.db's tables and the
 * experiment.json of each experiment are compared by the next store_open, with the lines of
 * events.jsonl. These are compared here; where they were changed, everything is. */
bool store_finish_stopped(struct store *store);

/* Finishes, if that was not done, checkpoints (no -wal stays), closes and unlocks. False: err says
 * what failed (a full disk), or what others changed. */
bool store_close(struct store *store, struct err *err);

const struct plan *store_plan(const struct store *store);
int64_t store_next_session(const struct store *store);

/* Hands an event to the store's thread. done (may be NULL) is called from store_dispatch, on the
 * caller's thread, when the event is durable (ok) or could not be written (err). The event is
 * copied. Events that are not journaled are refused. */
typedef void store_done_fn(void *context, bool ok, const struct err *err);
void store_add(struct store *store, const struct event *event, store_done_fn *done, void *context);

/* Whether store_add would take it now: err says what does not fit. */
bool store_would_take(const struct store *store, const struct event *event, struct err *err);

/* Becomes readable when store_dispatch has something to do. */
int store_fd(const struct store *store);
void store_dispatch(struct store *store);

/* Waits until all that was added is durable, calling what is due. False when something could not be
 * written. */
bool store_flush(struct store *store, struct err *err);

/* What the journal knows of an experiment: as of the events added through this store and those
 * before it. */
struct store_job {
    bool born;   /* with the identity below */
    bool proven; /* EVENT_JOB_PROVEN was written with no survivors */
    int64_t pid;
    uint64_t start_time;
    char *boot_id, *cgroup, *tag;
};
struct store_attempt {
    int64_t number;
    enum outcome outcome;                           /* NONE: it never ended */
    bool started;                                   /* EVENT_ATTEMPT_STARTED was written */
    int64_t started_realtime_ns, ended_realtime_ns; /* of its events; 0: not yet */
    /* background: the loop that was born last: those before it were proven gone */
    struct store_job job, background;
};

/* Of an experiment that has not ended for good, and of its attempts since it was planned (again);
 * else empty. */
struct store_history {
    int64_t failed;     /* attempts that failed: interrupted ones use up no retry */
    json_t *last_ended; /* data of the last EVENT_ATTEMPT_ENDED, or NULL */
    json_t *ladder;     /* run/ladder.c, as it was written last, or NULL */
};

struct store_experiment {
    enum experiment_state state;
    enum outcome outcome;
    int64_t attempts;           /* begun so far */
    bool again;                 /* planned again (EVENT_EXPERIMENT_AGAIN), and not done anew yet */
    struct reading under_way_j; /* what the attempt under way had used when that was written last */
    struct store_attempt last;  /* of the last attempt; number 0: none */
    struct store_history history;
};

/* Borrowed until the next call or store_close. number from 1. As of opening plus what was added
 * since. */
const struct store_experiment *store_experiment(const struct store *store, size_t number);

/* What the attempts of a run used, as its events tell it: gross, of the GPU boards and the CPU
 * packages (of several lanes the share of these by CPU time). */
struct store_use {
    double time_s;       /* of all sessions, each from its first event to its last */
    double energy_j;     /* of the attempts that ended */
    int64_t attempts;    /* that ran and ended; of these: */
    int64_t estimated;   /* have the last reading while they ran, and no figures of their own */
    int64_t unmeasured;  /* have nothing: they are not in energy_j */
    double unmeasured_s; /* how long these took, as far as that is known */
    int64_t succeeded;   /* of these, for what the next one may need: */
    double succeeded_s;
    int64_t succeeded_measured;
    double succeeded_j;
};

/* As store_experiment. */
const struct store_use *store_use(const struct store *store);

/* What the last session had as its budget, or, before there was one, the plan; borrowed until
 * store_close. */
const struct run_budget *store_budget(const struct store *store);

/* Writes summary.csv (all ended experiments, in the plan's order) and the experiment's
 * experiment.json, atomically, from the journal alone, on the store's thread; done as in store_add.
 * folder: the experiment's. */
void store_write_results(struct store *store, size_t number, store_done_fn *done, void *context);

/* flushes first */
bool results_from_store(struct store *store, struct results *out, struct err *err);

json_t *results_json_from_store(struct store *store, struct err *err); /* flushes first */

/* Whether a process holds the lock of the run in run_dir, whoever that is; asked before the journal
 * is read, since a run that ends in between has then said so there. Takes nothing from a runner
 * that lives. */
enum lock_seen {
    LOCK_FREE,
    LOCK_HELD,
    LOCK_UNSEEN /* it may not be opened, or its last holder was on another host */
};

/* How far a run is. */
enum run_life { RUN_LIFE_ENDED, RUN_LIFE_UNDER_WAY, RUN_LIFE_DIED, RUN_LIFE_ELSEWHERE };

/* One match of a metric's pattern. The texts are borrowed until the next one. */
struct history_point {
    size_t number;  /* of the experiment */
    const char *id; /* the experiment's */
    int64_t attempt;
    const char *metric;
    int64_t step; /* the number of the match among those of the metric in the attempt, from 1 */
    bool has_epoch;
    int64_t epoch;          /* that was marked last; docs/reference/files.md */
    struct reading seconds; /* since the attempt's start */
    double value;           /* nan and infinities too */
};
typedef bool history_each_fn(void *context, const struct history_point *point, struct err *err);

/* What another host recorded of an experiment becomes part of this run's journal. Only its
 * events.jsonl is read: no SQLite file is ever opened by two hosts. */

struct import_source {
    int dir;          /* the other run's folder, open */
    const char *name; /* of it, for messages and evidence */
    /* which one here is its only one; 0: as it is numbered there, where there is but one too */
    int64_t experiment;
};

/* What of it could not be taken. */
struct import_loss {
    /* that are missing, cannot be read, or fit no longer without those that are missing */
    size_t events;
    struct err first; /* of them, or of what was changed: which line, and why */
};

/* Where one is in the file. */
struct import_lines {
    int64_t experiment;    /* the number here of the only one there; 0: as it is numbered there */
    int64_t session_shift; /* is added to the sessions' numbers */
    int64_t seq;           /* of the line before; 0: there is none */
};

#endif
