/* choose: which models and pairs the settings ask for. */
#ifndef TARE_SHARING_CHOOSE_H
#define TARE_SHARING_CHOOSE_H

#include "sharing/feasibility.h"

/* Entries with several points or seeds are errors: one training of each model is measured. */
void feasibility_check(const struct settings *settings, struct problems *problems);

/* The models and pairs of the settings; both must have been read without errors and outlive out. */
void feasibility_choose(const struct settings *settings, const struct registry *registry,
                        struct feasibility *out);

/* Every pair of the models that ran alone: the longer one in front. After
 * feasibility_take_alone. */
void feasibility_pair_all(struct feasibility *study);
void feasibility_fini(struct feasibility *study);
void pairs_model_fini(struct pairs_model *model); /* not the struct itself */

bool pairs_same_limit(const struct gpu_limit *a, const struct gpu_limit *b);

#endif
