/* memory: what a retry changed, why memory ran out, and how much was in use: in the tables and in the files that people
 * read. Private to store/. */
#ifndef TARE_RESULTS_STORE_MEMORY_H
#define TARE_RESULTS_STORE_MEMORY_H

#include "base/reading.h"
#include "plan/event.h"
#include "results/store/db.h"

/* Of EVENT_ATTEMPT_PREPARED ("changed") and EVENT_ATTEMPT_ENDED ("oom", "memory", "snapshot"). */
bool memory_write(sqlite3 *db, const struct event *event, struct err *err);

/* Into each of an experiment's attempts (as experiment.json has them): "changed", "oom", "memory" and "snapshot", where there is any
 * of them. */
bool memory_add(sqlite3 *db, int64_t experiment, json_t *attempts, struct err *err);

/* "gpu_memory" into those of the attempts whose job was followed: what libtare-cuda.so counted in it, as the event has it. */
bool memory_add_counted(sqlite3 *db, int64_t experiment, json_t *attempts, struct err *err);

struct memory_cells {
    char *changed; /* NULL: nothing; free() */
    struct reading gpu_peak_mib; /* of the GPU on which the job had most; only where it is the job's own */
    char gpu_peak_how[48];       /* "counted", "sampled every 50 ms"; of the whole GPU's where there is none of the job's */
};

/* Of the columns changed and memory of a row. */
struct memory_cells memory_cells(sqlite3_stmt *row, int first);

#endif
