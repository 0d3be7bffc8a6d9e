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
void registry_read_rules(const struct source *source, const char *path, const json_t *json,
                         struct repo *out);
void registry_rules_fini(struct repo *repo);

/* A name that is none of the repository's models is reported. */
void registry_check_model(const struct source *source, const char *path, const char *key,
                          const char *model, const struct repo *repo);

extern const struct field_table registry_trains_table, registry_where_table, registry_command_table,
    registry_needs_table, registry_metrics_table, registry_metric_table;

/* registry_mark: "marks" of a repository. (registry_rules.c) */

extern const struct field_table registry_mark_table;

void registry_read_marks(const struct source *source, const char *path, const json_t *json,
                         struct repo *out);

/* registry_needs: "source", "data" and "requires" of a repository: what a machine must have before
 * it can be trained. (registry_needs.c) */

extern const struct field_table registry_source_table, registry_data_table, registry_modules_table;

/* After the models were read. */
void registry_read_needs(const struct source *source, const char *path, const json_t *json,
                         struct repo *out);

void registry_needs_fini(struct repo *repo);

/* registry_oom: "oom_steps" of a repository: hyperparameters that get other values.
 * (registry_oom.c) */

extern const struct field_table registry_oom_table;

/* Both after the hyperparameters were read. */
void registry_read_oom_steps(const struct source *source, const char *path, const json_t *json,
                             struct repo *out);

/* One row of "supported_hyperparams". (registry_param.c) */

extern const struct field_table registry_param_table;

/* Reads the row into out (which then holds a name, whatever else is wrong). False when a problem
 * was an error. */
bool registry_read_param(const struct source *source, const char *path, const char *name,
                         const json_t *row, struct param *out);

bool registry_has_choice(const struct param *param, const struct value *value);

#endif
