/* stopped: processes of the job that were stopped. */
#ifndef TARE_RUN_OBSERVERS_STOPPED_H
#define TARE_RUN_OBSERVERS_STOPPED_H

#include "run/lane.h"

/* for_ns 0: unknown. */
void lane_stopped_record(struct lane *lane, const char *who, int64_t for_ns);

#endif
