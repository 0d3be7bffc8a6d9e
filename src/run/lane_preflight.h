/* Before an attempt: are the lane's GPUs free, empty, idle and cool? By the policy of the settings
 * that is waited for, asked for, or only written down; then the idle GPUs are measured. */
#ifndef TARE_RUN_LANE_PREFLIGHT_H
#define TARE_RUN_LANE_PREFLIGHT_H

#include "run/lane.h"

/* The guard of the lane's GPUs: lane_preflight.c, lane_watch.c, lane_idle.c. Without GPUs each does
 * what follows at once. */
void lane_preflight_begin(struct lane *lane);

#endif
