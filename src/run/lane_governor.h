/* lane_governor: sets the CPU frequency governor that the plan wants for an experiment, through its
 * keeper. */
#ifndef TARE_RUN_LANE_GOVERNOR_H
#define TARE_RUN_LANE_GOVERNOR_H

#include "run/lane.h"

void phase_governor(struct lane *lane);

#endif
