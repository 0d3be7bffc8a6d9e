/* meters: passes the readings of each lane's meters to its observers. */
#ifndef TARE_RUN_METERS_H
#define TARE_RUN_METERS_H

#include "run/lane.h"

void phase_meters(struct lane *lane);

/* Requires the lanes. Meters that cannot start are reported, and the run goes on. */
void meters_start(struct runner *runner);
void meters_stop(struct runner *runner);

#endif
