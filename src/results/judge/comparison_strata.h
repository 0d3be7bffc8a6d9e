/* comparison_strata: within what the two sides of a comparison are compared, and what else they
 * differ in. */
#ifndef TARE_RESULTS_JUDGE_COMPARISON_STRATA_H
#define TARE_RESULTS_JUDGE_COMPARISON_STRATA_H

#include "results/judge/comparison.h"

/* Private to comparison*.c: sides with their items: strata and factors. False: err says what the
 * sides do not share. */
bool comparison_strata_find(struct comparison *comparison, bool same_run, struct err *err);

#endif
