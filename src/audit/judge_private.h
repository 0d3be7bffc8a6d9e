/* judge_private: the parts of the judge. Each adds checks and evidence to experiments; judge.c calls them in order. */
#ifndef TARE_AUDIT_JUDGE_PRIVATE_H
#define TARE_AUDIT_JUDGE_PRIVATE_H

#include "audit/judge.h"
#include "stats/fit.h"

/* What a training is compared with the others of its kind by. */
enum like_figure { LIKE_TIME, LIKE_GPU_ENERGY, LIKE_CPU_ENERGY, LIKE_FIGURES };

struct judge_figure {
    struct stats_prediction prediction;
    double df;     /* degrees of freedom of its standard deviation */
    char why[120]; /* where it is not valid: why */
};

/* One experiment while it is judged. */
struct judge_state {
    bool busy;      /* something else is known to have worked beside it */
    size_t rank;    /* its place in the order in which the folder's experiments began */
    bool in_a_row;  /* all of its kind ran one after another, with nothing in between */
    bool doubted;   /* its data cannot be right: it is no measure for others */
    bool lacking;   /* files of it are not there that the folder's others have */
    struct judge_figure like[LIKE_FIGURES];
};

/* Whether the GPU was idle before each experiment began, by the idle level that the whole folder shows; sets busy. */
void judge_idle(struct dataset *dataset, struct judge_state *states);

/* What each should have taken, by its kind: sets like. */
void judge_like(const struct dataset *dataset, struct judge_state *states);

/* Steps, results that are lacking and outliers. */
void judge_siblings(struct dataset *dataset, const struct judge_state *states);

#endif
