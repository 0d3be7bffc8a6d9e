/* energy: the meters of a session in the runner's loop. Private to run/. */
#ifndef TARE_RUN_ENERGY_H
#define TARE_RUN_ENERGY_H

#include "run/runner.h"

/* Starts what the request names; where that cannot be, a note says so and the run goes on without. The lanes must be
 * there. */
void energy_start(struct runner *runner);
void energy_stop(struct runner *runner);

#endif
