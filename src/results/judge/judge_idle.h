/* Whether the GPU was idle before each experiment: from folders without process lists, by power and
 * utilisation. */
#ifndef TARE_RESULTS_JUDGE_JUDGE_IDLE_H
#define TARE_RESULTS_JUDGE_JUDGE_IDLE_H

#include "results/judge/judge_private.h"

/* Whether the GPU was idle before each experiment began, by the idle level that the whole folder
 * shows; sets busy. */
void judge_idle(struct dataset *dataset, struct judge_state *states);

#endif
