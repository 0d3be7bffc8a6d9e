/* fit: what a figure of one training should be, by those of the others that are like it. */
#ifndef TARE_STATS_FIT_H
#define TARE_STATS_FIT_H

#include <stdbool.h>
#include <stddef.h>

/* The most covariates; as many trainings as one has cannot distinguish more. */
#define STATS_FIT_COVARIATES 6

/* y = (a + b·units)·exp(Σ effect[k]·x[k]), with noise that is a share of y: a start-up, and so much
 * for each unit (epoch). */
struct stats_fit_input {
    size_t count;
    const double *y;     /* over 0 */
    const double *units; /* over 0; NULL: y = b·exp(…) */
    const double *x;     /* count × covariates, around 0 */
    size_t covariates;
    /* of each effect: its standard deviation around 0, before there are data */
    const double *prior;
    const bool *use; /* false: known to be disturbed; it is predicted, and predicts nobody */
};

struct stats_prediction {
    bool valid;    /* at least two others are like it */
    double excess; /* ln(y / what the others let expect), as a share */
    /* standard deviation of that prediction and of one training's noise, as a share */
    double sigma;
    double noise; /* standard deviation of one training's noise alone, as a share */
    /* how many of them it rests on: what is far off the rest counts for less than one */
    double others;
    double agreeing; /* that, as a share of all there are */
};

/* What is known of the noise before there are data: a sum of squares and its degrees of freedom. */
struct stats_noise {
    double squares, df;
};

/* A robust ridge regression on ln y (Huber's weights). Each is predicted without itself. noise:
 * what is known of it beforehand; the fit adds its own residuals. out: count. */
void stats_fit_predict(const struct stats_fit_input *in, struct stats_noise noise,
                       struct stats_prediction *out);

#endif
