/* lane_watch: while an attempt is measured, and when its job is gone: what happened on the lane's
 * GPUs, and whether they are empty again. */
#ifndef TARE_RUN_OBSERVERS_GPU_WATCH_H
#define TARE_RUN_OBSERVERS_GPU_WATCH_H

#include "run/lane.h"

void phase_postflight(struct lane *lane);

/* a GPU did not come back: the lane takes nothing more */
bool lane_guard_has_quarantine(struct lane *lane);

#endif
