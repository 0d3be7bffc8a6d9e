/* cuda_load: a load on one GPU, for a stated time: a kernel as PTX text through the CUDA driver's
 * library, loaded at run time (no toolkit is needed). Times are CLOCK_MONOTONIC, measured by the
 * GPU's own timer. Changes no clock and no limit. Only for a process of its own: any of these may
 * hang in the driver. */
#ifndef TARE_MACHINE_GPU_CUDA_LOAD_H
#define TARE_MACHINE_GPU_CUDA_LOAD_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct cuda_load;

struct cuda_load_span {
    int64_t begin_ns, end_ns; /* first thread's begin, last thread's end, by the GPU's timer */
    int64_t uncertain_ns;     /* of both: how well the GPU's timer is known against the clock */
};

/* library: NULL: the usual one. uuid: "GPU-..." as NVML tells it. NULL: err. */
struct cuda_load *cuda_load_open(const char *library, const char *uuid, struct err *err);
void cuda_load_close(struct cuda_load *load);

/* Compares the two timers anew: before the first span, and where there is time for it. */
bool cuda_load_sync(struct cuda_load *load, struct err *err);

/* Waits until begin_ns, loads the GPU until end_ns. */
bool cuda_load_run(struct cuda_load *load, int64_t begin_ns, int64_t end_ns,
                   struct cuda_load_span *out, struct err *err);

#endif
