/* run_task: what `run --task` begins with. */
#ifndef TARE_CLI_RUN_TASK_H
#define TARE_CLI_RUN_TASK_H

#include "batch/tasks.h"

#include <stddef.h>

/* Makes the start's folder: start->path. NULL there: what was wrong, or that nothing is to be done, has been said; the exit code. */
int run_task_begin(const char *run_dir, size_t number, struct tasks_start *start);
void run_task_end(struct tasks_start *start);

#endif
