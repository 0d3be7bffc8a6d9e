/* figures_effects: which hyperparameter moves energy and quality, and the front of both. Private to audit/. */
#ifndef TARE_AUDIT_FIGURES_EFFECTS_H
#define TARE_AUDIT_FIGURES_EFFECTS_H

#include "audit/figures.h"

void figures_add_front(const struct dataset *dataset, struct figures_group *group);
void figures_add_effects(const struct dataset *dataset, struct figures_group *group, uint64_t seed);
void figures_fini_effects(struct figures_group *group);
void figures_adjust_effects(struct figures *figures);

#endif
