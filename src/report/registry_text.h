/* registry_text: what a registry offers: repositories, models, hyperparameters. */
#ifndef TARE_REPORT_REGISTRY_TEXT_H
#define TARE_REPORT_REGISTRY_TEXT_H

#include "base/text.h"
#include "plan/config/registry.h"

#include <jansson.h>

/* only: the one repository that is shown, or NULL: all. */
void registry_text(const struct registry *registry, const struct repo *only, bool colour, struct text *out);

/* {"registry": FILE, "repositories": [{"name", "path", "path_exists", "models", "hyperparameters": [...],
 * "metrics"}]}; a new reference. */
json_t *registry_text_json(const struct registry *registry, const struct repo *only);

#endif
