/* split: before and after a moment, which is given or found by the data. */
#ifndef TARE_RESULTS_JUDGE_SPLIT_H
#define TARE_RESULTS_JUDGE_SPLIT_H

#include "results/judge/judge.h"

/* at: a time or "auto". False: it is not a time (err). account_fini frees it. */
bool split_make(const struct dataset *dataset, const char *at, struct account_split *out,
                struct err *err);

/* Of an experiment whose end is known. */
enum split_side split_side_of(const struct account_split *split,
                              const struct dataset_experiment *experiment);

/* All experiments that did not end before the moment. */
struct account_row split_affected(const struct account_split *split);

#endif
