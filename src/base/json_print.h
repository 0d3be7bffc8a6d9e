/* json_print: prints JSON, compact or indented, with numbers in their shortest exact form. */
#ifndef TARE_BASE_JSON_PRINT_H
#define TARE_BASE_JSON_PRINT_H

#include "base/json.h"

/* One line of JSON without spaces, keys in the order they were set; doubles in shortest form with
 * number_shortest (whole ones with .0, NaN and infinities as null). json_print_pretty: indented by
 * two, final newline. */
void json_print(const json_t *json, struct text *out);
void json_print_pretty(const json_t *json, struct text *out);
/* Pretty, as it is indented within so many others, and without a final newline. */
void json_print_nested(const json_t *json, int depth, struct text *out);
/* json_print_pretty, and the reference is taken */
void json_print_taken(json_t *json, struct text *out);

#endif
