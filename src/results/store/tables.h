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

/* The few calls of SQLite that the store makes, with tare's error shape. */

/* PRAGMA user_version of the tables in schema.c, and the oldest one that is read: it has no table
 * history. */
#define DB_FORMAT 1

/* Of a cell, and of a line of events.jsonl, which becomes one: an attempt of 10,000 epochs takes a
 * third of it. */
enum { DB_CELL_MAX = 16 << 20 };

/* Opens NAME in an open folder (dir_path: for messages), neither through a link nor with links
 * beside it where SQLite would put its -wal, -shm and -journal. create: the file must not be there.
 * NULL on error. */
sqlite3 *db_open_at(int dir, const char *dir_path, const char *name, bool create, struct err *err);

/* Opens a private copy, which may be recovered and changed, through a VFS that knows it by this
 * name. It has no shared memory, and is not checkpointed at the end. bytes: of data in it
 * (db_limit_time). */
sqlite3 *db_open_copy(const char *name, const char *vfs, int64_t bytes, struct err *err);
void db_close(sqlite3 **db);

bool db_use_wal(sqlite3 *db, struct err *err);

/* A private one without a name, or a new file of that name: nothing of it need outlive a crash. */
sqlite3 *db_open_private(struct err *err);
sqlite3 *db_open_unsynced(int dir, const char *dir_path, const char *name, struct err *err);

/* From now on the connection may take as much of this thread's processor time as a database of so
 * many bytes can need, and a statement that takes more is an error. */
void db_limit_time(sqlite3 *db, int64_t bytes);
void db_unlimit_time(sqlite3 *db);

/* Fills err from the connection's last error, with errno in code where there was one (the caller
 * set errno to 0 before the call that failed). Always false. */
bool db_error(sqlite3 *db, struct err *err, const char *what);

/* One statement. types: one letter for each "?": i int64_t, r double, t const char * (NULL: SQL
 * NULL), j const json_t * (NULL and null: SQL NULL; true and false: 1 and 0; objects and arrays:
 * their text); k, for as many as there are keys, a const json_t * and a const char * with the keys
 * of this object, with blanks between. Of one text only one statement is in use at a time, but for
 * one whose rows are being read. */
bool db_run(sqlite3 *db, struct err *err, const char *sql, const char *types, ...);
sqlite3_stmt *db_query(sqlite3 *db, struct err *err, const char *sql, const char *types, ...);
/* 1: a row, 0: the end, -1: an error, and of NULL */
int db_step(sqlite3_stmt *query, struct err *err);
/* Whether there is one more row; where an error ends them, and not their end, the query is given
 * back and NULL. */
bool db_next(sqlite3_stmt **query, struct err *err);
/* The first cell; no row: 0. */
bool db_number(sqlite3 *db, int64_t *out, struct err *err, const char *sql, const char *types, ...);

/* Cells of the row: text is borrowed until the next step (NULL: SQL NULL); json is a new reference
 * (NULL: SQL NULL or no JSON; db_json_needed says which). */
const char *db_text(sqlite3_stmt *row, int column);
json_t *db_json(sqlite3_stmt *row, int column);
json_t *db_json_needed(sqlite3_stmt *row, int column, struct err *err);
bool db_is_null(sqlite3_stmt *row, int column);

/* The cell as JSON of its own kind (never NULL): an integer, a real, a string, null.
 * db_json_or_text: JSON text as what it says, other text as a string. */
json_t *db_cell(sqlite3_stmt *row, int column);
json_t *db_json_or_text(sqlite3_stmt *row, int column);

/* Into an object: the cells from column first on under these keys, which have blanks between.
 * db_add_list: an object for each row, with its cells so, is appended to out. */
void db_set_cells(json_t *object, const char *keys, sqlite3_stmt *row, int first);
bool db_add_list(sqlite3 *db, json_t *out, const char *keys, struct err *err, const char *sql,
                 const char *types, ...);

/* Begins at once as a writer, so that a commit never has to wait for one. A commit that fails is
 * undone. */
bool db_begin(sqlite3 *db, struct err *err);
bool db_commit(sqlite3 *db, struct err *err);
void db_rollback(sqlite3 *db);

/* Gives a statement back; it is kept, compiled, for the next call with the same text, until the
 * connection is closed. */
void db_release(sqlite3_stmt **query);
#define AUTO_QUERY AUTO(db_release)
#define AUTO_DB    AUTO(db_close)

/* Makes the tables of an empty database. */
bool schema_make(sqlite3 *db, struct err *err);

/* Refuses a database that holds no run, was made by a newer tare or one that was never released, is
 * damaged, or has in its tables what is computed. One of an older format gets the tables that it
 * lacks, without rows. */
bool schema_check(sqlite3 *db, struct err *err);
bool schema_no_plan(struct err *err); /* gives false */

/* Events into run.db and back. What runs inside a transaction of the caller's says so. */

/* Events in their order, into what is known of each experiment: that of a run that is opened, and
 * of each event that is added. Kept in memory, so that the loop never asks the disk. And the check
 * that an event fits behind those before it. (replay.c) */

struct journal_replay {
    struct store_experiment *items; /* by number - 1 */
    size_t count;
    int64_t last_session;
    int64_t last_ns; /* of the session's last event */
    struct store_use use;
    struct run_budget budget; /* of the last session that said one */
};

void journal_replay_init(struct journal_replay *replay, size_t count);
void journal_replay_fini(struct journal_replay *replay);

/* Whether the event may be written, and the state of its experiment after it (PLANNED when it is
 * about the run). */
bool journal_replay_check(const struct journal_replay *replay, const struct event *event,
                          enum experiment_state *after, struct err *err);

/* Takes the event in; it was checked. */
void journal_replay_apply(struct journal_replay *replay, const struct event *event,
                          enum experiment_state after);

/* Both: of an event that was written before. */
bool journal_replay_take(struct journal_replay *replay, const struct event *event,
                         enum experiment_state *after, struct err *err);

/* The event's "outcome", OUTCOME_NONE when it has none. */
enum outcome event_outcome(const struct event *event);

/* False: of an experiment that ended before its first attempt. */
bool event_begun(const struct event *event);

/* As state_next, but an experiment that was not begun is planned still. */
bool event_state_after(const struct event *event, enum experiment_state state,
                       enum experiment_state *after);

/* The event's "role": "foreground" when it names none. */
const char *event_role(const struct event *event);

/* In a transaction: one event as number seq, and the tables behind it. after: the state of its
 * experiment then. */
bool journal_write(sqlite3 *db, int64_t seq, const struct event *event, enum experiment_state after,
                   struct err *err);

/* The zone of a session's times (base/clock.h) is in meta under this and the session's number;
 * sessions of older versions have none. JOURNAL_ZONE_OF: an expression of SQL for the zone of a
 * session. */
#define JOURNAL_ZONE "zone."
#define JOURNAL_ZONE_OF(session) \
    "(SELECT value FROM meta WHERE key = '" JOURNAL_ZONE "' || " session ")"

/* What such a cell says of a moment; false: nothing. */
bool journal_offset(sqlite3_stmt *row, int column, int64_t realtime_ns, int64_t *offset_s);

/* Which attempt an experiment's result is of; 0: there is none. */
bool journal_result_attempt(sqlite3 *db, int64_t experiment, int64_t *out, struct err *err);

bool journal_last_seq(sqlite3 *db, int64_t *out, struct err *err);

/* Calls each for every event, in order, until it says false. */
typedef bool journal_each_fn(void *context, int64_t seq, const struct event *event,
                             struct err *err);
bool journal_each(sqlite3 *db, journal_each_fn *each, void *context, struct err *err);

/* The whole journal into an empty replay. */
bool journal_replay_all(sqlite3 *db, struct journal_replay *replay, struct err *err);

/* In a transaction: the plan of a new run. And the plan read back. */
bool journal_write_plan(sqlite3 *db, const struct plan *plan, struct err *err);
bool journal_read_plan(sqlite3 *db, struct plan *out, struct err *err);

/* The tables of run.db as structs. */

/* Of the experiments numbered first to first + count - 1, in the plan's order; the caller frees. */
bool result_items_load(sqlite3 *db, const struct plan *plan, size_t first, size_t count,
                       struct result **out, struct err *err);
void result_items_free(struct result *items, size_t count);

/* The plan and its items. */
bool results_load(sqlite3 *db, struct results *out, struct err *err);

/* What the last session said of its budget; NULL: it had none. A new reference. */
bool results_load_budget(sqlite3 *db, json_t **out, struct err *err);

/* As results_read_json gives it. */
bool results_load_json(sqlite3 *db, json_t **out, struct err *err);

/* A private copy of a run's database, live or not, in files without a name ($TMPDIR): nothing of it
 * is left, however the reader ends. */
struct snapshot_files;
struct snapshot {
    struct snapshot_files *files;
    sqlite3 *db;
};
/* dir: the run's folder, open; AT_FDCWD: run_dir is opened, which else is for messages. */
bool snapshot_open(int dir, const char *run_dir, struct snapshot *out, struct err *err);
void snapshot_close(struct snapshot *snapshot);

/* What was seen that speaks against figures, in its table, and the verdicts that are made of it, in
 * the same transaction: they are never set by hand. */

/* What EVENT_EVIDENCE says of what names nothing but its text; NULL: it is no UTF-8. */
json_t *evidence_json(const char *kind, const char *text);

/* In a transaction: EVENT_EVIDENCE as event seq, and the verdicts that it changes. */
bool evidence_write(sqlite3 *db, int64_t seq, const struct event *event, struct err *err);

/* In a transaction: files of an experiment that were written before do not hold what came now. They
 * are written anew when the store is closed. */
bool evidence_outdate_files(sqlite3 *db, int64_t experiment, struct err *err);

/* In a transaction: the verdict of an attempt that has ended; and of an experiment, whose result
 * stands. */
bool evidence_judge_attempt(sqlite3 *db, int64_t experiment, int64_t attempt, struct err *err);
bool evidence_judge_experiment(sqlite3 *db, int64_t experiment, struct err *err);

/* The verdict of the columns verdict and outcome. */
enum verdict evidence_verdict(const char *verdict, const char *outcome);

/* The checks as an event or run.db holds them; the texts are fresh. Unknown ones are left out.
 * Returns how many. */
size_t evidence_take_checks(const json_t *list, struct check_result out[CHECKS]);

/* All of an experiment, in the order in which it was seen: [{attempt, kind, weight, text, from_s,
 * to_s, device}]. */
bool evidence_add(sqlite3 *db, int64_t experiment, json_t *out, struct err *err);

/* What counts for the result of an experiment e: that of its last attempt and that of the
 * experiment as a whole, not that of attempts before or of results that another one replaced (while
 * it is planned again, its pass is the next one's). */
#define EVIDENCE_COUNTS                                                               \
    "v.experiment = e.number AND (v.attempt = coalesce(e.result_attempt, e.attempts)" \
    " OR (v.attempt IS NULL AND v.pass = e.pass - e.again))"

/* What an attempt drew, in the tables and in the files that people read. */

/* Of EVENT_ATTEMPT_ENDED: its "energy" into the tables. */
bool energy_write(sqlite3 *db, const struct event *event, struct err *err);

/* The same as the study's energy_metrics; {} where nothing was measured. */
json_t *energy_metrics(const json_t *block);

/* The highest that any one GPU had, in MiB. */
struct reading energy_gpu_memory_mib(const json_t *block);

/* A number of the block: energy_number(block, "gpu", "joules"). */
struct reading energy_number(const json_t *block, const char *scope, const char *key);

/* Where several ran at the same time, the CPU's is the attempt's share. */
struct result_energy energy_result(const json_t *block);

/* Adds an attempt that ended; one that is in the sums already is not added again. */
void energy_use(struct result_used *used, int64_t attempt, const json_t *block);

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

/* Its keys in experiment.json, its columns in marks.csv (each with a comma before it), its
 * cells. */
void energy_epoch_json(const struct energy_epoch *epoch, json_t *out);
void energy_epoch_head(struct text *out);
void energy_epoch_cells(const struct energy_epoch *epoch, struct text *out);

/* Experiment.json, in the study's keys, from run.db alone, and its parts: the guard, epochs,
 * memory. */

/* What is in it; NULL: err says why. */
json_t *files_experiment_json(sqlite3 *db, const struct plan *plan, size_t number, struct err *err);

/* <id>/experiment.json, by write. written: of the bytes. */
bool files_write_experiment(int dir, sqlite3 *db, const struct plan *plan, size_t number,
                            fs_write_fn *write, struct digest *written, struct err *err);

/* Whether the first length bytes of two open files are the same. */
bool files_same_bytes(int a, int b, off_t length);

/* What the guard wrote into the journal, for experiment.json. */

/* Of EVENT_GUARD: an energy net of the bare idle, which is known some time after its attempt has
 * ended, goes into the sums and devices of that attempt's energy. */
bool guard_json_net_write(sqlite3 *db, const struct event *event, struct err *err);

/* What marks make of an attempt: the epochs of experiment.json, and energy/marks.csv. */

/* Adds to a list what the marks of the experiment's last attempt cut it into: {name, part, label,
 * start_s, end_s, duration_s, source, and the energy it used (store.h)}. Seconds count from the
 * attempt's start; null: not known. */
bool epochs_add_last(sqlite3 *db, int64_t experiment, json_t *out, struct err *err);

/* energy/marks.csv in the experiment's folder for the last attempt, attempt_<k>/energy/marks.csv
 * for each one before; none where there are no marks. folder: the experiment's, open; write:
 * how. */
bool epochs_write_files(int folder, sqlite3 *db, int64_t experiment, fs_write_fn *write,
                        struct err *err);

/* Of EVENT_ATTEMPT_ENDED: its "history" into the table. */
bool history_write(sqlite3 *db, const struct event *event, struct err *err);

/* Of each metric with a known goal the best finite number of the last attempt, and where it was:
 * {"value", "goal", "epoch", "step", "seconds"}; null: there is none. */
bool history_add_best(sqlite3 *db, const struct plan_experiment *experiment, json_t *out,
                      struct err *err);

/* The curves of the last attempt: {metric: {"step", "epoch" (no key: not known), "seconds",
 * "value"}}, lists of the same length of about so many points at most: of each stretch the lowest,
 * the highest and what is no finite number; the first and the last. thinned: set where points were
 * left out, here or when they were recorded. */
bool history_add_curves(sqlite3 *db, int64_t experiment, size_t points, json_t *out, bool *thinned,
                        struct err *err);

/* history.csv in the experiment's folder, with all its attempts; none where no metric was
 * matched. */
bool history_write_file(int folder, sqlite3 *db, int64_t experiment, fs_write_fn *write,
                        struct err *err);

/* What a retry changed, why memory ran out, and how much was in use: in the tables and in the files
 * that people read. */

/* Of EVENT_ATTEMPT_PREPARED ("changed") and EVENT_ATTEMPT_ENDED ("oom", "memory", "snapshot"). */
bool memory_write(sqlite3 *db, const struct event *event, struct err *err);

/* Into each of an experiment's attempts (as experiment.json has them): "changed", "oom", "memory"
 * and "snapshot", where there is any of them. */
bool memory_add(sqlite3 *db, int64_t experiment, json_t *attempts, struct err *err);

/* What the ends of the attempts that are in tare said: "gpu_memory" into those whose job was
 * followed, what libtare-cuda.so counted in it; of a parallel experiment "parallel" into each, and
 * into tare that of the last one. */
bool memory_add_ended(sqlite3 *db, const struct plan_experiment *experiment, json_t *tare,
                      struct err *err);

/* The highest GPU memory of an attempt, on the GPU on which it is highest. */
struct memory_peak {
    struct reading bytes;
    const char *of; /* "job", "foreground" (of two jobs), "gpu" (all programs); NULL: not known */
    char how[48];   /* "counted", "sampled every 50 ms", "sampled, of the whole GPU", "" */
    struct reading pair_bytes; /* of foreground and background together */
};

/* memory and energy: an attempt's, as the tables have them (may be NULL). */
struct memory_peak memory_peak(const json_t *memory, const json_t *energy, bool parallel);
json_t *memory_peak_json(const struct memory_peak *peak); /* null: not known */

/* What each lane of each session did from its first moment to its last, read from the journal;
 * store.h sums it up. Private to store/. */

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

bool ways_read(sqlite3 *db, const struct plan *plan, struct ways *out, struct err *err);
void ways_fini(struct ways *ways);

/* SIZE_MAX: not known. attempt 0: the last one. */
size_t ways_of_attempt(const struct ways *ways, int64_t experiment, int64_t attempt);

/* How the lanes of a run spent its time, on all its nodes and in all its sessions: from the
 * journal alone, of a live, a finished, a crashed or a collected run. Private to store/; results
 * give what comes of it. */

/* GPUs (or none) of one node. */
struct usage_lane {
    const char *node; /* borrowed from the ways */
    char *key, *name; /* name: what it is called among the lanes of its node */
    size_t *ways;     /* its parts, by the time of their sessions */
    size_t way_count;
    int64_t to_ns; /* the end of its last session */
    int64_t attempts;
    /* what it did; NOTHING: the rest of the run's span, too, when no session had it */
    double seconds[DOING_COUNT];
    size_t verdicts[VERDICTS]; /* of the experiments whose result it gave */
    size_t experiments;
    struct reading energy_j; /* of these results, of the GPUs; not valid: of none it is known */
};

struct usage {
    struct ways ways;
    struct usage_lane *items; /* by node, then by GPU */
    size_t count;
    size_t *of_way; /* which lane each way belongs to */
    int64_t from_ns;
    double seconds; /* the run's span: at least one session lived */
};

/* docs/reference/files.md describes it; null: there is but one lane. */
bool usage_json(sqlite3 *db, const struct plan *plan, json_t **out, struct err *err);

#endif
