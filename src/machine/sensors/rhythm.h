/* rhythm: how often a sensor gives something new, from what was read of it. */
#ifndef TARE_MACHINE_SENSORS_RHYTHM_H
#define TARE_MACHINE_SENSORS_RHYTHM_H

#include "base/reading.h"
#include "machine/sensors/series.h"

/* Seconds between two updates of the counter: from changes that were each seen narrowly and with nothing left unread in
 * between (METER_EDGE, several times without pause). Absent: no two such changes. */
struct reading rhythm_counter_s(const struct series *series);

/* Samples of the power trace a second. */
struct reading rhythm_trace_hz(const struct series *series);

#endif
