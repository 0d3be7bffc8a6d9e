/* registry_oom: reads `oom_steps`: the changes that a retry makes after an out-of-memory failure.
 */
#ifndef TARE_PLAN_CONFIG_REGISTRY_OOM_H
#define TARE_PLAN_CONFIG_REGISTRY_OOM_H

#include "plan/config/registry.h"
#include "plan/config/registry_repo.h"

struct registry_oom_step registry_oom_step_copy(const struct registry_oom_step *step);
void registry_oom_step_fini(struct registry_oom_step *step);
/* frees the array too */
void registry_oom_steps_fini(struct registry_oom_step *steps, size_t count);

/* Both after the hyperparameters were read. */
void registry_read_oom_steps(const struct source *source, const char *path, const json_t *json,
                             struct repo *out);

#endif
