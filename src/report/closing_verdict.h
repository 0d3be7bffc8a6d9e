/* closing_verdict: below the closing table: why experiments failed, which of them can be relied on, and what disturbed the
 * others. Private to report/. */
#ifndef TARE_REPORT_CLOSING_VERDICT_H
#define TARE_REPORT_CLOSING_VERDICT_H

#include "base/text.h"
#include "results/store/store.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether some result has a verdict that is not clean; and how many of these are not planned again yet. */
bool closing_any_unclean(const struct results *results);
size_t closing_count_to_repeat(const struct results *results);

/* "failed by: 2 out_of_memory, 1 timeout", the most frequent first; nothing where no cause is known. */
void closing_add_causes(const struct results *results, struct text *out);

/* "verdict: 3 clean, 1 contaminated ..." of what has ended, and a line for each kind of evidence that spoiled something. */
void closing_add_verdicts(const struct results *results, struct text *out);

#endif
