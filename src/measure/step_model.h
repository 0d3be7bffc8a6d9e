/* step_model: one step's power curve as a linear model with Gaussian priors: the mean powers of
 * narrow bins, and as nuisances where phases begin, how long the sensor averages, and drifts. Its
 * posterior gives every figure and its variance. Private to measure/. */
#ifndef TARE_MEASURE_STEP_MODEL_H
#define TARE_MEASURE_STEP_MODEL_H

#include "measure/step_power.h"

enum { STEP_SAMPLES_MIN = 60, STEP_BINS_MOST = 200, STEP_DRIFTS = 6, STEP_SEARCH_SAMPLES = 1500 };
#define STEP_UNKNOWNS_MOST (STEP_BINS_MOST + 2 * STEP_PHASES_MAX + STEP_DRIFTS + 1)
/* Operations, at most two seconds of them: they are spent in the loop that serves all slots, and a
 * job may mark whatever it likes. */
#define STEP_BUDGET 1.5e10

static const double STEP_FINEST = 1e-4; /* of the mean power: no sensor's noise is less */

/* A row: what one sample says of the unknowns. */
struct step_row {
    double of[STEP_UNKNOWNS_MOST];
    size_t first, last;       /* of the bins that are not zero, last excluded */
    double y, weight, spread; /* spread: variance by jitter of marks and stamps */
};

/* Times, the variances that fit them, and how well they explain the samples. */
struct step_times {
    double early_s[STEP_PHASES_MAX + 1]; /* by so much later than its mark a phase begins */
    double length_s;                     /* of the averaging */
    double rough, noise;                 /* variances: of the curve a second, of a sample */
    double best;                         /* the likelihood's logarithm */
};

struct step_model {
    const struct step_fold *fold;
    const struct step_sensor *sensor;
    struct step_power *out;
    const struct power_sample *samples;
    size_t sample_count;
    int64_t origin_ns;
    struct step_times at; /* as learnt so far */
    /* of the averaging: its length, as stated, and how late it is */
    double told_s, delay_s;
    size_t stride;                          /* of the samples that are used */
    double phase_s[STEP_PHASES_MAX], bin_s; /* mean duration, by the marks; the longest bin */
    size_t first[STEP_PHASES_MAX + 1];      /* bin of each phase */
    size_t bins, unknowns;                  /* bins, then marks (one a phase), length, drifts */
    double mean_w, level_w, mark_sd_s, delay_sd_s, length_sd_s;
    /* that explain them about as well; length_s 0: none do */
    struct step_times other;
    double *spent;          /* operations so far, about */
    double *normal, *right; /* A'WA, A'Wy */
    double yy, *mean;       /* posterior */
    /* unknowns^2: the factor of the posterior's precision */
    double *work;
    struct step_row *row, *spare; /* of the current sample; room */
    size_t rows;
    size_t blocks;
    double *scores; /* of each block: A'Wr */
};

/* When a phase of a step begins (phase_count: when the step ends), s after the origin, by what is
 * learnt of the marks. */
double step_model_edge_s(const struct step_model *model, size_t step, size_t phase);

/* So long before its stamp power still is in a sample, s. */
double step_model_reach_s(const struct step_model *model);

/* The normal equations of the samples, for the times as they are. times: with a column for each
 * time. */
void step_model_build(struct step_model *model, bool times);

/* Those of curve and noise that explain the rows best, searched from a factor down to least. Gives
 * the logarithm of the likelihood. */
double step_model_learn_variances(struct step_model *model, double factor, double least,
                                  bool curve);

/* How well the times as they are explain the samples: the logarithm; -INFINITY: not at all. */
double step_model_times_fit(struct step_model *model, bool curve);

/* Moves count times from the first on; that behind the phases is the length of the average. */
void step_model_shift_times(struct step_model *model, size_t first, size_t count, double by);

/* Where the phases begin and how long the average is. */
void step_model_find_times(struct step_model *model);

/* The posterior's mean. False: not positive. */
bool step_model_solve(struct step_model *model);

/* What is left over of each block, for step_model_variance. */
void step_model_score(struct step_model *model);

/* Of a functional c of the unknowns, after step_model_solve. */
double step_model_variance(const struct step_model *model, const double *c);

#endif
