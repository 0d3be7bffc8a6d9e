/* pool: which of the machine's GPUs a run takes, and how they are dealt out to lanes, each of which runs one experiment at a
 * time. */
#ifndef TARE_SESSION_POOL_H
#define TARE_SESSION_POOL_H

#include "base/strv.h"
#include "plan/plan.h"
#include "run/cpu_sets.h"
#include "run/run.h"

struct pool {
    struct run_lane *lanes; /* each has its place among the GPUs that meters_find finds */
    size_t lane_count;
    struct cpu_sets cpu_sets;
};

/* gpus: what a person said over the plan ("all", "none", a list), or NULL. Nothing is taken that the environment's
 * CUDA_VISIBLE_DEVICES, or the Slurm allocation around us, does not allow; what is not taken is taken out of the environment. A plan
 * whose trainings are told their GPUs in the settings or the registry has one lane. False: err says what is wrong. */
bool pool_make(const char *gpus, const struct plan *plan, struct strv *environment, struct pool *out, struct err *err);
void pool_fini(struct pool *pool);

/* "8 GPUs, 4 experiments at a time on 2 GPUs each", or NULL: there is one lane. Fresh. */
char *pool_text(const struct pool *pool);

#endif
