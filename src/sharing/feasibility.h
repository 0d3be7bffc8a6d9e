/* feasibility: which trainings fit on one GPU together: each model alone, every pair predicted, the
 * pairs as they really ran. Whoever runs them is above; this chooses, writes settings for both
 * parts, reads what came of them and judges it. */
#ifndef TARE_SHARING_FEASIBILITY_H
#define TARE_SHARING_FEASIBILITY_H

#include "base/reading.h"
#include "machine/gpu/ledger.h"
#include "measure/guard/evidence.h"
#include "measure/memory_curve.h"
#include "plan/config/registry.h"
#include "plan/config/settings.h"
#include "sharing/forecast.h"
#include "sharing/limits.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* The memory of one training alone, as the run kept it: its shape, and how much may hide between
 * two looks. Pure. */

/* Bytes but startup_s. */
struct curve_shape {
    struct reading peak;
    struct reading steady; /* the median of what was read from then on: */
    /* when nine tenths of the median of the second half were first reached */
    struct reading startup_s;
    /* the first reading above 0, where that lies below the steady state: the context has no more
     * than that */
    struct reading context;
    /* the median step between neighbouring readings after the start-up: so much comes and goes
     * within a look */
    struct reading ripple;
};

/* What memory_curve_json wrote. False: null, or no such thing. */
bool curve_from_json(const json_t *json, struct memory_curve *out);

void curve_shape(const struct memory_curve *curve, struct curve_shape *out);

/* Puts what the run counted (memory.gpus[].counted) over what the driver told: as high as either at
 * any time, and its peak as high as counted. False: it was not counted to the byte, the curve
 * stays. */
bool curve_count(const json_t *counted, struct memory_curve *curve);

/* Each point is so much higher, as far as the peak. */
void curve_raise(struct memory_curve *curve, double bytes);

/* Each point that was not read becomes the larger of its neighbours that were, so that nothing is
 * missed. */
void curve_fill(struct memory_curve *curve);

/* For how long two trainings trained at the same time, from looks at what each had of the GPU.
 * Pure.
 *
 * A training is in its training phase in a look in which it has nine tenths of its steady memory
 * alone or more, and computes: it has a quarter of the share of the multiprocessors that it can
 * expect, or more. Two that have more than 100 % together when each is alone can expect less, in
 * proportion. One look without load between two with it is forgiven: a training waits for its data
 * now and then. It is at its peak where it has nine tenths of its highest memory alone. */

enum { FOREGROUND, BACKGROUND, OVERLAP_SIDES };

/* One look, t_s after the foreground's start (negative: before it). */
struct overlap_look {
    double t_s;
    double bytes[OVERLAP_SIDES];
    struct reading percent[OVERLAP_SIDES]; /* of the multiprocessors' time */
};

/* What one of the two had alone, as the same looks show it; steady 0: not known. */
struct overlap_alone {
    double steady_bytes, peak_bytes;
    struct reading percent; /* mean at its peak */
};

struct overlap {
    /* both were in their training phase; a look stands for half the way to its neighbours */
    double seconds;
    size_t looks;                          /* in which both were */
    size_t at_peaks;                       /* in which both were at their peaks, too */
    double together_bytes;                 /* the highest sum in one of looks; 0: there is none */
    struct reading first_s[OVERLAP_SIDES]; /* when each was first in its training phase */
};

void overlap_measure(const struct overlap_look *looks, size_t count,
                     const struct overlap_alone alone[OVERLAP_SIDES], struct overlap *out);

/* The looks of tare.parallel, which are not trusted; NULL: there are none. The caller frees
 * them. */
struct overlap_look *overlap_looks_from_json(const json_t *json, size_t *count);

/* When the foreground is to start after the background, so that both training phases begin
 * together: startup_s of each, period_s from one start of the background to the next. Never below
 * 0: then it is a later start of the background. */
double overlap_start_after(const double startup_s[OVERLAP_SIDES], double period_s);

/* Whether two trainings fit on one GPU together, from the curve of each alone. Pure. */

/* How the two lie against each other in time: the background is started first and runs alone for
 * lead_low_s to lead_high_s; when it has ended it begins anew after restart_s; beside each other
 * each goes at most slowdown_max times slower than alone. */
struct pairs_timing {
    double lead_low_s, lead_high_s, restart_s;
    double slowdown_max;
};

/* The highest sum of both at any moment that this timing allows; never above the sum of the
 * peaks. */
double pairs_aligned_peak(const struct memory_curve *foreground,
                          const struct memory_curve *background, const struct pairs_timing *timing);

struct pairs_room {
    double total_bytes;     /* of the GPU */
    double available_bytes; /* of these, what the empty GPU leaves */
};

struct pairs_prediction {
    bool known;                      /* both were measured; else nothing else counts */
    double safe_bytes;               /* the sum of the peaks, each with its CUDA context */
    double aligned_bytes;            /* pairs_aligned_peak */
    double margin_bytes;             /* both margins */
    enum pairs_tier tier, size_tier; /* of safe_bytes: by the share of the GPU, by the study's MB */
    enum pairs_risk risk, size_risk;
    bool fits; /* aligned_bytes and the margin are available */
};

/* By the safe bound alone, which needs no course of time: risk is RISK_STABLE or RISK_HIGH,
 * aligned_bytes is the bound. */
void pairs_bound(const struct memory_curve *foreground, double foreground_margin,
                 const struct memory_curve *background, double background_margin,
                 const struct pairs_room *room, struct pairs_prediction *out);

/* Margins: of each alone (pairs_margin). */
void pairs_predict(const struct memory_curve *foreground, double foreground_margin,
                   const struct memory_curve *background, double background_margin,
                   const struct pairs_timing *timing, const struct pairs_room *room,
                   struct pairs_prediction *out);

/* What the peak of one training may be off: how far the peaks of its runs lie apart, or what comes
 * and goes between two looks, whichever is more, and no less than a hundredth of the peak and 16
 * MiB. 0 for one that has no memory. */
double pairs_margin(double peak_low, double peak_high, double ripple);

/* Where a model's memory is known from: counted in its process to the byte; the driver's figure for
 * its processes, sampled; all that is in use on the device less what was before, sampled. */
enum pairs_source { SOURCE_COUNTED, SOURCE_JOB, SOURCE_DEVICE };
const char *pairs_source_name(enum pairs_source source); /* "counted" */

/* One model with its hyperparameters. */
struct pairs_model {
    char *repo, *model;
    /* "mnist"; "examples/mnist" where another repository has one of that name, "mnist#2" where the
     * settings have it with other hyperparameters too */
    char *name;
    json_t *params;      /* as it is run: of its epochs only one */
    json_t *real_params; /* as it is run in earnest: without that one epoch */
    bool has_epochs;     /* the registry knows a hyperparameter that says how many: */
    char *epochs_name;   /* NULL: not known here */
    double full_epochs;  /* by the registry's default; 1 without such a hyperparameter */
    double timeout_s;
    char *governor;
    struct gpu_limit gpu_limit; /* as its settings say */
    enum setting_switch track_gpu_memory;
    json_t *known; /* runs alone that were made before; NULL: none */
    /* Alone; seconds and joules are of one epoch (of the whole training where there is no such
     * thing). */
    bool ran, succeeded;
    char *cause, *error;       /* "out_of_memory" and in words; NULL: it succeeded, or never ran */
    char *proposal;            /* what to change then */
    struct memory_curve curve; /* of the run with the highest peak */
    enum pairs_source source;  /* of curve and peak */
    struct reading context_bytes; /* as counted */
    /* of the peak: what no sample showed, and its processes had by their own count */
    double hidden_bytes;
    double peak_low; /* of the lowest run */
    struct curve_shape shape;
    double margin_bytes;
    /* by the driver's samples of its processes, as those of a pair are */
    struct overlap_alone seen;
    struct reading seconds, joules, utilisation_percent;
    /* of its GPU; before: in use by others */
    struct reading total_bytes, available_bytes, before_bytes;
};

/* What is known of a pair once it ran. */
enum pairs_result {
    PAIRS_NOT_RUN,
    PAIRS_FAILED,     /* out of memory, or one of the two failed otherwise */
    PAIRS_NOT_PROVEN, /* nothing failed, but it did not show that the two go together */
    /* both trained at the same time, at their peaks, for long enough, on a clean machine */
    PAIRS_PROVEN
};
const char *pairs_result_name(enum pairs_result result); /* "not proven" */

/* How the energy is divided between the two. */
struct pairs_attribution {
    const char *by; /* "sm_share", "foreground_marginal"; NULL: neither was measured */
    bool possible;  /* less than half of the energy is nobody's, or the foreground's is separable */
    struct reading unattributed_share; /* by sm_share */
    /* by foreground_marginal; unknown: not separable */
    struct reading marginal_joules, half_width_j;
    struct reading low_j, high_j; /* its interval in any case */
};

/* Of all experiments of the pair; times, energies and slowdowns are those of a clean one, if there
 * is any, and of these the one with the most overlap. */
struct pairs_outcome {
    bool ran; /* to an end, whichever */
    enum pairs_result result;
    char *why;                 /* not proven; NULL: it is another result */
    size_t experiments, clean; /* clean: their verdict */
    enum verdict verdict;      /* the worst of them; of a proven pair clean */
    /* each experiment: {"experiment", "verdict", "evidence", "seconds", "overlap_s", ...} */
    json_t *runs;
    double overlap_s;      /* of clean ones: both were in their training phase */
    size_t at_peaks;       /* looks of these in which both were at their peaks, too */
    double together_bytes; /* the highest sum in a look of these; 0: there is none */
    bool seen;             /* who had how much of the GPU, in some experiment */
    double measured_s;     /* what all of them took, the time of the background alone, too */
    int without_gain;      /* rounds in a row that added no overlap */
    /* until the training phase, in the last that showed it */
    struct reading startup_s[OVERLAP_SIDES];
    double best_overlap_s; /* of the one whose figures these are */
    bool best_clean;
    struct pairs_attribution attribution;
    bool started;           /* the foreground did, beside the background */
    bool finished;          /* the foreground succeeded */
    bool out_of_memory;     /* one of the two */
    bool background_failed; /* a loop of it beside the foreground, or it never ran */
    long long loops;        /* of the background that succeeded */
    size_t metrics;         /* of the foreground, at most in one experiment */
    struct reading seconds, background_seconds;   /* of an epoch, beside each other */
    struct reading slowdown, background_slowdown; /* against alone */
    /* of an epoch beside each other: estimates; not valid: not possible */
    struct reading joules, background_joules;
    struct reading joules_ratio, background_joules_ratio; /* against alone */
    /* of the pair, and of the same work one after the other */
    struct reading pair_joules, serial_joules;
    struct reading peak_bytes; /* of both, on the device */
    char *cause, *proposal;    /* NULL: it worked */
};

struct pairs_pair {
    size_t foreground, background; /* of the models */
    /* of the settings that asked for it, borrowed from their document; NULL: none did */
    json_t *entry;
    double expected_s; /* by that entry; 0: it says nothing */
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
    double hold_s;    /* of the settings: so long a background's load must hold */
    double overlap_s; /* asked for: so long both must be seen training at the same time */
    /* the experiments of a pair take so long at most; its first runs in any case */
    double pair_s;
    struct forecast forecast; /* as it was when the study began */
};

enum { PAIRS_OVERLAP_S = 10, PAIRS_PAIR_S = 600 }; /* where nothing else is asked for */

/* Entries with several points or seeds are errors: one training of each model is measured. */
void feasibility_check(const struct settings *settings, struct problems *problems);

/* The models and pairs of the settings; both must have been read without errors and outlive out. */
void feasibility_choose(const struct settings *settings, const struct registry *registry,
                        struct feasibility *out);

/* Every pair of the models that ran alone: the longer one in front. After
 * feasibility_take_alone. */
void feasibility_pair_all(struct feasibility *study);
void feasibility_fini(struct feasibility *study);

/* Settings for both parts. root: of the settings asked for. track: each model alone counts its GPU
 * memory. New references. */
json_t *feasibility_alone_settings(const struct feasibility *study, const json_t *root, int repeats,
                                   bool track);
json_t *feasibility_pair_settings(const struct feasibility *study, const json_t *root);

/* Pairs without a result, to be run again, as often as it takes by what they showed until now;
 * NULL: there is none, or its time is over, or more of it would not help. A new reference. */
json_t *feasibility_again_settings(const struct feasibility *study, const json_t *root);

/* With the pairs that are recommended: stable or usable, and proven. */
json_t *feasibility_recommended(const struct feasibility *study, const json_t *root);

bool pairs_is_recommended(const struct pairs_pair *pair);

/* What results_read_json gave of the models alone, and the settings that were run
 * (feasibility_alone_settings, now or by an earlier session; NULL, NULL: none was). Gives all runs,
 * known ones too, for feasibility_know of another study; a new reference. */
json_t *feasibility_take_alone(struct feasibility *study, const json_t *results,
                               const json_t *settings);

/* The known ones alone, in the same form; a new reference. */
json_t *feasibility_known(const struct feasibility *study);

/* Models that were measured before with the same hyperparameters and limit need not run (so often)
 * again. measured: what feasibility_take_alone gave; nothing in it is trusted. Gives how many
 * models are known in whole. */
size_t feasibility_know(struct feasibility *study, const json_t *measured, int repeats);

/* The GPU is what the runs saw, or gpu_bytes where that is above 0; then foretells every pair and
 * orders them. */
void feasibility_predict(struct feasibility *study, double gpu_bytes);

/* What it gave of the pairs, with the settings that were run: those of an earlier session may have
 * another order. Adds to what earlier rounds gave. */
void feasibility_take_pairs(struct feasibility *study, const json_t *results,
                            const json_t *settings);

/* The pair is run at all: both models ran alone. */
bool pairs_will_run(const struct feasibility *study, const struct pairs_pair *pair);

/* It ran, and nothing failed: no proof that the two go together. */
bool pairs_worked(const struct pairs_outcome *outcome);
void pairs_outcome_fini(struct pairs_outcome *outcome);

/* The sum of both peaks alone, as the driver's samples show them; not valid: one of the two is not
 * known. */
struct reading pairs_peaks_alone(const struct feasibility *study, const struct pairs_pair *pair);

/* How many pairs came to each result. */
struct pairs_counts {
    size_t of[PAIRS_PROVEN + 1], recommended;
};
struct pairs_counts feasibility_counts(const struct feasibility *study);

/* For each kind of evidence against the pair's experiments, what is only recorded left out:
 * {"kind", "weight", "text" (of the first), "experiments"}. A new reference. */
json_t *pairs_evidence(const struct pairs_outcome *outcome);

struct pairs_criterion {
    const char *what;
    bool known, met;
    char detail[100];
};

enum { PAIRS_CRITERIA = 7 };
void feasibility_criteria(const struct feasibility *study,
                          struct pairs_criterion out[PAIRS_CRITERIA]);

/* The study's own, of all its pairs; the exit code does not depend on them. */
enum { LIMITS_CRITERIA = 4 };
void limits_criteria(const struct feasibility *study, struct pairs_criterion out[LIMITS_CRITERIA]);

/* An entry of settings: one model (back: NULL), or two in parallel; real: as they are run in
 * earnest. A new reference. */
json_t *pairs_entry(const struct pairs_model *fore, const struct pairs_model *back, bool real);

/* "gpu_memory_limit" as settings have it; null: none. */
json_t *pairs_limit_json(const struct gpu_limit *limit);
bool pairs_same_limit(const struct gpu_limit *a, const struct gpu_limit *b);

/* feasibility.json and feasibility.csv. */
json_t *feasibility_json(const struct feasibility *study);
void feasibility_csv(const struct feasibility *study, struct text *out);

/* Runs of models alone, as one study keeps them for another. Private to sharing/. */

/* A block with "repo", "model", "hyperparameters" and "gpu_memory_limit" (null and absent are the
 * same), of one epoch, means that model. */
bool known_is_of(const json_t *block, const struct pairs_model *model);

#endif
