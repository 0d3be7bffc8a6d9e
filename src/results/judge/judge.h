/* judge: what speaks against each experiment of a dataset, and its verdict; criteria over all of them, and settings that do
 * again what cannot be believed. Rules and thresholds: docs/reference/judging.md. */
#ifndef TARE_RESULTS_JUDGE_JUDGE_H
#define TARE_RESULTS_JUDGE_JUDGE_H

#include "results/judge/dataset.h"

#include <jansson.h>

/* Adds to the evidence that reading the files gave, then sets every verdict. Once for a dataset. */
void audit_judge(struct dataset *dataset);

/* The indices of the experiments, those of one kind together: groups[i] is where the i-th group begins in order,
 * groups[count] behind the last. The caller frees both. Within a group they stand in the dataset's order. */
size_t audit_group(const struct dataset *dataset, size_t **order, size_t **groups);

/* <repository>_<model>_<nnn>[_parallel], as the study's and tare's ids are. */
bool audit_id_well_formed(const struct dataset_experiment *experiment);

/* Criteria that a dataset holds or not: "power_cv_between<5%,contaminated=0". */

struct criterion {
    char *text; /* as written */
    size_t what;
    enum { CRITERION_LESS, CRITERION_AT_MOST, CRITERION_MORE, CRITERION_AT_LEAST, CRITERION_EQUAL } how;
    double limit;
};

struct criteria {
    struct criterion *items;
    size_t count;
};

struct criterion_result {
    bool held; /* false too where it cannot be told */
    struct reading value;
    char why[300];
};

bool criteria_parse(const char *text, struct criteria *out, struct err *err);
void criteria_fini(struct criteria *criteria);
void criterion_check(const struct criterion *item, const struct dataset *judged, struct criterion_result *out);

/* Settings that do again what cannot be believed, for results that have no plan of their own to go on with. */

/* One entry for each experiment that is suspect or contaminated, in the order of the dataset: the same hyperparameters,
 * and of a parallel one the same background; a comment says which it was and why. count: how many entries. left_out
 * (may be NULL): ids of those whose repository or model, or whose background's, is not known. A new reference. */
json_t *repeat_settings(const struct dataset *dataset, size_t *count, struct strv *left_out);

#endif
