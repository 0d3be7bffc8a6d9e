/* lane_preflight: checks that the lane's GPUs are free, idle and cool; waits, stops or only
 * records, as the settings say. */
#ifndef TARE_RUN_LANE_PREFLIGHT_H
#define TARE_RUN_LANE_PREFLIGHT_H

#include "run/lane.h"

/* Without GPUs the next phase begins at once. */
void lane_preflight_begin(struct lane *lane);

#endif
