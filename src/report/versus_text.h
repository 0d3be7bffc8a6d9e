/* versus_text: a comparison as a person reads it. */
#ifndef TARE_REPORT_VERSUS_TEXT_H
#define TARE_REPORT_VERSUS_TEXT_H

#include "results/judge/versus.h"
#include "base/text.h"

#include <stdbool.h>

/* g_per_kwh: carbon intensity, or not valid. */
void versus_text(const struct versus *versus, struct reading g_per_kwh, bool colour, struct text *out);

#endif
