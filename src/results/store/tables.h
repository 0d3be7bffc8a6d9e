/* tables: run.db: the calls of SQLite, what each event writes into the tables, and what is read
 * from them. Private to store/. */
#ifndef TARE_RESULTS_STORE_TABLES_H
#define TARE_RESULTS_STORE_TABLES_H

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/reading.h"
#include "base/text.h"
#include "measure/guard/evidence.h"
#include "plan/event.h"
#include "plan/plan.h"
#include "results/store/store.h"

#include <jansson.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* PRAGMA user_version of the tables in schema.c, and the oldest one that is read: it has no table
 * history. */
#define DB_FORMAT 1

/* Of a cell, and of a line of events.jsonl, which becomes one: an attempt of 10,000 epochs takes a
 * third of it. */
enum { DB_CELL_MAX = 16 << 20 };

#define AUTO_QUERY AUTO(db_release)
#define AUTO_DB    AUTO(db_close)

struct journal_replay {
    struct store_experiment *items; /* by number - 1 */
    size_t count;
    int64_t last_session;
    int64_t last_ns; /* of the session's last event */
    struct store_use use;
    struct run_budget budget; /* of the last session that said one */
};

/* The zone of a session's times (base/clock.h) is in meta under this and the session's number;
 * sessions of older versions have none. JOURNAL_ZONE_OF: an expression of SQL for the zone of a
 * session. */
#define JOURNAL_ZONE "zone."
#define JOURNAL_ZONE_OF(session) \
    "(SELECT value FROM meta WHERE key = '" JOURNAL_ZONE "' || " session ")"

/* Calls each for every event, in order, until it says false. */
typedef bool journal_each_fn(void *context, int64_t seq, const struct event *event,
                             struct err *err);

/* A private copy of a run's database, live or not, in files without a name ($TMPDIR): nothing of it
 * is left, however the reader ends. */
struct snapshot_files;
struct snapshot {
    struct snapshot_files *files;
    sqlite3 *db;
};

/* What counts for the result of an experiment e: that of its last attempt and that of the
 * experiment as a whole, not that of attempts before or of results that another one replaced (while
 * it is planned again, its pass is the next one's). */
#define EVIDENCE_COUNTS                                                               \
    "v.experiment = e.number AND (v.attempt = coalesce(e.result_attempt, e.attempts)" \
    " OR (v.attempt IS NULL AND v.pass = e.pass - e.again))"

/* The highest that any one GPU had, in MiB. */
struct reading energy_gpu_memory_mib(const json_t *block);

/* What one epoch drew; energies in whole millijoules, too, so that they add up. */
enum { ENERGY_EPOCH_FIGURES = 9 };
struct energy_epoch {
    struct reading figures[ENERGY_EPOCH_FIGURES];
    int64_t mj[ENERGY_EPOCH_FIGURES]; /* of those that are energies */
};

/* Of a row of epoch_energy, figures from its column first on; the same are the keys of an event's
 * epochs. */
#define ENERGY_EPOCH_COLUMNS                                                                 \
    "name, start_ns, end_ns, gpu_mj, gpu_half_width_j, gpu_power_w, gpu_memory_peak_bytes, " \
    "cpu_mj, cpu_half_width_j,"                                                              \
    " dram_mj, dram_half_width_j, host_memory_peak_bytes"
void energy_epoch_read(sqlite3_stmt *row, int first, struct energy_epoch *out);

/* The highest GPU memory of an attempt, on the GPU on which it is highest. */
struct memory_peak {
    struct reading bytes;
    const char *of; /* "job", "foreground" (of two jobs), "gpu" (all programs); NULL: not known */
    char how[48];   /* "counted", "sampled every 50 ms", "sampled, of the whole GPU", "" */
    struct reading pair_bytes; /* of foreground and background together */
};

/* What a lane does at a moment; the page knows them by this order. */
enum lane_doing {
    DOING_TRAINING, /* a job runs */
    /* before and after it: the look at the GPUs, the idle draw, the background's load, the proof */
    DOING_GUARD,
    DOING_PAUSE,   /* cooling */
    DOING_WAIT,    /* for its GPUs to be free, or for other lanes */
    DOING_NOTHING, /* nothing is left for it, or its GPU is lost */
    DOING_COUNT
};

/* One life of a runner; times are of its monotonic clock, laid onto its wall clock when it
 * began. */
struct way_session {
    int64_t number;
    char *host;
    int64_t from_ns, to_ns; /* since 1970; to: its end, or the last that was heard of it */
    int64_t monotonic_ns;   /* when it began */
    int64_t first_ns;       /* when one of its lanes took the first experiment; 0: none did */
};

struct way_span {
    int64_t from_ns, to_ns;
    enum lane_doing doing;
    int64_t experiment, attempt; /* 0: none */
};

/* A lane in one session. */
struct way {
    size_t session;         /* index */
    int64_t number;         /* of the lane, from 1 */
    struct strv labels;     /* of its GPUs: "GPU 2" */
    struct strv uuids;      /* of the same; a label where no UUID is known */
    char *lost;             /* why it takes nothing any more, or NULL */
    struct way_span *spans; /* without a gap, in order of time */
    size_t count;
    bool named; /* the journal said which GPUs are its own */
    bool begun; /* it has taken an experiment */
};

struct way_try {
    int64_t attempt;
    size_t way, before; /* index of the experiment's try before; SIZE_MAX: none */
};

struct ways {
    struct way_session *sessions;
    size_t session_count;
    struct way *items;
    size_t count;
    struct way_try *tries; /* every attempt, in order of time */
    size_t try_count;
    size_t *last; /* by the experiment's number: its last try; SIZE_MAX: none */
    size_t *now;  /* by the experiment's number: which way has it; SIZE_MAX: none */
    size_t experiments;
};

#endif
