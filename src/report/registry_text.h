/* registry_text: what a registry offers: repositories, models, hyperparameters. */
#ifndef TARE_REPORT_REGISTRY_TEXT_H
#define TARE_REPORT_REGISTRY_TEXT_H

#include "base/text.h"
#include "plan/config/registry.h"
#include "run/environment/needs.h"

#include <jansson.h>
#include <stdbool.h>

/* only: the one repository that is shown, or NULL: all. */
void registry_text(const struct registry *registry, const struct repo *only, bool colour,
                   struct text *out);

/* {"registry": FILE, "repositories": [{"name", "path", "path_exists", "models", "hyperparameters":
 * [...], "metrics"}]}; a new reference. */
json_t *registry_text_json(const struct registry *registry, const struct repo *only);

/* Result of "list --check", as text and as JSON. (needs_text.c) */

/* A table of the models, one of what is not there or not as it should be, the commands that mend
 * it, and the room that is needed. */
void needs_text(const struct needs *needs, bool colour, struct text *out);

/* A new reference. registry: its file. */
json_t *needs_text_json(const struct needs *needs, const char *registry);

#endif
