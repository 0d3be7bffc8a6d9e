/* feasibility: which trainings fit on one GPU together: each model alone, every pair foretold, the pairs as they
 * really ran. Whoever runs them is above; this chooses, writes settings for both parts, reads what came of them and
 * judges it. */
#ifndef TARE_PAIRS_FEASIBILITY_H
#define TARE_PAIRS_FEASIBILITY_H

#include "base/reading.h"
#include "config/registry.h"
#include "config/settings.h"
#include "gpu/ledger.h"
#include "pairs/curve.h"
#include "pairs/predict.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Where a model's memory is known from: counted in its process to the byte; the driver's figure for its processes,
 * sampled; all that is in use on the device less what was before, sampled. */
enum pairs_source { SOURCE_COUNTED, SOURCE_JOB, SOURCE_DEVICE };
const char *pairs_source_name(enum pairs_source source); /* "counted" */

/* One model with its hyperparameters. */
struct pairs_model {
    char *repo, *model;
    char *name;          /* "mnist"; "examples/mnist" where another repository has one of that name, "mnist#2" where
                            the settings have it with other hyperparameters too */
    json_t *params;      /* as it is run: of its epochs only one */
    json_t *real_params; /* as it is run in earnest: without that one epoch */
    bool has_epochs;     /* the registry knows a hyperparameter that says how many: */
    char *epochs_name;   /* NULL: not known here */
    double full_epochs;  /* by the registry's default; 1 without such a hyperparameter */
    double timeout_s;
    char *governor;
    struct gpu_limit gpu_limit; /* as its settings say */
    bool track_gpu_memory;
    json_t *known; /* runs alone that were made before; NULL: none */
    /* Alone; seconds and joules are of one epoch (of the whole training where there is no such thing). */
    bool ran, succeeded;
    char *cause, *error; /* "out_of_memory" and in words; NULL: it succeeded, or never ran */
    char *proposal;      /* what to change then */
    struct memory_curve curve; /* of the run with the highest peak */
    enum pairs_source source;  /* of curve and peak */
    struct reading context_bytes; /* as counted */
    double hidden_bytes;          /* of the peak: what no sample showed, and its processes had by their own count */
    double peak_low;           /* of the lowest run */
    struct curve_shape shape;
    double margin_bytes;
    struct reading seconds, joules, utilisation_percent;
    struct reading total_bytes, available_bytes, before_bytes; /* of its GPU; before: in use by others */
};

struct pairs_outcome {
    bool ran;      /* to an end, whichever */
    bool started;  /* the foreground did, beside the background */
    bool finished; /* the foreground succeeded */
    bool out_of_memory; /* one of the two */
    bool background_failed; /* a loop of it beside the foreground, or it never ran */
    long long loops; /* of the background that succeeded */
    struct reading seconds, background_seconds; /* of an epoch, beside each other */
    struct reading slowdown, background_slowdown; /* against alone */
    struct reading joules, background_joules;   /* of an epoch beside each other: estimates */
    struct reading joules_ratio, background_joules_ratio; /* against alone */
    struct reading pair_joules, serial_joules;  /* of the pair, and of the same work one after the other */
    struct reading peak_bytes; /* of both, on the device */
    char *cause, *proposal; /* NULL: it worked */
};

struct pairs_pair {
    size_t foreground, background; /* of the models */
    json_t *entry; /* of the settings that asked for it, borrowed from their document; NULL: none did */
    struct pairs_prediction prediction;
    struct pairs_outcome outcome;
};

struct feasibility {
    struct pairs_model *models;
    size_t model_count;
    struct pairs_pair *pairs; /* once measured: the least risk first */
    size_t pair_count;
    struct pairs_room room; /* total 0: not known */
    double before_bytes;    /* of the GPU, in use by others than the study's trainings */
    struct pairs_timing timing;
};

/* The models and pairs of the settings; both must have been read without errors and outlive out. */
void feasibility_choose(const struct settings *settings, const struct registry *registry, struct feasibility *out);

/* Every pair of the models that ran alone: the longer one in front. After feasibility_take_alone. */
void feasibility_pair_all(struct feasibility *study);
void feasibility_fini(struct feasibility *study);

/* Settings for both parts. root: of the settings asked for. track: each model alone counts its GPU memory. New
 * references. */
json_t *feasibility_alone_settings(const struct feasibility *study, const json_t *root, int repeats, bool track);
json_t *feasibility_pair_settings(const struct feasibility *study, const json_t *root);

/* With the pairs that are recommended: stable or usable, and, where they ran, worked. */
json_t *feasibility_recommended(const struct feasibility *study, const json_t *root);

bool pairs_is_recommended(const struct pairs_pair *pair);

/* What results_read_json gave of the models alone, and the settings that were run (feasibility_alone_settings, now
 * or by an earlier session; NULL, NULL: none was). Gives all runs, known ones too, for feasibility_know of another
 * study; a new reference. */
json_t *feasibility_take_alone(struct feasibility *study, const json_t *results, const json_t *settings);

/* The known ones alone, in the same form; a new reference. */
json_t *feasibility_known(const struct feasibility *study);

/* Models that were measured before with the same hyperparameters and limit need not run (so often) again.
 * measured: what feasibility_take_alone gave; nothing in it is trusted. Gives how many models are known in whole. */
size_t feasibility_know(struct feasibility *study, const json_t *measured, int repeats);

/* The GPU is what the runs saw, or gpu_bytes where that is above 0; then foretells every pair and orders them. */
void feasibility_predict(struct feasibility *study, double gpu_bytes);

/* What it gave of the pairs, with the settings that were run: those of an earlier session may have another order. */
void feasibility_take_pairs(struct feasibility *study, const json_t *results, const json_t *settings);

/* The pair is run at all: both models ran alone. */
bool pairs_will_run(const struct feasibility *study, const struct pairs_pair *pair);

bool pairs_worked(const struct pairs_outcome *outcome); /* it ran, and nothing was amiss */

struct pairs_criterion {
    const char *what;
    bool known, met;
    char detail[100];
};

enum { PAIRS_CRITERIA = 6 };
void feasibility_criteria(const struct feasibility *study, struct pairs_criterion out[PAIRS_CRITERIA]);

/* "gpu_memory_limit" as settings have it; null: none. */
json_t *pairs_limit_json(const struct gpu_limit *limit);
bool pairs_same_limit(const struct gpu_limit *a, const struct gpu_limit *b);

/* feasibility.json and feasibility.csv. */
json_t *feasibility_json(const struct feasibility *study);
void feasibility_csv(const struct feasibility *study, struct text *out);

#endif
