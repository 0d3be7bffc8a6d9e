/* result: one experiment of a study, as results_read_json gives it. result.c alone knows its keys.
 * Texts and JSON in it point into the JSON that was read. Private to sharing/. */
#ifndef TARE_SHARING_RESULT_H
#define TARE_SHARING_RESULT_H

#include "base/record.h"
#include "sharing/feasibility.h"

#include <jansson.h>
#include <stdbool.h>

enum result_outcome { RESULT_OTHER, RESULT_SUCCEEDED, RESULT_FAILED };

/* A GPU's memory during the last attempt; counted: by its own processes (memory_counted_json). */
struct result_gpu {
    const char *of; /* "job", or "device" */
    struct reading total_bytes, before_bytes, reserved_bytes, load_at_peak_percent;
    struct reading curve_peak_bytes;
    struct reading counted_peak_bytes, held_peak_bytes, sum_peak_bytes, context_bytes;
    const json_t *curve, *counted_curve;
};

struct result_remedy {
    const char *name, *what;
};

/* A check of the guard: memory in use on the first GPU. */
struct result_check {
    const char *phase;
    struct reading memory_bytes;
};

struct result_loop {
    enum result_outcome outcome;
    const char *error;
    struct reading start_s, duration_s; /* since the foreground's start */
};

struct result {
    const char *experiment;
    enum result_outcome outcome;
    enum verdict verdict; /* VERDICTS: unknown */
    struct pairs_evidence *evidence;
    size_t evidence_count;
    struct result_check *checks;
    size_t check_count;
    const char *cause;                                      /* of its failure */
    struct reading joules, peak_bytes, utilisation_percent; /* of its GPUs */
    const json_t *metrics;                                  /* of the foreground */
    /* Of the last attempt: */
    struct reading seconds;
    const char *error;
    struct result_gpu *gpus;
    size_t gpu_count;
    const json_t *oom; /* of the foreground; NULL: its memory sufficed */
    const char *reason;
    struct result_remedy *remedies;
    size_t remedy_count;
    /* In parallel: */
    struct result_loop *loops; /* in order */
    size_t loop_count;
    size_t succeeded, failed; /* loops */
    double alone_s;
    const json_t *looks;                                          /* overlap_looks_from_json */
    struct reading foreground_mj, background_mj, unattributed_mj; /* by sm_share */
    /* by foreground_marginal; low and high only in records of newer versions */
    struct reading marginal_j, half_width_j, low_j, high_j;
};

extern const struct record_field pairs_evidence_fields[];

/* Nothing is trusted: what is missing or wrong is absent. */
void result_read(const json_t *experiment, struct result *out);
void result_fini(struct result *result);

/* The remedy of that name in words; NULL: none. */
const char *result_remedy(const struct result *result, const char *name);

/* Of a run of one model alone, what is read here; a new reference. */
json_t *result_alone(const json_t *experiment);

const char *result_error(const struct result *result);

/* Verdict, evidence and overlap of one experiment of the pair, whose other figures are in out;
 * takes the evidence. */
void proof_take(const struct feasibility *study, const struct pairs_pair *pair,
                struct result *result, struct pairs_outcome *out);

/* Takes one. */
void proof_add(struct pairs_outcome *total, struct pairs_outcome *one);

/* What all that was added comes to: result and why. */
void proof_judge(const struct feasibility *study, struct pairs_pair *pair);

/* When the foreground is to start after the background, for both to train at the same time; false:
 * how long their start-ups take is not known. */
bool proof_start_after(const struct feasibility *study, const struct pairs_pair *pair, double *out);

/* So it is started, and not when the background's load has held: that loads the GPU for too short a
 * time, or it has been tried. */
bool proof_is_aligned(const struct feasibility *study, const struct pairs_pair *pair);

/* How many more experiments of the pair are worth their time. */
int proof_again(const struct feasibility *study, const struct pairs_pair *pair);

#endif
