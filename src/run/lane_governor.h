/* What of the machine is to be as it was set while an attempt runs: the CPU frequency governor that
 * the plan wants for an experiment, asked of its keeper and awaited briefly; and the locks on the
 * GPUs. */
#ifndef TARE_RUN_LANE_GOVERNOR_H
#define TARE_RUN_LANE_GOVERNOR_H

#include "run/lane.h"

/* lane_governor.c */
void phase_governor(struct lane *lane);

#endif
