/* change: changes the hyperparameters and environment of an experiment before a retry. */
#ifndef TARE_PLAN_CHANGE_H
#define TARE_PLAN_CHANGE_H

#include "plan/plan.h"

/* change: a job's command made different for a retry, each change told. Pure. */

/* Each adds to changed (a JSON array) what it did:
 *   {"kind": "hyperparameter", "name": "batch_size", "from": 64, "to": 32}
 *   {"kind": "environment", "name": "PYTORCH_CUDA_ALLOC_CONF", "from": null, "to":
 * "expandable_segments:True"}
 *   {"kind": "argument", "name": "--amp", "from": null, "to": null} */

/* Step number of job->oom_steps. False: it would lead beyond a bound, or change nothing: the job
 * stays as it was. */
bool change_take_step(struct plan_job *job, size_t number, json_t *changed);

void change_set_env(struct plan_job *job, const char *name, const char *from, const char *to,
                    json_t *changed);

/* An experiment of its own, to be changed; plan_experiment_fini and free. */
struct plan_experiment *change_copy(const struct plan_experiment *experiment);

/* "batch_size 64 -> 32; --amp; PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True": for people, and
 * for summary.csv. "" for nothing. The caller frees it. */
char *change_text(const json_t *changed);

#endif
