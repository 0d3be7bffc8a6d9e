/* effect: how much more one side has than the other, of experiments in strata: a linear model on
 * logarithms. Pure: arrays in, figures out. */
#ifndef TARE_STATS_EFFECT_H
#define TARE_STATS_EFFECT_H

#include "base/reading.h"
#include "stats/interval.h"

/* The most covariates. */
#define STATS_EFFECT_COVARIATES 8

/* y = a level of its stratum + effect (where it is of side b) + sum of slope[k] * x[k] + noise. */
struct stats_effect_input {
    size_t count;
    const double *y; /* logarithms, or logits: the effect is a ratio, or a ratio of odds */
    /* of y: values as they are: the effect is a difference, and every "ratio" below is one */
    bool plain;
    const bool *is_b;
    /* not NULL: instead of is_b, of which the effect is a slope: for each 1 of this column */
    const double *column;
    const size_t *stratum; /* below strata */
    size_t strata;
    const double *x; /* count rows of covariates; NULL: none */
    size_t covariates;
};

/* Least squares. The error is HC2 (MacKinnon and White 1985), which allows each side a spread of
 * its own, with the degrees of freedom of Bell and McCaffrey (2002): of one experiment a side and
 * stratum this is the paired t test, of one stratum nearly Welch's. */
struct stats_effect {
    bool valid;          /* the sides share a stratum, and no covariate says the same as the side */
    double log_ratio;    /* b over a; plain: b less a */
    bool constant;       /* no spread is left within the sides: nothing to test a difference with */
    bool has_error;      /* the rest is known: there is more data than parameters, and a spread */
    double error, df, p; /* p is over 0 */
    double ratio;
    struct stats_interval interval; /* of the ratio */
    /* standard deviation of one experiment's noise, as a share; plain: in y's unit */
    double sigma;
    size_t strata; /* that have both sides */
    double slopes[STATS_EFFECT_COVARIATES];
    /* constant within strata, or told by the covariates before it */
    bool dropped[STATS_EFFECT_COVARIATES];

    /* Whether the strata agree in the effect: Cochran's Q (1954) with the variance within the
     * cells, by F. */
    bool has_heterogeneity; /* two strata or more, and cells with more than one experiment */
    double q, q_df, q_p;
    /* Higgins and Thompson (2002): the share of the differences between strata that is not noise */
    double i2;
    double lowest, highest; /* ratios of single strata */
};

void stats_effect(const struct stats_effect_input *in, struct stats_effect *out);

/* The least effect (on y's scale) that the two-sided test at level alpha finds with this power, by
 * an effect that has an error. */
double stats_effect_detectable(const struct stats_effect *effect, double alpha, double power);

/* How many experiments each side needs until the two-sided test at level alpha finds a ratio of
 * exp(log_ratio) with this power, by the noise sigma: at least 2. 0: more than a million. */
size_t stats_effect_sample_size(double sigma, double log_ratio, double alpha, double power);

#endif
