/* gpu_memory: a job's GPU memory, counted and limited inside it (machine/gpu/ledger.h). */
#ifndef TARE_RUN_OBSERVERS_GPU_MEMORY_H
#define TARE_RUN_OBSERVERS_GPU_MEMORY_H

#include "run/attempt.h"
#include "run/observer.h"

/* The largest memory that the driver reported for the job on one GPU, and that GPU's total; 0:
 * unknown. */
struct gpu_memory_reported {
    double bytes, total_bytes;
};

/* Creates the ledger, if the plan asks for it. False: what the plan asks for is not possible. */
bool gpu_memory_prepare(struct attempt *attempt, const struct run_request *request,
                        struct err *err);
/* NULL: not asked for */
json_t *gpu_memory_json(const struct attempt *attempt);

void gpu_memory_judge(struct lane *lane, const struct attempt *attempt,
                      const struct gpu_memory_reported *reported);

#endif
