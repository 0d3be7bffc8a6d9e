/* audit_json: an audit as JSON. */
#ifndef TARE_RESULTS_JUDGE_AUDIT_JSON_H
#define TARE_RESULTS_JUDGE_AUDIT_JSON_H

#include "results/judge/judge.h"

/* One entry for each experiment that is suspect or contaminated, in the order of the dataset: the
 * same hyperparameters, and of a parallel one the same background; a comment says which it was and
 * why. count: how many entries. left_out (may be NULL): ids of those whose repository or model, or
 * whose background's, is not known. A new reference. */
json_t *repeat_settings(const struct dataset *dataset, size_t *count, struct strv *left_out);

/* audit.json, audit_safe.csv and audit_affected.csv. */

/* A new reference; what it holds is in docs/reference/judging.md. */
json_t *audit_json(const struct dataset *dataset, const struct account *account);

/* A new reference: [{"check", "outcome", "text"}, ...]. */
json_t *audit_checks_json(const struct dataset_experiment *experiment);

#endif
