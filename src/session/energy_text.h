/* energy_text: what was measured, as a short table for people and as JSON. Pure. */
#ifndef TARE_SESSION_ENERGY_TEXT_H
#define TARE_SESSION_ENERGY_TEXT_H

#include "base/text.h"
#include "measure/energy_meters.h"
#include "session/measuring.h"

#include <jansson.h>

struct energy_page {
    const struct measured *measured;
    /* what was asked for: what is missing of it has its reason there */
    const struct energy_meters_options *options;
    const char *until; /* "until process 12 (python3) ended" */
};

/* Whether one energy at least, other than the platform's, is known. */
bool energy_text_any(const struct measured *measured);

/* What is not measured and why, with the command that mends it where there is one; NULL: all is.
 * Fresh. */
char *energy_text_missing(const struct energy_page *page);

void energy_text(const struct energy_page *page, struct text *out);

/* As docs/reference/measuring.md describes it. */
json_t *energy_text_json(const struct energy_page *page);

#endif
