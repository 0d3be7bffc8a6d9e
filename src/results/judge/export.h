/* export: the tables of a dataset, tidy: one row for each thing, one column for each fact, in CSV or JSON Lines. */
#ifndef TARE_RESULTS_JUDGE_EXPORT_H
#define TARE_RESULTS_JUDGE_EXPORT_H

#include "results/judge/dataset.h"
#include "base/text.h"

enum export_table {
    EXPORT_EXPERIMENTS,
    EXPORT_ATTEMPTS,
    EXPORT_EPOCHS,
    EXPORT_HYPERPARAMETERS,
    EXPORT_METRICS,
    EXPORT_EVIDENCE,
    EXPORT_SAMPLES,
    EXPORT_TABLES
};

enum export_format {
    EXPORT_CSV,   /* what a spreadsheet would take for a formula is escaped */
    EXPORT_EXACT, /* CSV with every cell as it is */
    EXPORT_JSON_LINES
};

const char *export_table_name(enum export_table table); /* "experiments" */

/* Takes what was written so far, and empties it. False: it cannot be written (err). */
typedef bool export_flush_fn(void *context, struct text *text, struct err *err);

/* The whole table, handed on in pieces: memory does not depend on the number of samples. docs/stats.md lists the
 * columns. */
bool export_make(const struct dataset *dataset, enum export_table table, enum export_format format, export_flush_fn *flush,
                 void *context, struct err *err);

#endif
