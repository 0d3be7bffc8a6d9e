/* figures_effects: which hyperparameter moves energy and quality, and the front of both. Private to audit/. */
#ifndef TARE_RESULTS_JUDGE_FIGURES_EFFECTS_H
#define TARE_RESULTS_JUDGE_FIGURES_EFFECTS_H

#include "results/judge/figures.h"

void figures_add_front(const struct dataset *dataset, struct figures_group *group);
void figures_add_effects(const struct dataset *dataset, struct figures_group *group, uint64_t seed);
void figures_fini_effects(struct figures_group *group);
void figures_adjust_effects(struct figures *figures);

#endif
