/* versus_select: which experiments a side of a comparison takes: "results:model=resnet20,batch_size=32". */
#ifndef TARE_RESULTS_JUDGE_VERSUS_SELECT_H
#define TARE_RESULTS_JUDGE_VERSUS_SELECT_H

#include "results/judge/versus.h"

/* Whether the experiment has all that the selector asks for. */
bool versus_selects(const struct versus_side *side, const struct dataset_experiment *experiment);

/* The error of a side that takes nothing of the folder: a key that no experiment has, a value that none has, or that
 * those it names failed or are contaminated. Gives false. */
bool versus_selects_nothing(const struct dataset *dataset, const struct versus_side *side, size_t folder,
                            struct err *err);

#endif
