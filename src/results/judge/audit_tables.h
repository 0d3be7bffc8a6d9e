/* audit_tables: audit_safe.csv and audit_affected.csv, the rows of summary.csv in two tables. */
#ifndef TARE_RESULTS_JUDGE_AUDIT_TABLES_H
#define TARE_RESULTS_JUDGE_AUDIT_TABLES_H

#include "results/judge/judge.h"

/* Why an experiment is affected, in one line; NULL: it is safe. It is affected if it did not end
 * before the moment of a split, if it is suspect or contaminated, or if another has its id.
 * Fresh. */
char *audit_affected_reason(const struct account *account,
                            const struct dataset_experiment *experiment);

/* Both tables have the columns of summary.csv, then verdict, consistency, reason (of the affected
 * alone), audit_gpu_energy_joules, audit_gpu_energy_half_width_joules, audit_sampled_share; each of
 * these in its place where summary.csv has it. False: there is no summary.csv, or it cannot be
 * read (err). */
bool audit_tables_make(const struct dataset *dataset, const struct account *account, size_t folder,
                       struct audit_tables *out, struct err *err);
void audit_tables_fini(struct audit_tables *tables);

/* Fills the empty cells of consistency in summary_safe.csv of a run of this program, whose folder
 * is open. dataset: the run, judged. A file without that column stays as it is. */
bool summary_safe_fill(const struct dataset *dataset, int dir, struct err *err);

/* The affected experiments of a folder as ranges of their numbers: "hrnet18 130–144, pcb
 * 145–160". Fresh; "" for none. */
char *audit_affected_ranges(const struct dataset *dataset, const struct account *account,
                            size_t folder);

#endif
