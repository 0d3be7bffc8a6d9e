/* repeat: settings that do again what cannot be believed, for results that have no plan of their own to go on with. */
#ifndef TARE_RESULTS_JUDGE_REPEAT_H
#define TARE_RESULTS_JUDGE_REPEAT_H

#include "results/judge/dataset.h"

#include <jansson.h>

/* One entry for each experiment that is suspect or contaminated, in the order of the dataset: the same hyperparameters,
 * and of a parallel one the same background; a comment says which it was and why. count: how many entries. left_out
 * (may be NULL): ids of those whose repository or model, or whose background's, is not known. A new reference. */
json_t *repeat_settings(const struct dataset *dataset, size_t *count, struct strv *left_out);

#endif
