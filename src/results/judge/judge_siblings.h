/* judge_siblings: compares experiments with those that ran before and after them. */
#ifndef TARE_RESULTS_JUDGE_JUDGE_SIBLINGS_H
#define TARE_RESULTS_JUDGE_JUDGE_SIBLINGS_H

#include "results/judge/judge_private.h"

/* Steps, results that are lacking and outliers. */
void judge_siblings(struct dataset *dataset, const struct judge_state *states);

#endif
