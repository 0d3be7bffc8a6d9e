/* parts: what the display of a run (live/) and tare watch (watch/) both show of an experiment: how
 * far its training is, a bar, and its hyperparameters. Pure. */
#ifndef TARE_REPORT_LIVE_PARTS_H
#define TARE_REPORT_LIVE_PARTS_H

#include "base/reading.h"
#include "base/text.h"
#include "plan/plan.h"

#include <jansson.h>
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

void training_begin(struct training *training, struct reading epochs); /* an attempt does */
void training_mark(struct training *training, const json_t *data, int64_t now_ns); /* EVENT_MARK */
/* EVENT_METRIC of the sensor "bars" */
void training_bars(struct training *training, const json_t *data, int64_t now_ns);
void training_look(struct training *training, int64_t now_ns);

/* Seconds until it ends, if it goes on as it did. False: nothing tells. */
bool training_left(const struct training *training, int64_t now_ns, double *out);

/* "epoch 3/20 ━━━╸────── 17 %", with a bar of width columns; nothing where nothing is known. */
void training_add(const struct training *training, size_t width, bool ascii, struct text *out);

/* {"name", "at", "of", "share"}: epoch at (from 1) of so many, or what a bar that tells no epochs
 * counts; share, from 0 to 1: of the whole training, else of that bar. What is not known is null. A
 * new reference; NULL: nothing is known. */
json_t *training_json(const struct training *training);

/* width columns, of which share is filled; ascii: in brackets. (layout.c) */
void bar_draw(double share, size_t width, bool ascii, struct text *out);

/* "lr=0.01 batch_size=32": those that were drawn, and those in which experiments of this repository
 * and model differ. (parts.c) */
void params_add(const struct plan *plan, const struct plan_experiment *experiment,
                struct text *out);

#endif
