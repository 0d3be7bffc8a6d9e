/* json_hint: what people most often did when a text is no JSON, in words that say what to do. Private to base/. */
#ifndef TARE_BASE_JSON_HINT_H
#define TARE_BASE_JSON_HINT_H

#include <jansson.h>
#include <stddef.h>

/* text: what was parsed. NULL: nothing comes to mind. */
const char *json_hint(const char *text, size_t length, const json_error_t *error);

#endif
