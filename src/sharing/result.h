/* result: looks into an experiment as results_read_json gives it; what several of a pair prove.
 * Private to sharing/. */
#ifndef TARE_SHARING_RESULT_H
#define TARE_SHARING_RESULT_H

#include "sharing/feasibility.h"

#include <jansson.h>
#include <stdbool.h>

bool result_ended(const json_t *experiment); /* succeeded or failed */
bool result_succeeded(const json_t *experiment);

/* Its last attempt, its GPUs' energy, its tare.parallel: NULL where there is none. */
const json_t *result_attempt(const json_t *experiment);
const json_t *result_gpu_energy(const json_t *experiment);
const json_t *result_parallel(const json_t *experiment);

/* Of an attempt's "oom", which may be NULL: the first of its reasons; what the remedy of that name
 * is. NULL: there is none. */
const char *result_oom_reason(const json_t *oom);
const char *result_remedy(const json_t *oom, const char *name);

/* Of a run of one model alone, what is read here; fresh. */
json_t *result_alone(const json_t *experiment);

/* Why it failed, in words; fresh. */
char *result_error(const json_t *experiment);

/* Verdict, evidence and overlap of one experiment of the pair, whose other figures are in out. */
void proof_take(const struct feasibility *study, const struct pairs_pair *pair,
                const json_t *experiment, struct pairs_outcome *out);

/* Takes one. */
void proof_add(struct pairs_outcome *total, struct pairs_outcome *one);

/* What all that was added comes to: result and why. */
void proof_judge(const struct feasibility *study, struct pairs_pair *pair);

/* When the foreground is to start after the background, for both to train at the same time; false:
 * how long their start-ups take is not known. */
bool proof_start_after(const struct feasibility *study, const struct pairs_pair *pair, double *out);

/* So it is started, and not when the background's load has held: that loads the GPU for too short a
 * time, or it has been tried. */
bool proof_is_aligned(const struct feasibility *study, const struct pairs_pair *pair);

/* How many more experiments of the pair are worth their time. */
int proof_again(const struct feasibility *study, const struct pairs_pair *pair);

#endif
