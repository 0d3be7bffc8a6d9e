/* parts: what the display of a run (live/) and tare watch (watch/) both show of an experiment: how
 * far its training is, a bar, and its hyperparameters. Pure. */
#ifndef TARE_REPORT_LIVE_PARTS_H
#define TARE_REPORT_LIVE_PARTS_H

#include "base/reading.h"
#include "base/text.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How far a training is, by its marks and its progress bars. (training.c) */

enum { TRAINING_BARS = 4, TRAINING_TEXT = 72 };

struct training_bar {
    char name[TRAINING_TEXT]; /* "Epoch 3" */
    double done, restarts;
    struct reading total;
};

struct training_state {
    double epoch, epochs; /* from 1; 0: not known */
    /* where nothing tells epochs, place of the bar from 1; 0: there is none */
    size_t bar;
    struct reading inner; /* share of the epoch, or of that bar */
    struct reading share; /* of the whole training */
    int source;
};

struct training {
    struct reading epochs; /* by its hyperparameters */
    char mark[TRAINING_TEXT];
    double marked, marked_of; /* number of the epoch, and of how many; 0: not known */
    bool marked_ended, from_zero;
    struct training_bar bars[TRAINING_BARS];
    size_t bar_count, latest;
    struct training_state state;
    char of[TRAINING_TEXT];    /* the state's bar */
    int64_t first_ns, last_ns; /* when its share was first known, and when it last rose */
    double first;
};

/* "lr=0.01 batch_size=32": those that were drawn, and those in which experiments of this repository
 * and model differ. */
void params_add(const struct plan *plan, const struct plan_experiment *experiment,
                struct text *out);

struct drawn;

/* ", GPU 36.000 ± 0.003 kJ, CPU 3.00 ± 0.01 kJ"; nothing where nothing is known. */
void drawn_add(const struct drawn *drawn, struct text *out);

#endif
