/* split: what lies before and behind a moment, given or found. Private to audit/. */
#ifndef TARE_RESULTS_JUDGE_SPLIT_H
#define TARE_RESULTS_JUDGE_SPLIT_H

#include "results/judge/account.h"

bool split_make(const struct dataset *dataset, const char *at, struct account_split *out, struct err *err);
void account_count(struct account_row *row, const struct dataset_experiment *experiment);

#endif
