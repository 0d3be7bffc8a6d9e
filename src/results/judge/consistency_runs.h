/* consistency_runs: copied runs, copied traces, and experiments that overlap in time. */
#ifndef TARE_RESULTS_JUDGE_CONSISTENCY_RUNS_H
#define TARE_RESULTS_JUDGE_CONSISTENCY_RUNS_H

#include "results/judge/consistency.h"

/* Private to the table. Each sets the outcome of its check. */
void consistency_find_copies(struct dataset *dataset);

void consistency_find_overlaps(struct dataset *dataset);

void consistency_find_copied_traces(struct dataset *dataset);

#endif
