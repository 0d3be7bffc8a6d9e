/* registry_mark: "marks" of a repository. Private to config/. */
#ifndef TARE_PLAN_CONFIG_REGISTRY_MARK_H
#define TARE_PLAN_CONFIG_REGISTRY_MARK_H

#include "plan/config/field.h"
#include "plan/config/registry.h"

extern const struct field_table registry_mark_table;

void registry_read_marks(const struct source *source, const char *path, const json_t *json, struct repo *out);

#endif
