/* memory: GPU and host memory of the job, its growth, and a warning before it runs out. */
#ifndef TARE_RUN_OBSERVERS_MEMORY_H
#define TARE_RUN_OBSERVERS_MEMORY_H

#include "gpu_memory/oom/growth.h"
#include "run/observer.h"

/* 0: unknown. */
double lane_memory_total(const struct lane *lane, const char *label);

/* In the last attempt: the steepest growth, and the largest share of a GPU that
 * others used (0: unknown). */
struct growth lane_memory_growth(const struct lane *lane);
double lane_memory_others_share(const struct lane *lane);

#endif
