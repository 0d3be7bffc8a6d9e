/* experiment: the phases of an experiment on its lane. Each step is durable in the journal before
 * the next one begins. */
#ifndef TARE_RUN_EXPERIMENT_H
#define TARE_RUN_EXPERIMENT_H

#include "run/lane.h"

/* number: of the lane, from 1. */
void lane_init(struct lane *lane, struct runner *runner, size_t number);
void lane_fini(struct lane *lane);

#endif
