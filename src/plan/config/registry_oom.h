/* registry_oom: "oom_steps" and "smoke" of a repository: hyperparameters that get other values. Private to config/. */
#ifndef TARE_PLAN_CONFIG_REGISTRY_OOM_H
#define TARE_PLAN_CONFIG_REGISTRY_OOM_H

#include "plan/config/field.h"
#include "plan/config/registry.h"

extern const struct field_table registry_oom_table, registry_smoke_table;

/* Both after the hyperparameters were read. */
void registry_read_smoke(const struct source *source, const char *path, const json_t *json, struct repo *out);
void registry_read_oom_steps(const struct source *source, const char *path, const json_t *json, struct repo *out);

#endif
