/* memory: what the lane's job has of GPU and host memory while it runs: peak and curve, growth by
 * the epoch (where there are none, in time), and a warning before it runs out. */
#ifndef TARE_RUN_OBSERVERS_MEMORY_H
#define TARE_RUN_OBSERVERS_MEMORY_H

#include "gpu_memory/oom/growth.h"
#include "run/observer.h"

/* What one of them knows, and others ask for. */

/* memory.c: what that GPU has; 0: not known. */
double lane_memory_total(const struct lane *lane, const char *label);

/* For the ladder, of the attempt that has just ended: the growth that is steepest, and what others
 * than the job had of the GPU on which that was most, as a share of it (0 to 1; 0: not known). */
struct growth lane_memory_growth(const struct lane *lane);
double lane_memory_others_share(const struct lane *lane);

#endif
