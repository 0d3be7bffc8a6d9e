/* Contradictions: a row whose figures are not those of its experiment's folder. Which of the two is
 * wrong is unknown. */
#ifndef TARE_RESULTS_JUDGE_CONTRADICTIONS_H
#define TARE_RESULTS_JUDGE_CONTRADICTIONS_H

#include "results/judge/judge.h"
#include "results/judge/read.h"

/* Whether its row and its folder disagree: which of the two is wrong is unknown. */
bool audit_contradicts(const struct dataset_experiment *experiment);

/* values_differ: one figure in two files. */
void contradiction_add(struct dataset_experiment *experiment, unsigned quantities,
                       const char *figure, const char *left, const char *left_file,
                       const char *right, const char *right_file);

/* The experiments of facts, which are the dataset's last ones: experiment.json, summary.csv and the
 * log against them. */
void contradictions_of_run(struct dataset *dataset, size_t folder, const struct facts *facts);

/* Metrics whose number is on no line of the log. bytes: of the whole log, so that one that is not
 * whole is not judged; -1: unknown. file: where the metrics are from. */
void contradictions_in_log(struct dataset_experiment *experiment, int folder, const char *name,
                           int64_t bytes, const char *file);

#endif
