/* consistency_values: rows that are there more than once, sensors that do not change, equal
 * metrics. */
#ifndef TARE_RESULTS_JUDGE_CONSISTENCY_VALUES_H
#define TARE_RESULTS_JUDGE_CONSISTENCY_VALUES_H

#include "results/judge/consistency.h"

void consistency_find_repeated_rows(struct dataset *dataset);

void consistency_find_frozen(struct dataset *dataset);

void consistency_find_equal_metrics(struct dataset *dataset);

#endif
