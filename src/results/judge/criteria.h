/* criteria: criteria that a dataset holds or not: "power_cv_between<5%,contaminated=0". */
#ifndef TARE_RESULTS_JUDGE_CRITERIA_H
#define TARE_RESULTS_JUDGE_CRITERIA_H

#include "results/judge/dataset.h"

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

#endif
