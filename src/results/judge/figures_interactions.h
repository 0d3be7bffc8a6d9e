/* figures_interactions: whether what one hyperparameter does to energy or a metric depends on another: linear models on logarithms.
 * Private to audit/. */
#ifndef TARE_RESULTS_JUDGE_FIGURES_INTERACTIONS_H
#define TARE_RESULTS_JUDGE_FIGURES_INTERACTIONS_H

#include "results/judge/figures.h"

void figures_add_interactions(const struct dataset *dataset, struct figures_group *group);
void figures_fini_interactions(struct figures_group *group);
void figures_adjust_interactions(struct figures *figures); /* Holm, over all of the dataset */

#endif
