/* judge_background: whether the background of a parallel experiment ran, in folders that recorded
 * no processes: by the GPU's load, by trainings of the same model alone, and by others with the
 * same background. */
#ifndef TARE_RESULTS_JUDGE_JUDGE_BACKGROUND_H
#define TARE_RESULTS_JUDGE_JUDGE_BACKGROUND_H

#include "results/judge/judge_private.h"

/* Whether the backgrounds of parallel experiments ran. */
void judge_background(struct dataset *dataset, const struct judge_state *states);

#endif
