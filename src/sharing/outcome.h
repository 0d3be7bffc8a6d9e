/* outcome: what became of each pair, and how it was beside each model alone. */
#ifndef TARE_SHARING_OUTCOME_H
#define TARE_SHARING_OUTCOME_H

#include "sharing/feasibility.h"

bool pairs_is_recommended(const struct pairs_pair *pair);

/* What it gave of the pairs, with the settings that were run: those of an earlier session may have
 * another order. Adds to what earlier rounds gave. */
void feasibility_take_pairs(struct feasibility *study, const json_t *results,
                            const json_t *settings);

/* The pair is run at all: both models ran alone. */
bool pairs_will_run(const struct feasibility *study, const struct pairs_pair *pair);

/* It ran, and nothing failed: no proof that the two go together. */
bool pairs_worked(const struct pairs_outcome *outcome);
void pairs_outcome_fini(struct pairs_outcome *outcome);

#endif
