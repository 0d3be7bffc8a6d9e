/* What stood still or was missing while an attempt ran: processes of its job, this program, the
 * machine, the guardian. */
#ifndef TARE_RUN_OBSERVERS_STOPPED_H
#define TARE_RUN_OBSERVERS_STOPPED_H

#include "run/lane.h"
#include "run/observer.h"

/* This process did nothing for so long: evidence for the attempt that was measured meanwhile. */
void lane_stalled(struct lane *lane, int64_t from_ns, int64_t to_ns);

/* lane_stalls.c: a process of the job was stopped (for_ns: 0: nobody counted), which is evidence;
 * how long the machine has slept since boot. */
void lane_tell_stopped(struct lane *lane, const char *who, int64_t for_ns);
int64_t lane_asleep_ns(const struct lane *lane);

#endif
