/* closing_verdict: verdicts, causes and budgets in the closing text of a run. */
#ifndef TARE_REPORT_CLOSING_VERDICT_H
#define TARE_REPORT_CLOSING_VERDICT_H

#include "report/closing.h"

/* Below the closing table: why experiments failed, which of them can be relied on, and what
 * disturbed the others. */

/* Whether some result has a verdict that is not clean; and how many of these are not planned again
 * yet. */
bool closing_any_unclean(const struct results *results);
bool closing_is_to_repeat(const struct result *result);
size_t closing_count_to_repeat(const struct results *results);

/* "failed by: 2 out_of_memory, 1 timeout", the most frequent first; nothing where no cause is
 * known. */
void closing_add_causes(const struct results *results, struct text *out);

/* "verdict: 3 clean, 1 contaminated ..." of what has ended, and a line for each kind of evidence
 * that spoiled something. */
void closing_add_verdicts(const struct results *results, struct text *out);

/* Below the closing table: what was used of the run's budgets, what is counted in that, and why it
 * stopped; nothing where there is no budget. */
void closing_add_budget(const struct results *results, struct text *out);

/* The options with which the left experiments would have enough; none where no budget stopped the
 * run. */
void closing_budget_options(const struct results *results, size_t left, struct strv *argv);

#endif
