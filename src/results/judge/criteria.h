/* criteria: criteria of --expect: parses them and tests them on a dataset. */
#ifndef TARE_RESULTS_JUDGE_CRITERIA_H
#define TARE_RESULTS_JUDGE_CRITERIA_H

#include "results/judge/judge.h"

bool criteria_parse(const char *text, struct criteria *out, struct err *err);
void criteria_fini(struct criteria *criteria);
/* False: the dataset does not have the model of one of them, or has it in several repositories. */
bool criteria_match(const struct criteria *criteria, const struct dataset *dataset,
                    struct err *err);
void criterion_check(const struct criteria *criteria, size_t index, const struct dataset *judged,
                     struct criterion_result *out);

#endif
