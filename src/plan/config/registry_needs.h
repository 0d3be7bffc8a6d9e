/* registry_needs: "source", "data" and "requires" of a repository: what a machine must have before it can be trained.
 * Private to config/. */
#ifndef TARE_PLAN_CONFIG_REGISTRY_NEEDS_H
#define TARE_PLAN_CONFIG_REGISTRY_NEEDS_H

#include "plan/config/field.h"
#include "plan/config/registry.h"

extern const struct field_table registry_source_table, registry_data_table, registry_modules_table;

/* After the models were read. */
void registry_read_needs(const struct source *source, const char *path, const json_t *json, struct repo *out);

void registry_needs_fini(struct repo *repo);

#endif
