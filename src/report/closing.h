/* closing: what a person reads when a run is over: a table of the experiments, and below it what
 * matters. */
#ifndef TARE_REPORT_CLOSING_H
#define TARE_REPORT_CLOSING_H

#include "base/text.h"
#include "results/store/store.h"

#include <stdbool.h>
#include <stddef.h>

struct closing_options {
    const char *program; /* for the command that resumes */
    const char *run_dir;
    size_t width; /* columns at most; 0: as many as it takes */
    bool colour;
};

/* The columns that do not fit are named below the table; over CLOSING_ROWS experiments, those that
 * succeeded are left out. */
#define CLOSING_ROWS 100
void closing_text(const struct results *results, const struct closing_options *options,
                  struct text *out);

/* Below the closing table: where the results are, and the commands that go on with the run or
 * repeat some of it. */
void closing_add_where(const struct results *results, const struct closing_options *options,
                       struct text *out);

/* Below the closing table: why experiments failed, which of them can be relied on, and what
 * disturbed the others. (closing_verdict.c) */

/* Whether some result has a verdict that is not clean; and how many of these are not planned again
 * yet. */
bool closing_any_unclean(const struct results *results);
size_t closing_count_to_repeat(const struct results *results);

/* "failed by: 2 out_of_memory, 1 timeout", the most frequent first; nothing where no cause is
 * known. */
void closing_add_causes(const struct results *results, struct text *out);

/* "verdict: 3 clean, 1 contaminated ..." of what has ended, and a line for each kind of evidence
 * that spoiled something. */
void closing_add_verdicts(const struct results *results, struct text *out);

/* Below the closing table: what was used of the run's budgets, what is counted in that, and why it
 * stopped; nothing where there is no budget. (closing_verdict.c) */
void closing_add_budget(const struct results *results, struct text *out);

/* The options with which the left experiments would have enough; none where no budget stopped the
 * run. */
void closing_budget_options(const struct results *results, size_t left, struct strv *argv);

/* Below the closing table: how the lanes spent the run's time, what was lost, and whose the
 * processors' energy was. (closing_lanes.c) */

/* Nothing where the run had one lane. Columns that do not fit are left out: those that can be
 * spared first. */
void closing_add_lanes(const struct results *results, const struct closing_options *options,
                       struct text *out);

#endif
