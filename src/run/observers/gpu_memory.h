/* gpu_memory: a job's own GPU memory, counted and limited inside it (machine/gpu/ledger.h); and the
 * snapshot of it that a training leaves when that runs out (docs/reference/memory.md). */
#ifndef TARE_RUN_OBSERVERS_GPU_MEMORY_H
#define TARE_RUN_OBSERVERS_GPU_MEMORY_H

#include "run/attempt.h"
#include "run/observer.h"

/* The most that the driver reported for a job's own processes on one GPU, and the memory of that
 * GPU; 0: nothing, or not known. */
struct gpu_memory_reported {
    double bytes, total_bytes;
};

/* Before the job's environment is made (gpu_memory.c): the table in which its GPU memory is counted
 * and limited inside it (machine/gpu/ledger.h), if the plan asks for it. False: what is asked for
 * cannot be held. */
bool gpu_memory_prepare(struct attempt *attempt, const struct run_request *request,
                        struct err *err);
/* of what the journal keeps; NULL: not asked for */
json_t *gpu_memory_json(const struct attempt *attempt);

void gpu_memory_judge(struct lane *lane, const struct attempt *attempt,
                      const struct gpu_memory_reported *told);

#endif
