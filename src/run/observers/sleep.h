/* sleep: the machine was suspended while an attempt was measured. */
#ifndef TARE_RUN_OBSERVERS_SLEEP_H
#define TARE_RUN_OBSERVERS_SLEEP_H

#include "run/lane.h"

int64_t lane_sleep_total_ns(const struct lane *lane); /* asleep since boot */

#endif
