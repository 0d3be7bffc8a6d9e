/* judge_design: by what trainings of one kind differ, as covariates and units of work of a fit. */
#ifndef TARE_RESULTS_JUDGE_JUDGE_DESIGN_H
#define TARE_RESULTS_JUDGE_JUDGE_DESIGN_H

#include "results/judge/dataset.h"
#include "stats/fit.h"

struct judge_design {
    double *x; /* count × covariates, each at most 1 in size */
    double prior[STATS_FIT_COVARIATES];
    size_t covariates;
    /* of work, such as epochs: time and energy are linear in them; NULL: none differ */
    double *units;
    const char *incomplete; /* why the trainings cannot be compared, or NULL */
};

/* Hyperparameters that scale the work act linearly or as a power: each design takes another one,
 * or the product of all, as units, and the others as powers. */
#define JUDGE_DESIGNS 7

/* At least one; the first has the epochs as units, if they differ. simple: one comes before it that
 * leaves out what hardly changes the work, and blanks beside a single value. The caller ends each.
 */
size_t judge_designs_make(const struct dataset *dataset, const size_t *items, size_t count,
                          bool simple, struct judge_design out[JUDGE_DESIGNS]);
/* A design for the highest power, which does not depend on the amount of work. */
void judge_design_make_power(const struct dataset *dataset, const size_t *items, size_t count,
                             struct judge_design *out);
void judge_design_fini(struct judge_design *design);

/* Numbers the items by their hyperparameters but for the seed: equal ones, equal numbers. */
void judge_design_settings(const struct dataset *dataset, const size_t *items, size_t count,
                           size_t *setting);

#endif
