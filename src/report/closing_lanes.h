/* closing_lanes: the table of GPU slots in the closing text of a run. */
#ifndef TARE_REPORT_CLOSING_LANES_H
#define TARE_REPORT_CLOSING_LANES_H

#include "report/closing.h"

/* Below the closing table: how the lanes spent the run's time, what was lost, and whose the
 * processors' energy was. */

/* Nothing where the run had one lane. Columns that do not fit are left out: those that can be
 * spared first. */
void closing_add_lanes(const struct results *results, const struct closing_options *options,
                       struct text *out);

#endif
