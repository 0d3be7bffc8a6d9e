/* lane_energy: what a lane's attempt draws: asked for at its edges, waited for briefly at its end,
 * never by the job. */
#ifndef TARE_RUN_OBSERVERS_ENERGY_H
#define TARE_RUN_OBSERVERS_ENERGY_H

#include "run/lane.h"

/* lane_energy.c */
void phase_reading(struct lane *lane);

#endif
