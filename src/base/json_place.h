/* json_place: places in a JSON text, shared by the parts of json. Private to base. */
#ifndef TARE_BASE_JSON_PLACE_H
#define TARE_BASE_JSON_PLACE_H

#include "base/json.h"

#include <jansson.h>
#include <stddef.h>

/* Bytes of the byte order mark at the start, which is no JSON and counts as no column: 3 or 0. */
size_t json_mark_length(const struct json_doc *doc);

/* The place of a byte of the text. */
struct json_place json_place_at(const struct json_doc *doc, const char *at);

/* What is not JSON becomes blanks: comments, and the comma before a closing bracket. A block
 * comment that is not closed is given; else NULL. */
const char *jsonc_blank(char *text, size_t length);

/* YAML in JSON, indented; the caller frees json and marks. The error names file:line:column.
 * Aliases are copied, so what comes out is bounded besides. (yaml.c) */
bool yaml_to_json(const char *file, const char *text, size_t length, struct text *json,
                  struct json_mark **marks, size_t *mark_count, struct err *err);

/* Fills doc->repeats. False: there are more than anybody wrote. */
bool json_find_repeats(struct json_doc *doc, struct err *err);

/* What people most often did when a text is no JSON, in words that say what to do. */

/* text: what was parsed. NULL: nothing comes to mind. */
const char *json_hint(const char *text, size_t length, const json_error_t *error);

#endif
