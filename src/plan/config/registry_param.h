/* registry_param: one row of "supported_hyperparams". Private to config/. */
#ifndef TARE_PLAN_CONFIG_REGISTRY_PARAM_H
#define TARE_PLAN_CONFIG_REGISTRY_PARAM_H

#include "plan/config/field.h"
#include "plan/mutate/mutate.h"

extern const struct field_table registry_param_table;

/* Reads the row into out (which then holds a name, whatever else is wrong). False when a problem was an error. */
bool registry_read_param(const struct source *source, const char *path, const char *name, const json_t *row,
                         struct param *out);

#endif
