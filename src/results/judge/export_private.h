/* export_private: the rows of a table on their way out. Private to audit/. */
#ifndef TARE_RESULTS_JUDGE_EXPORT_PRIVATE_H
#define TARE_RESULTS_JUDGE_EXPORT_PRIVATE_H

#include "results/judge/export.h"

#include <jansson.h>

/* Rows are objects; a table's first one gives the columns of CSV, and all have the same. */
struct export_writer {
    enum export_format format;
    bool begun, broken;
    struct text *out;
    export_flush_fn *flush;
    void *context;
    struct err *err;
};

/* What every table's rows begin with, to be joined by. A new reference. */
json_t *export_row_of(const struct dataset *dataset, const struct dataset_experiment *experiment);

/* Takes the row. */
void export_row(struct export_writer *writer, json_t *row);

/* The samples of one experiment, from its files. */
void export_samples(struct export_writer *writer, const struct dataset *dataset,
                    const struct dataset_experiment *experiment);

#endif
