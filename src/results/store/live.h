/* live: a run as it is now, for whoever watches it from outside: its plan and results, kept current
 * from events.jsonl, and the readings of live.json, which the runner replaces about once a second.
 * Reads the folder only, so it works from any node that sees it; nothing of it is trusted: links
 * are not followed, sizes are limited, and a line that is no event is counted and left out. */
#ifndef TARE_RESULTS_STORE_LIVE_H
#define TARE_RESULTS_STORE_LIVE_H

#include "base/err.h"
#include "base/reading.h"
#include "results/store/store.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* The files in a run's folder. live.json is there while a session goes on, and stays when its
 * runner is killed. */
#define LIVE_FILE         "live.json"
#define LIVE_CONTROL_FILE "control.json"

enum { LIVE_POINTS = 120, LIVE_SLOTS_MAX = 256, LIVE_EVENTS_KEPT = 200 };

/* Of an experiment: its row. Text is owned by the run, and valid until the next live_run_update. */
struct live_experiment {
    const struct plan_experiment *plan;
    enum experiment_state state;
    enum outcome outcome; /* NONE: it has not ended */
    bool again;           /* it is planned again; what is here is the result before */
    /* of the result; NONE: there is none, or it failed and nothing speaks against it */
    enum verdict verdict;
    enum evidence_weight weight; /* heaviest evidence of the attempt under way, or of the result */
    bool has_evidence;           /* not: weight says nothing. No evidence so far is not "clean" */
    char *evidence;              /* the text of that evidence; NULL: none */
    int64_t attempts;
    size_t slot; /* from 1, while it is under way; 0: it is not */
    /* CLOCK_REALTIME, of the last attempt's start and of the end; 0: not yet */
    int64_t started_ns, ended_ns;
    double duration_s;           /* of the last attempt; 0: it has not ended */
    struct result_energy energy; /* of the result */
    struct result_used used;     /* by all its attempts */
    char *failure, *error;       /* NULL: none */
    json_t *metrics;             /* {name: number or null} of the result; NULL: none */
    uint64_t version;            /* of the run's, when this row changed last */
};

/* How far a training is. */
struct live_training {
    bool known;
    const char *name;      /* "epoch"; borrowed */
    struct reading at, of; /* from 1, of this many */
    struct reading share;  /* 0 to 1, of the whole training */
};

/* A slot as live.json has it. What is absent was not read. */
struct live_slot {
    size_t number;     /* from 1 */
    json_t *gpus;      /* [text]; borrowed */
    size_t experiment; /* number in the plan; 0: none */
    int64_t attempt;
    enum experiment_state state;
    char phase[24];     /* "idle", "preparing", "running", "stopping", "verifying", "pause" */
    int64_t since_ns;   /* CLOCK_REALTIME: since when it is in this phase */
    int64_t started_ns; /* CLOCK_REALTIME: of the attempt's command; 0: not yet */
    double pause_s;     /* how long the pause is to take at most; 0: none */
    struct reading power_w, utilisation_percent, memory_bytes, memory_total_bytes, temperature_c;
    const json_t *bars; /* as EVENT_METRIC has them, or NULL; borrowed */
    struct live_training training;
    const json_t *metrics; /* {name: number}; borrowed */
    /* [[s since 1970, W]] and {metric: [[s, value]]}, at most LIVE_POINTS each; borrowed */
    const json_t *power_points, *metric_points;
};

/* ELSEWHERE: its runner is on another host, so it is not known whether it lives */
enum live_state { LIVE_UNDER_WAY, LIVE_ENDED, LIVE_DIED, LIVE_ELSEWHERE };

struct live_run {
    char *dir, *name; /* the folder as given; its last step */
    enum live_state state;
    /* of the session that ended last: "finished", …; NULL: none did */
    const char *outcome;
    struct plan plan;
    struct live_experiment *experiments; /* plan.count of them, in the plan's order */
    struct live_slot *slots;             /* empty where there is no live.json */
    size_t slot_count;
    int64_t live_ns;            /* CLOCK_REALTIME when live.json was written; 0: there is none */
    bool paused;                /* on request: nothing more begins */
    int64_t session;            /* the last one's number; 0: none began */
    int64_t session_started_ns; /* CLOCK_REALTIME */
    /* the last LIVE_EVENTS_KEPT journaled ones, as events.jsonl has them */
    json_t *events;
    uint64_t version;           /* grows by one with each update that changed anything */
    uint64_t skipped_lines;     /* of events.jsonl: no events */
    struct live_reader *reader; /* private */
};

/* Counts of all experiments. */
struct live_counts {
    /* running: any state between planned and done */
    size_t planned, running, succeeded, failed, interrupted;
    size_t clean, unverified, suspect, contaminated; /* of those that ended */
};

/* Reads the run in a folder, live or finished. False: err names the file and the reason. */
bool live_run_open(const char *dir, struct live_run *out, struct err *err);

/* The same of a folder that is open, whatever has its path now; dir is for messages. fd stays the
 * caller's. */
bool live_run_open_at(int fd, const char *dir, struct live_run *out, struct err *err);
void live_run_close(struct live_run *run);

/* Reads what is new. changed (may be NULL): anything is. Cheap where nothing is new: two stats and
 * a lock that is tried. A run whose folder was removed gives false. */
bool live_run_update(struct live_run *run, bool *changed, struct err *err);

struct live_counts live_run_counts(const struct live_run *run);

/* "under_way", "ended", "died", "elsewhere". */
const char *live_state_name(enum live_state state);

/* What is said of an experiment's numbers: the verdict of its result; before there is one "no
 * evidence", "evidence recorded", "suspect" or "contaminated", never "clean"; "" for what has not
 * begun. */
const char *live_verdict_text(const struct live_experiment *experiment);

/* Everything as JSON (docs/reference/json.md), with the experiments whose version is above since
 * (0: all): {"format": 1, "version", "run", "name", "state", "outcome", "session",
 * "session_started_ms", "paused", "live_ms", "counts": {...}, "slots": [{"slot", "gpus",
 * "experiment", "id", "attempt", "phase", "since_ms", "started_ms", "pause_s", "power_w",
 * "utilisation_percent", "memory_bytes", "memory_total_bytes", "temperature_c", "bars", "training",
 * "metrics", "points"}], "experiments": [{"number", "id", "state", "outcome", "verdict",
 * "verdict_text", "evidence", "attempts", "slot", "started_ms", "ended_ms", "duration_s", "gpu_j",
 * "gpu_half_width_j", "cpu_j", "cpu_half_width_j", "failure", "error", "metrics"}], "events":
 * [those after since, as in events.jsonl]}; _ms: since 1970; what is not known is null. A new
 * reference. */
json_t *live_run_json(const struct live_run *run, uint64_t since);

/* Of its points leaves those that are newer than since_s, but for two seconds: readings come out of
 * order within one. Gives the newest of all, at least since_s. */
double live_json_newer_points(json_t *json, double since_s);

/* What a watcher may ask of the runner. */
enum live_request {
    LIVE_PAUSE,    /* nothing more begins; what runs goes on to its end */
    LIVE_CONTINUE, /* after a pause */
    LIVE_SKIP,     /* ends the attempt of an experiment that is under way; a resume runs it again */
    LIVE_STOP,     /* as Ctrl-C: ends what runs, records, returns */
    LIVE_REQUESTS
};
const char *live_request_name(enum live_request request); /* "pause", … */

/* Asks: writes control.json, which the runner takes within about a second, on whatever node it is.
 * experiment: of SKIP only, its number. Refused with a reason: the run is not under way, the caller
 * (or root) is not the owner of the run's folder, an earlier request was not taken yet, no such
 * experiment is under way. */
bool live_ask(const struct live_run *run, enum live_request request, size_t experiment,
              struct err *err);

/* For the runner: takes the request that is there, and removes it. 1: there is one; 0: none; -1:
 * err says what was wrong with it (it is removed). dir: the run's folder, open. Only a regular file
 * of the folder's owner or of root counts. */
int live_take_request(int dir, enum live_request *request, size_t *experiment, struct err *err);

/* How a run under way is read. Private to store/. */

/* Where the reader of a run is. */
struct live_reader {
    int dir;           /* the run's folder, open */
    int events_fd;     /* events.jsonl, open */
    int64_t offset;    /* in events.jsonl: behind the last whole line that was taken */
    bool in_long_line; /* what is at offset belongs to a line that is left out */
    bool reload;       /* the session has ended: all rows are to be read anew */
    char *outcome;     /* of the session that ended last; NULL: none has, or one is under way */
    json_t *live;      /* live.json as it was read last; slots borrow from it */
    struct timespec live_time;
    ino_t live_inode;
    /* CLOCK_MONOTONIC: when live.json was seen to be a new one; 0: not since it was opened */
    int64_t replaced_ns;
};

/* live.json, where it was replaced. What is wrong in it is left out. */
void live_read_slots(struct live_run *run);

#endif
