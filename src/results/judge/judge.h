/* judge: what speaks against each experiment of a dataset, and its verdict. Rules and thresholds: docs/audit.md. */
#ifndef TARE_RESULTS_JUDGE_JUDGE_H
#define TARE_RESULTS_JUDGE_JUDGE_H

#include "results/judge/dataset.h"

/* Adds to the evidence that reading the files gave, then sets every verdict. Once for a dataset. */
void audit_judge(struct dataset *dataset);

/* The indices of the experiments, those of one kind together: groups[i] is where the i-th group begins in order,
 * groups[count] behind the last. The caller frees both. Within a group they stand in the dataset's order. */
size_t audit_group(const struct dataset *dataset, size_t **order, size_t **groups);

/* <repository>_<model>_<nnn>[_parallel], as the study's and tare's ids are. */
bool audit_id_well_formed(const struct dataset_experiment *experiment);

#endif
