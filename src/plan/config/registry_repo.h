/* registry_repo: one entry of "models". Private to config/. */
#ifndef TARE_PLAN_CONFIG_REGISTRY_REPO_H
#define TARE_PLAN_CONFIG_REGISTRY_REPO_H

#include "plan/config/field.h"
#include "plan/config/registry.h"
#include "plan/mutate/mutate.h"

/* folder: the registry's. out holds a name and every text a planner asks for, whatever is wrong. */
void registry_read_repo(const struct source *source, const char *path, const char *folder,
                        const char *name, const json_t *json, struct repo *out);

void registry_repo_fini(struct repo *repo);

/* metrics, fail_on, cpu_models and reads_checkpoints, after the models were read.
 * (registry_rules.c) */
extern const struct field_table registry_rules_table;

extern const struct field_table registry_trains_table, registry_where_table, registry_command_table,
    registry_needs_table, registry_metrics_table, registry_metric_table;

/* registry_mark: "marks" of a repository. (registry_rules.c) */

extern const struct field_table registry_mark_table;

/* registry_needs: "source", "data" and "requires" of a repository: what a machine must have before
 * it can be trained. (registry_needs.c) */

extern const struct field_table registry_source_table, registry_data_table, registry_modules_table;

/* registry_oom: "oom_steps" of a repository: hyperparameters that get other values.
 * (registry_oom.c) */

extern const struct field_table registry_oom_table;

/* One row of "supported_hyperparams". (registry_param.c) */

extern const struct field_table registry_param_table;

#endif
