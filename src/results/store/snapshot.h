/* snapshot: copies run.db and its -wal from a live run, without a lock. */
#ifndef TARE_RESULTS_STORE_SNAPSHOT_H
#define TARE_RESULTS_STORE_SNAPSHOT_H

#include "results/store/tables.h"

/* dir: the run's folder, open; AT_FDCWD: run_dir is opened, which else is for messages. */
bool snapshot_open(int dir, const char *run_dir, struct snapshot *out, struct err *err);

void snapshot_close(struct snapshot *snapshot);

#endif
