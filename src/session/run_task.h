/* run_task: what `run --task` begins with. */
#ifndef TARE_SESSION_RUN_TASK_H
#define TARE_SESSION_RUN_TASK_H

#include "base/strv.h"
#include "slurm/tasks.h"

#include <stddef.h>

/* Makes the start's folder: start->path. NULL there: what was wrong has been said; the exit code. As a task of Slurm
 * (env says so) it waits for what another machine wrote a moment ago, and, begun again after its node was lost, for the
 * lock that this node still has. */
int run_task_begin(const struct strv *env, const char *run_dir, size_t number, struct tasks_start *start);

#endif
