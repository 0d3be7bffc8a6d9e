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
#include <stdint.h>

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

/* Whether two trainings fit on one GPU together, from the curve of each alone. Pure. */

/* How the two lie against each other in time: the background is started first and runs alone for
 * lead_low_s to lead_high_s; when it has ended it begins anew after restart_s; beside each other
 * each goes at most slowdown_max times slower than alone. */
struct pairs_timing {
    double lead_low_s, lead_high_s, restart_s;
    double slowdown_max;
};

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

/* Where a model's memory is known from: counted in its process to the byte; the driver's figure for
 * its processes, sampled; all that is in use on the device less what was before, sampled. */
enum pairs_source { SOURCE_COUNTED, SOURCE_JOB, SOURCE_DEVICE };

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
    char *limit_text;           /* the same in words; NULL: none */
    enum setting_switch track_gpu_memory;
    json_t *known; /* a list of runs alone that were made before (result_alone); NULL: none */
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

/* How the energy is divided between the two. */
struct pairs_attribution {
    const char *by; /* "sm_share", "foreground_marginal"; NULL: neither was measured */
    bool possible;  /* less than half of the energy is nobody's, or the foreground's is separable */
    struct reading unattributed_share; /* by sm_share */
    /* by foreground_marginal; unknown: not separable */
    struct reading marginal_joules, half_width_j;
    struct reading low_j, high_j; /* its interval in any case */
};

struct pairs_evidence {
    char *kind, *weight, *text; /* NULL: unknown */
};

struct pairs_run {
    char *experiment; /* its id */
    enum verdict verdict;
    struct pairs_evidence *evidence;
    size_t evidence_count;
    struct reading seconds; /* of the foreground */
    double lead_s;          /* the background before it */
    struct reading overlap_s;
    size_t at_peaks;
    double together_bytes;
};

/* Evidence of one kind; what is only recorded is left out. */
struct pairs_kind {
    const char *kind, *text; /* of the first; may be empty */
    enum evidence_weight weight;
    size_t experiments;
    const struct pairs_run *last; /* of these */
};

/* Of all experiments of the pair; times, energies and slowdowns are those of a clean one, if there
 * is any, and of these the one with the most overlap. */
struct pairs_outcome {
    bool ran; /* to an end, whichever */
    enum pairs_result result;
    char *why;            /* not proven; NULL: it is another result */
    enum verdict verdict; /* the worst of them; of a proven pair clean */
    struct pairs_kind *kinds;
    size_t kind_count;
    struct pairs_run *runs;
    size_t experiments, clean; /* of runs; clean: their verdict */
    double overlap_s;          /* of clean ones: both were in their training phase */
    size_t at_peaks;           /* looks of these in which both were at their peaks, too */
    double together_bytes;     /* the highest sum in a look of these; 0: there is none */
    bool seen;                 /* who had how much of the GPU, in some experiment */
    /* the sum of both peaks alone, as the driver's samples show them */
    struct reading standalone_peaks;
    double measured_s; /* what all of them took, the time of the background alone, too */
    int without_gain;  /* rounds in a row that added no overlap */
    /* until the training phase, in the last that showed it */
    struct reading startup_s[OVERLAP_SIDES];
    double best_overlap_s; /* of the one whose figures these are */
    bool best_clean;
    struct pairs_attribution attribution;
    bool started;           /* the foreground did, beside the background */
    bool finished;          /* the foreground succeeded */
    bool out_of_memory;     /* one of the two */
    bool background_failed; /* a loop of it beside the foreground, or it never ran */
    size_t loops;           /* of the background that succeeded */
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

/* How many pairs came to each result. */
struct pairs_counts {
    size_t of[PAIRS_PROVEN + 1], recommended;
};

enum { PAIRS_CRITERIA = 7 };

#endif
