/* lock: the lock of a run folder, which only one runner holds. */
#ifndef TARE_RESULTS_STORE_LOCK_H
#define TARE_RESULTS_STORE_LOCK_H

#include "results/store/store.h"

/* Takes the run's lock (run.lock in dir) and writes "PID HOST" into it. -1 when another process
 * holds it: the error names that one. Closing the descriptor lets go; a forked child that keeps it
 * open keeps the lock. */
int lock_take(int dir, const char *dir_path, struct err *err);

enum lock_seen lock_look(const char *run_dir);

enum lock_seen lock_look_at(int dir); /* the run's folder, open */

/* ended: whether the last session has ended, or none began; read after seen. */
enum run_life run_life_of(bool ended, enum lock_seen seen);

#endif
