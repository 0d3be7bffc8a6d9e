/* The budgets of a run: energy, time. No experiment begins that what is left is not enough for, and
 * attempts under way are ended when a budget is used up (docs/reference/running.md). */
#ifndef TARE_RUN_OBSERVERS_BUDGET_H
#define TARE_RUN_OBSERVERS_BUDGET_H

#include "run/runner.h"

/* The budgets. begin: the session's first event was recorded. */
void budget_begin(struct runner *runner);

void budget_check(struct runner *runner); /* one that is used up halts the run */

bool budget_is_reached(const struct runner *runner); /* and experiments are left for that reason */

json_t *budget_json(struct runner *runner); /* docs/reference/files.md; NULL: there is none */

#endif
