/* schedule: chooses which measured models run in pairs and which alone, to save hours without risk.
 * Pure. */
#ifndef TARE_SHARING_SCHEDULE_H
#define TARE_SHARING_SCHEDULE_H

#include "base/err.h"
#include "sharing/feasibility.h"

#include <stddef.h>
#include <stdint.h>

/* Adds what feasibility_json wrote to study (zeroed, or with what was added before); a model that
 * is there already no longer counts as one that succeeded. False: it is no such thing. */
bool schedule_read(struct feasibility *study, const json_t *json, struct err *err);

struct schedule_step {
    /* of the study's models; the same: alone. The longer one is in front */
    size_t foreground, background;
    double seconds; /* until the longer one is done */
    double saved_s; /* against one after the other */
    double slowdown, background_slowdown;
    bool measured;                      /* the slowdowns; else they are assumed */
    struct pairs_prediction prediction; /* of a pair */
};

enum { SCHEDULE_UNPROVEN = 10 };

struct schedule {
    struct schedule_step *steps; /* pairs first, the longest in front */
    size_t count;
    double seconds, alone_seconds; /* of all; of all one after the other */
    size_t pairs, measured;        /* of the steps; of the pairs, with measured slowdowns */
    /* the first that would fit and save time, but are not proven */
    struct schedule_step unproven[SCHEDULE_UNPROVEN];
    size_t unproven_shown, unproven_count;
};

enum { SCHEDULE_MODELS_MAX = 1000 };

/* Pairs the models with use[i], at most SCHEDULE_MODELS_MAX: the longest one left with the proven
 * partner that saves most time. assumed: the slowdown where utilisations are unknown, too. */
void schedule_make(const struct feasibility *study, const bool *use, double gpu_bytes,
                   double assumed, struct schedule *out);
void schedule_fini(struct schedule *schedule);

/* A training in earnest: its epochs as often as the registry says. */
double schedule_seconds(const struct pairs_model *model);

/* A new reference. */
json_t *schedule_settings(const struct feasibility *study, const struct schedule *schedule);

#endif
