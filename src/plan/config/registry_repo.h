/* registry_repo: one entry of "models". Private to config/. */
#ifndef TARE_PLAN_CONFIG_REGISTRY_REPO_H
#define TARE_PLAN_CONFIG_REGISTRY_REPO_H

#include "plan/config/field.h"
#include "plan/config/registry.h"

/* folder: the registry's. out holds a name and every text a planner asks for, whatever is wrong. */
void registry_read_repo(const struct source *source, const char *path, const char *folder, const char *name,
                        const json_t *json, struct repo *out);

void registry_repo_fini(struct repo *repo);

/* metrics, fail_on, cpu_models and reads_checkpoints, after the models were read. (registry_rules.c) */
extern const struct field_table registry_rules_table;
void registry_read_rules(const struct source *source, const char *path, const json_t *json, struct repo *out);
void registry_rules_fini(struct repo *repo);

void registry_repo_describe(struct text *out);

#endif
