/* The way of one experiment on its lane: a table of phases, and those of them that are the
 * experiment's own. Each step is journaled, and what follows it begins when that is durable. */
#ifndef TARE_RUN_EXPERIMENT_H
#define TARE_RUN_EXPERIMENT_H

#include "run/lane.h"

/* number: from 1, of the runner's lanes. */
void lane_init(struct lane *lane, struct runner *runner, size_t number);
void lane_fini(struct lane *lane);

#endif
