/* meters: the meters of a session in the runner's loop: what they tell goes to the observers of
 * their lane. */
#ifndef TARE_RUN_METERS_H
#define TARE_RUN_METERS_H

#include "run/lane.h"
#include "run/runner.h"

/* meters.c */
void phase_meters(struct lane *lane);

/* The meters of what the request names; where that cannot be, a note says so and the run
 * goes on without. The lanes must be there. */
void meters_start(struct runner *runner);
void meters_stop(struct runner *runner);

#endif
