/* comparison_text: prints the result of tare compare as text. */
#ifndef TARE_REPORT_COMPARISON_TEXT_H
#define TARE_REPORT_COMPARISON_TEXT_H

#include "report/summary_stats_text.h"

/* A comparison as a person reads it. */

void comparison_text(const struct comparison *comparison, bool colour, struct text *out);

/* "different", "no significant difference", "not tested: B has one experiment", ...; the caller
 * frees it. */
char *comparison_finding_text(const struct comparison *comparison,
                              const struct comparison_quantity *quantity);

#endif
