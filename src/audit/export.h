/* export: the tables of a dataset, tidy: one row for each thing, one column for each fact, in CSV or JSON Lines. */
#ifndef TARE_AUDIT_EXPORT_H
#define TARE_AUDIT_EXPORT_H

#include "audit/dataset.h"
#include "base/text.h"

enum export_table { EXPORT_EXPERIMENTS, EXPORT_HYPERPARAMETERS, EXPORT_METRICS, EXPORT_EVIDENCE, EXPORT_TABLES };

const char *export_table_name(enum export_table table); /* "experiments" */

/* The whole table; docs/stats.md lists the columns. */
void export_make(const struct dataset *dataset, enum export_table table, bool json_lines, struct text *out);

#endif
