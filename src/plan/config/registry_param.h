/* Reads a hyperparameter of the registry: its type, range, choices and default. */
#ifndef TARE_PLAN_CONFIG_REGISTRY_PARAM_H
#define TARE_PLAN_CONFIG_REGISTRY_PARAM_H

#include "plan/config/registry_repo.h"

/* Reads the row into out (which then holds a name, whatever else is wrong). False when a problem
 * was an error. */
bool registry_read_param(const struct source *source, const char *path, const char *name,
                         const json_t *row, struct param *out);

bool registry_has_choice(const struct param *param, const struct value *value);

#endif
