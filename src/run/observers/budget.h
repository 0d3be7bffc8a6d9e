/* budget: the energy and time that a run may use (docs/reference/running.md). */
#ifndef TARE_RUN_OBSERVERS_BUDGET_H
#define TARE_RUN_OBSERVERS_BUDGET_H

#include "run/runner.h"

/* After the session's first event. */
void budget_begin(struct runner *runner);

void budget_check(struct runner *runner); /* halts the run when one is used up */

bool budget_is_reached(const struct runner *runner); /* and experiments are left */

json_t *budget_json(struct runner *runner); /* NULL: no budget */

#endif
