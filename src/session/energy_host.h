/* energy_host: what the processes that were measured used of the host, as rows of the table. Pure. */
#ifndef TARE_SESSION_ENERGY_HOST_H
#define TARE_SESSION_ENERGY_HOST_H

#include "base/text.h"
#include "measure/gauge.h"

/* width: of the column of values, behind indent blanks. */
void energy_host_text(const struct gauge_result *result, double duration_s, int indent, int width, struct text *out);

#endif
