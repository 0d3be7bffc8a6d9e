/* snapshot: a training is asked for a snapshot of its GPU memory when that runs out (docs/oom.md), and what it wrote is
 * picked up. Private to run/. */
#ifndef TARE_RUN_SNAPSHOT_H
#define TARE_RUN_SNAPSHOT_H

#include "run/attempt.h"

#define SNAPSHOT_NAME "memory_snapshot.pickle" /* in the experiment's folder */

/* Sets TARE_MEMORY_SNAPSHOT where the registry asks for one. */
void snapshot_ask(const struct attempt *attempt, const char *run_dir, struct strv *env);

#endif
