/* bench: what the runs of a few commands, in blocks, say of each and of one against another. Read back from the
 * run's folder, so that it says what stats and compare say of it. */
#ifndef TARE_RESULTS_JUDGE_BENCH_H
#define TARE_RESULTS_JUDGE_BENCH_H

#include "base/text.h"
#include "results/judge/bench_until.h"
#include "results/judge/summary_stats.h"
#include "results/judge/comparison.h"

#include <jansson.h>

#define BENCH_QUANTITIES 4 /* duration_s, gpu_energy_j, gpu_power_w, cpu_energy_j */
extern const char *const bench_quantities[BENCH_QUANTITIES];

#define BENCH_USES 3 /* user_s, system_s, memory_peak_bytes */
extern const char *const bench_uses[BENCH_USES];

/* What the runs that count used of the host; not valid where it is not known of each of them. */
struct bench_use {
    struct reading mean, deviation, highest;
};

struct bench_command {
    const char *name;    /* its repository; borrowed from the options */
    const char *command; /* as typed; borrowed */
    const char *commit, *subject; /* it ran in this commit of a repository; borrowed, NULL: in none */
    const struct summary_stats_group *group; /* of those that count; NULL: it never ran */
    size_t planned, ran, failed, unverified, suspect, contaminated;
    struct reading gpu_half_width_j, cpu_half_width_j; /* of one run's read-out (95 %), mean of those that count */
    struct bench_use uses[BENCH_USES];
    bool compared;        /* else it is the one that the others are compared with, or too little is known */
    struct comparison comparison; /* of it (b) to that one (a) */
    struct bench_until_ratio sequences[BENCH_QUANTITIES]; /* the same ratios, valid after every block; where the bench was to go on until */
};

struct bench {
    struct dataset dataset;
    struct summary_stats figures;
    struct bench_command *commands;
    size_t count;
    size_t reference; /* index of the one that the others are compared with */
    bool until;       /* it was to go on until something was known */
    bool reached;     /* that is known, by the runs that count */
    size_t blocks;    /* made, whole or in part */
};

struct bench_options {
    const char *dir; /* the run's folder */
    const struct strv *names, *commands; /* in one order; the repositories, and what was typed */
    const struct strv *commits, *subjects; /* of each the commit in which it ran; empty: in none */
    const char *reference; /* a name, "first" or "fastest" */
    bool clean_only, all_verdicts; /* which verdicts count; neither: all but contaminated ones */
    uint64_t seed; /* of the intervals' bootstrap */
    const struct bench_until_options *until; /* NULL: the number of runs was fixed */
};

/* dir must stay there meanwhile, the options' texts until bench_fini. False: the folder cannot be read, or there
 * is no such reference. */
bool bench_read(const struct bench_options *options, struct bench *out, struct err *err);
void bench_fini(struct bench *bench);

/* Not known: NULL. */
const struct figure *bench_figure(const struct bench_command *command, const char *quantity);
const struct comparison_quantity *bench_ratio(const struct bench_command *command, const char *quantity);

/* One of bench_uses, of one run. */
struct reading bench_use_of(const struct dataset_experiment *experiment, size_t use);

/* Of one of its commands, not of a warm-up. */
bool bench_is_of(const struct bench *bench, const struct dataset_experiment *experiment);

/* What bench prints for programs. (bench_json.c) */

/* What the bench was asked for. */
struct bench_frame {
    const char *dir;
    uint64_t seed; /* of the order */
    int64_t runs, warmup;
    const char *verdicts; /* "usable" */
    const struct bench_until_options *until; /* NULL: the number of runs was fixed */
};

/* A new reference; docs/reference/measuring.md says what is in it. */
json_t *bench_json(const struct bench *bench, const struct bench_frame *frame);

/* A row for each quantity of each command. */
void bench_csv(const struct bench *bench, struct text *out);

#endif
