/* lane_checks: which checks of an attempt were made, and with what outcome. What speaks against it
 * is noted as it is seen; the rest is said at its end, from what guard, meters and log hold. */
#ifndef TARE_RUN_OBSERVERS_CHECKS_H
#define TARE_RUN_OBSERVERS_CHECKS_H

#include "run/observers/guard.h"

/* The look before the attempt is over: what speaks against its start, and what the GPUs were like.
 */
void lane_checks_add_preflight(struct lane *lane, const struct guard_findings *findings);

#endif
