/* Reads what a repository requires: its source, data and Python modules. */
#ifndef TARE_PLAN_CONFIG_REGISTRY_NEEDS_H
#define TARE_PLAN_CONFIG_REGISTRY_NEEDS_H

#include "plan/config/registry_repo.h"

/* After the models were read. */
void registry_read_needs(const struct source *source, const char *path, const json_t *json,
                         struct repo *out);

void registry_needs_fini(struct repo *repo);

#endif
