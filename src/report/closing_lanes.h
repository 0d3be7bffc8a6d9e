/* closing_lanes: below the closing table: how busy the lanes were, what they waited for, and whose the processors' energy was.
 * Private to report/. */
#ifndef TARE_REPORT_CLOSING_LANES_H
#define TARE_REPORT_CLOSING_LANES_H

#include "base/text.h"
#include "store/store.h"

/* Nothing where the last session had one lane. */
void closing_add_lanes(const struct results *results, struct text *out);

#endif
