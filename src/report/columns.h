/* columns: which hyperparameters and metrics of a run's results are worth a column, and which of
 * them fit; and sizes, times and energies as cells. */
#ifndef TARE_REPORT_COLUMNS_H
#define TARE_REPORT_COLUMNS_H

#include "base/reading.h"
#include "base/strv.h"
#include "report/table.h"
#include "results/store/store.h"

#include <stdbool.h>
#include <stddef.h>

/* The hyperparameters that were mutated or differ between experiments of one repository and model,
 * in the plan's order. */
void columns_varied(const struct plan *plan, struct strv *out);

/* All metrics of the results, in the plan's order. */
void columns_metrics(const struct results *results, struct strv *out);

/* The cell's text; "" when there is none. The caller frees it. */
char *columns_param_cell(const struct plan_experiment *experiment, const char *name);
char *columns_metric_cell(const struct result *result, const char *name);

/* Sizes, times and energies as a person reads them in a table. */

/* "5.47 GiB", "2 min 01 s", "1.49 kJ"; "-" for what is not valid. The caller frees them. */
char *amounts_size(struct reading bytes);
char *amounts_duration(struct reading seconds);
char *amounts_joules(struct reading joules);

#endif
