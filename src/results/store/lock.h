/* lock: one runner per run. For store/ and batch/. */
#ifndef TARE_RESULTS_STORE_LOCK_H
#define TARE_RESULTS_STORE_LOCK_H

#include "base/err.h"

/* Takes the run's lock (run.lock in dir) and writes "PID HOST" into it. -1 when another process holds it: the error
 * names that one. Closing the descriptor lets go; a forked child that keeps it open keeps the lock. */
int lock_take(int dir, const char *dir_path, struct err *err);

#endif
