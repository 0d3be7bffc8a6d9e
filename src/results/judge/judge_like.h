/* judge_like: what one training should have taken, by the others of its model in the same mode:
 * time, GPU energy, CPU energy. */
#ifndef TARE_RESULTS_JUDGE_JUDGE_LIKE_H
#define TARE_RESULTS_JUDGE_JUDGE_LIKE_H

#include "results/judge/judge_private.h"

/* Predicts time and energies by the others of the kind: sets like. noise: of each folder, and
 * experiments that lack files are left out; NULL: LIMIT_NOISE, and nothing of their model is
 * compared. */
void judge_like(const struct dataset *dataset, struct judge_state *states,
                const judge_noise *noise);

#endif
