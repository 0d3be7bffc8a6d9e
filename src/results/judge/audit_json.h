/* audit_json: audit.json and audit_safe.csv. */
#ifndef TARE_RESULTS_JUDGE_AUDIT_JSON_H
#define TARE_RESULTS_JUDGE_AUDIT_JSON_H

#include "results/judge/account.h"
#include "base/text.h"

#include <jansson.h>

/* A new reference; what it holds is in docs/reference/judging.md. */
json_t *audit_json(const struct dataset *dataset, const struct account *account);

/* A new reference: [{"check", "outcome", "text"}, ...]. */
json_t *audit_checks_json(const struct dataset_experiment *experiment);

/* Its name: summary_safe.csv is a run's own, or the study's. */
#define AUDIT_SAFE_CSV "audit_safe.csv"

/* The rows of summary.csv whose experiments are clean, under its own header, with tare's columns behind them: verdict
 * (in its place where there is such a column), audit_gpu_energy_joules, audit_gpu_energy_half_width_joules,
 * audit_sampled_share. False: there is no summary.csv, or it cannot be read (err). */
bool audit_safe_csv(const struct dataset *dataset, size_t folder, struct text *out, struct err *err);

#endif
