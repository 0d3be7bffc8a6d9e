/* energy: measures the energy of an attempt, without the job's help. */
#ifndef TARE_RUN_OBSERVERS_ENERGY_H
#define TARE_RUN_OBSERVERS_ENERGY_H

#include "run/lane.h"

void phase_reading(struct lane *lane);

#endif
