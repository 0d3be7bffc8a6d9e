/* yaml: YAML to JSON, with the place of each token, by libyaml's events. Plain scalars are read by
 * the core schema of YAML 1.2 ("no" is a string, 1e-3 a number), as the specification's
 * chapter 10.3.2 has it. */
#ifndef TARE_BASE_YAML_H
#define TARE_BASE_YAML_H

#include "base/json_place.h"

/* YAML in JSON, indented; the caller frees json and marks. The error names file:line:column.
 * Aliases are copied, so what comes out is bounded besides. */
bool yaml_to_json(const char *file, const char *text, size_t length, struct text *json,
                  struct json_mark **marks, size_t *mark_count, struct err *err);

#endif
