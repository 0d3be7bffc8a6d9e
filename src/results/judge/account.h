/* account: counts of verdicts by repository, model, hour and kind of evidence. */
#ifndef TARE_RESULTS_JUDGE_ACCOUNT_H
#define TARE_RESULTS_JUDGE_ACCOUNT_H

#include "results/judge/judge.h"

/* split_at: a time, "auto", or NULL. False: it is not a time (err). */
bool account_make(const struct dataset *dataset, const char *split_at, struct account *out,
                  struct err *err);
void account_fini(struct account *account);

/* Adds an experiment to what a row counts. */
void account_count(struct account_row *row, const struct dataset_experiment *experiment);

/* succeeded / (succeeded + failed); not valid without any. */
struct reading account_success_rate(const struct account_row *row);

#endif
