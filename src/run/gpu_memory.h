/* gpu_memory: a job's own GPU memory, counted and limited inside it (gpu/ledger.h). Private to run/. */
#ifndef TARE_RUN_GPU_MEMORY_H
#define TARE_RUN_GPU_MEMORY_H

#include "run/attempt.h"

struct lane;

/* Before the job's environment is made: the table, if the plan asks for it. False: what is asked for cannot be
 * held. */
bool gpu_memory_prepare(struct attempt *attempt, const struct run_request *request, struct err *err);

/* The section gpu_memory of what the journal keeps; NULL: not asked for. */
json_t *gpu_memory_json(const struct attempt *attempt);

/* The most that the driver told of a job's own processes on one GPU, and what that GPU has; 0: nothing, or not
 * known. */
struct gpu_memory_told {
    double bytes, total_bytes;
};

/* Evidence, where a limit was not held or what was counted is not all. */
void gpu_memory_judge(struct lane *lane, const struct attempt *attempt, const struct gpu_memory_told *told);

#endif
