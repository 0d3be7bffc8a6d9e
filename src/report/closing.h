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

#endif
