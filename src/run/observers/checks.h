/* checks: which checks of an attempt were made, with their outcome. */
#ifndef TARE_RUN_OBSERVERS_CHECKS_H
#define TARE_RUN_OBSERVERS_CHECKS_H

#include "run/observers/guard.h"

/* Adds the findings of the preflight and the state of the GPUs. */
void lane_checks_add_preflight(struct lane *lane, const struct guard_findings *findings);

#endif
