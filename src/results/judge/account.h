/* account: a judged dataset counted: totals, before and after a moment, by repository, model, cause and time. */
#ifndef TARE_RESULTS_JUDGE_ACCOUNT_H
#define TARE_RESULTS_JUDGE_ACCOUNT_H

#include "base/text.h"
#include "results/judge/dataset.h"
#include "stats/compare.h"

#include <jansson.h>

struct account_row {
    char *name;
    int64_t from_local_ns; /* timeline: where the span begins */
    size_t total, succeeded, failed; /* the rest of total: not known or not ended */
    size_t verdicts[VERDICTS]; /* by enum verdict */
    double energy_j;       /* of those whose energy is known */
    size_t with_energy;
    double duration_s;
};

struct account_table {
    struct account_row *rows;
    size_t count;
};

/* Experiments on both sides of a moment. Its name: "ended before", "overlapping", "started after"; in that order. */
struct account_split {
    bool asked, found;
    bool automatic;
    int64_t at_local_ns;
    char *series;  /* automatic: what changed, "success" or "power" */
    double p;      /* automatic: of its test, corrected for two series */
    struct account_row rows[3];
    size_t unknown; /* when they ended is not known */
};

struct account_integrity {
    size_t rows, folders, without_row, without_folder, duplicate_ids, malformed_ids, damaged_files, without_end;
};

struct account {
    struct account_row all;
    struct account_table repositories, models, failures, evidence, timeline;
    int64_t timeline_step_s; /* an hour or a day */
    struct account_split split;
    struct account_integrity integrity;
};

/* split_at: a time, "auto", or NULL. False: it is no time (err). */
bool account_make(const struct dataset *dataset, const char *split_at, struct account *out, struct err *err);
void account_fini(struct account *account);

/* succeeded / (succeeded + failed); not valid without any. */
struct reading account_success_rate(const struct account_row *row);

/* What lies before and behind a moment, given or found. (split.c) */

bool split_make(const struct dataset *dataset, const char *at, struct account_split *out, struct err *err);
void account_count(struct account_row *row, const struct dataset_experiment *experiment);

/* audit.json and audit_safe.csv. */

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
