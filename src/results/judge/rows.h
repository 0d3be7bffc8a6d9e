/* rows: which experiments figures are made of. */
#ifndef TARE_RESULTS_JUDGE_ROWS_H
#define TARE_RESULTS_JUDGE_ROWS_H

#include "results/judge/judge.h"

enum audit_rows audit_rows_named(const char *name);

/* Whether figures are made of an experiment. Never if its row and folder disagree, or if it is a
 * copy. */
bool audit_counts(const struct dataset *dataset, const struct dataset_experiment *experiment,
                  enum audit_rows rows);

void audit_tally_add(struct audit_tally *tally, const struct dataset_experiment *experiment);

/* "9 clean, 3 consistent (other programs were not recorded)"; "" for none; fresh */
char *audit_tally_text(const struct audit_tally *tally);

json_t *audit_tally_json(const struct audit_tally *tally); /* a new reference */

#endif
