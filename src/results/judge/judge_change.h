/* A lasting change of the machine: from some moment on, time or power of several models differ. */
#ifndef TARE_RESULTS_JUDGE_JUDGE_CHANGE_H
#define TARE_RESULTS_JUDGE_JUDGE_CHANGE_H

#include "results/judge/judge_private.h"

/* A moment from which on time or power of several models are others: sets changed. */
void judge_change(struct dataset *dataset, struct judge_state *states);

/* The same from what one kind shows: sets changed and adds no evidence. */
void judge_change_doubt(struct dataset *dataset, struct judge_state *states);

#endif
