/* gpu_watch: other users of the lane's GPUs during an attempt, and whether the memory is released
 * afterwards. */
#ifndef TARE_RUN_OBSERVERS_GPU_WATCH_H
#define TARE_RUN_OBSERVERS_GPU_WATCH_H

#include "run/lane.h"

void phase_postflight(struct lane *lane);

/* A GPU did not release its memory: the lane takes no more experiments. */
bool lane_guard_has_quarantine(struct lane *lane);

#endif
