/* own: tare's own runs: from a copy of run.db. */
#ifndef TARE_RESULTS_JUDGE_OWN_H
#define TARE_RESULTS_JUDGE_OWN_H

#include "results/judge/read.h"

/* folder: index of the dataset's entry. */
bool read_own(struct dataset *dataset, size_t folder, struct err *err);

#endif
