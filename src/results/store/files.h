/* files: experiment.json, in the study's keys, from run.db alone, and its parts: the guard, epochs, memory. Private to store/. */
#ifndef TARE_RESULTS_STORE_FILES_H
#define TARE_RESULTS_STORE_FILES_H

#include "base/digest.h"
#include "base/fs.h"
#include "base/reading.h"
#include "plan/event.h"
#include "results/store/db.h"
#include "results/store/facts.h"
#include "results/store/store.h"

#include <jansson.h>

/* What is in it; NULL: err says why. */
json_t *files_experiment_json(sqlite3 *db, const struct plan *plan, size_t number, struct err *err);

/* <id>/experiment.json, by write. written: of the bytes. */
bool files_write_experiment(int dir, sqlite3 *db, const struct plan *plan, size_t number, fs_write_fn *write,
                            struct digest *written, struct err *err);

/* Whether the first length bytes of two open files are the same. */
bool files_same_bytes(int a, int b, off_t length);

/* What the guard wrote into the journal, for experiment.json. Private to store/. */

/* Of EVENT_GUARD: an energy net of the bare idle, which is known some time after its attempt has ended, goes into the
 * sums and devices of that attempt's energy. */
bool guard_json_net_write(sqlite3 *db, const struct event *event, struct err *err);

/* What marks make of an attempt: the epochs of experiment.json, and energy/marks.csv. Private to
 * store/. */

/* Adds to a list what the marks of the experiment's last attempt cut it into: {name, part, label, start_s, end_s,
 * duration_s, source, and what it drew (energy.h)}. Seconds count from the attempt's start; null: not known. */
bool epochs_add_last(sqlite3 *db, int64_t experiment, json_t *out, struct err *err);

/* energy/marks.csv in the experiment's folder for the last attempt, attempt_<k>/energy/marks.csv for each one
 * before; none where there are no marks. folder: the experiment's, open; write: how. */
bool epochs_write_files(int folder, sqlite3 *db, int64_t experiment, fs_write_fn *write, struct err *err);

/* Of EVENT_ATTEMPT_ENDED: its "history" into the table. */
bool history_write(sqlite3 *db, const struct event *event, struct err *err);

/* Of each metric with a known goal the best finite number of the last attempt, and where it was: {"value", "goal", "epoch", "step",
 * "seconds"}; null: there is none. */
bool history_add_best(sqlite3 *db, const struct plan_experiment *experiment, json_t *out, struct err *err);

/* The curves of the last attempt: {metric: {"step", "epoch" (no key: not known), "seconds", "value"}}, lists of the same length of
 * about so many points at most: of each stretch the lowest, the highest and what is no finite number; the first and the last. thinned:
 * set where points were left out, here or when they were recorded. */
bool history_add_curves(sqlite3 *db, int64_t experiment, size_t points, json_t *out, bool *thinned, struct err *err);

/* history.csv in the experiment's folder, with all its attempts; none where no metric was matched. */
bool history_write_file(int folder, sqlite3 *db, int64_t experiment, fs_write_fn *write, struct err *err);

/* What a retry changed, why memory ran out, and how much was in use: in the tables and in the files that people
 * read. Private to store/. */

/* Of EVENT_ATTEMPT_PREPARED ("changed") and EVENT_ATTEMPT_ENDED ("oom", "memory", "snapshot"). */
bool memory_write(sqlite3 *db, const struct event *event, struct err *err);

/* Into each of an experiment's attempts (as experiment.json has them): "changed", "oom", "memory" and "snapshot", where there is any
 * of them. */
bool memory_add(sqlite3 *db, int64_t experiment, json_t *attempts, struct err *err);

/* What the ends of the attempts that are in tare said: "gpu_memory" into those whose job was followed, what libtare-cuda.so
 * counted in it; of a parallel experiment "parallel" into each, and into tare that of the last one. */
bool memory_add_ended(sqlite3 *db, const struct plan_experiment *experiment, json_t *tare, struct err *err);

struct memory_cells {
    struct reading gpu_peak_mib; /* of the GPU on which the job had most; only where it is the job's own */
    char gpu_peak_how[48];       /* "counted", "sampled every 50 ms"; of the whole GPU's where there is none of the job's */
};

/* Of a row's column memory. */
struct memory_cells memory_cells(sqlite3_stmt *row, int column);

#endif
