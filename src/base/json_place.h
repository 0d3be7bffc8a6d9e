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

/* Fills doc->repeats. False: there are more than anybody wrote. */
bool json_find_repeats(struct json_doc *doc, struct err *err);

/* What people most often did when a text is no JSON, in words that say what to do. */

/* text: what was parsed. NULL: nothing comes to mind. */
const char *json_hint(const char *text, size_t length, const json_error_t *error);

/* Whether the object that this path leads through has its last key more than once; where the first
 * and the last are. */
bool json_doc_repeated(const struct json_doc *doc, const char *path, struct json_place *first,
                       struct json_place *last);

/* Notes that the value at path was set over the text: it has no place. Is the one at path, or one
 * that holds it? */
void json_doc_override(struct json_doc *doc, const char *path);
bool json_doc_overridden(const struct json_doc *doc, const char *path);

/* For files of which every key counts: false when an object has a key twice; the error names both
 * places. */
bool json_doc_refuse_repeats(const struct json_doc *doc, struct err *err);

/* A path names a value from the root: "$", "$.experiments[3].hyperparameters.epochs"; a key that is
 * no identifier (letters, digits, _, -) is quoted: $.models["a b"]. json_path_* make a longer one;
 * the caller frees. */
char *json_path_key(const char *path, const char *key);
char *json_path_index(const char *path, size_t index);

/* Where the value at path begins (of repeated keys the last); the place of its key when at_key (the
 * root and elements of arrays have none: their own place); {0, 0} when there is no such value.
 * Costs a scan of the text: for messages only. */
struct json_place json_doc_place(const struct json_doc *doc, const char *path, bool at_key);

#endif
