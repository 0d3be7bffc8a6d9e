/* export: the tables of a dataset, tidy: one row for each thing, one column for each fact, in CSV
 * or JSON Lines. */
#ifndef TARE_RESULTS_JUDGE_EXPORT_H
#define TARE_RESULTS_JUDGE_EXPORT_H

#include "base/err.h"
#include "base/reading.h"
#include "base/text.h"
#include "results/judge/dataset.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum export_table {
    EXPORT_EXPERIMENTS,
    EXPORT_ATTEMPTS,
    EXPORT_EPOCHS,
    EXPORT_HYPERPARAMETERS,
    EXPORT_METRICS,
    EXPORT_HISTORY,
    EXPORT_EVIDENCE,
    EXPORT_SAMPLES,
    /* a row for each experiment, with a column for each hyperparameter and metric of all of them */
    EXPORT_WIDE,
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

/* The whole table, handed on in pieces: memory does not depend on the number of samples.
 * docs/reference/judging.md lists the columns. */
bool export_make(const struct dataset *dataset, enum export_table table, enum export_format format,
                 export_flush_fn *flush, void *context, struct err *err);

/* The rows of an experiment's files in the study's layout, one by one: what export writes and what
 * the page draws. */

enum samples_file { SAMPLES_POWER, SAMPLES_UTILISATION, SAMPLES_TEMPERATURE, SAMPLES_FILES };
#define SAMPLES_COLUMNS 2 /* at most, behind the time-stamp */

/* "power_draw_w"; NULL: no such column. */
const char *samples_quantity(enum samples_file file, size_t column);

/* t_s: whole seconds since 1970. */
typedef void samples_each_fn(void *context, int64_t t_s,
                             const struct reading values[SAMPLES_COLUMNS]);

/* Calls each for every row of that file of an experiment's energy/, open; none where there is no
 * such file. Memory does not depend on its length. False: it cannot be read (err). */
bool samples_read(int energy, enum samples_file file, samples_each_fn *each, void *context,
                  struct err *err);

#endif
