/* history: the combinations that earlier runs had, and how long they took, from their summary.csv. */
#ifndef TARE_PLAN_HISTORY_H
#define TARE_PLAN_HISTORY_H

#include "plan/expected.h"
#include "plan/plan.h"

/* Adds to seen the key of every row of the settings' historical CSVs whose repository and model the registry has. An
 * empty or absent cell counts as the default: the study wrote only what it had set. A row is of a parallel
 * experiment when its column "mode" says so, or (without one) when its id ends in _parallel. A file that is missing
 * is a warning, a broken one an error. seen, expected: each may be NULL. */
void history_read(const struct settings *settings, const struct registry *registry, const struct plan_options *options,
                  struct seen *seen, struct expected *expected, struct problems *problems);

#endif
