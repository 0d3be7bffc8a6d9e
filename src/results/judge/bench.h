/* bench: what the runs of a few commands, in blocks, say of each and of one against another; and
 * when they are enough. */
#ifndef TARE_RESULTS_JUDGE_BENCH_H
#define TARE_RESULTS_JUDGE_BENCH_H

#include "base/text.h"
#include "results/judge/comparison.h"
#include "results/judge/summary_stats.h"
#include "stats/sequence.h"

#include <jansson.h>
#include <stdint.h>

/* Either or both; both: what comes first. Neither: never enough. */
struct bench_until_options {
    double share;    /* until each ratio is known to ± this share of it: 0.01; 0: not asked for */
    bool decided;    /* until it is known of each ratio on which side of 1 it is */
    size_t quantity; /* whose ratios: of bench_quantities; 0: time */
};

/* The reference that is found only as the bench goes on: any two commands are then a pair. */
#define BENCH_UNTIL_FASTEST SIZE_MAX

struct bench_until {
    size_t commands, reference;   /* BENCH_UNTIL_FASTEST, or its index */
    struct stats_sequence *pairs; /* of i < j at i * commands + j: ln(j / i) */
    double *log_sums;             /* of each command, over the blocks in which all have a value */
    size_t blocks;
};

/* What is known of a ratio. */
struct bench_until_ratio {
    size_t blocks; /* that both commands have a value in; 0: nothing is known */
    double ratio, low, high;
    bool has_low, has_high; /* false: nothing bounds it on that side yet */
    int sign;               /* 1: over 1, -1: under 1, 0: open */
};

void bench_until_init(struct bench_until *until, size_t commands, size_t reference);
void bench_until_fini(struct bench_until *until);

/* One block: a value for each command, over 0; NAN or other: none that counts. */
void bench_until_block(struct bench_until *until, const double *values);

/* Of command b to command a; two of them. */
struct bench_until_ratio bench_until_ratio(const struct bench_until *until, size_t a, size_t b);

/* Its sign alone; of commands that are no pair, 0. */
int bench_until_sign(const struct bench_until *until, size_t a, size_t b);

/* Whether all that was asked for is known, of every command against the reference. */
bool bench_until_enough(const struct bench_until *until, const struct bench_until_options *options);

#define BENCH_QUANTITIES 4 /* duration_s, gpu_energy_j, gpu_power_w, cpu_energy_j */
extern const char *const bench_quantities[BENCH_QUANTITIES];

#define BENCH_USES 3 /* user_s, system_s, memory_peak_bytes */
extern const char *const bench_uses[BENCH_USES];

/* What the runs that count used of the host; not valid where it is not known of each of them. */
struct bench_use {
    struct reading mean, deviation, highest;
};

struct bench_command {
    const char *name;                        /* its repository; borrowed from the options */
    const char *command;                     /* as typed; borrowed */
    const struct summary_stats_group *group; /* of those that count; NULL: it never ran */
    size_t planned, ran, failed, unverified, suspect, contaminated;
    /* of one run's read-out (95 %), mean of those that count */
    struct reading gpu_half_width_j, cpu_half_width_j;
    struct bench_use uses[BENCH_USES];
    /* else it is the one that the others are compared with, or too little is known */
    bool compared;
    struct comparison comparison; /* of it (b) to that one (a) */
    /* the same ratios, valid after every block; where the bench was to go on until */
    struct bench_until_ratio sequences[BENCH_QUANTITIES];
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
    const char *dir;                     /* the run's folder */
    const struct strv *names, *commands; /* in one order; the repositories, and what was typed */
    const char *reference;               /* a name, "first" or "fastest" */
    enum audit_rows rows;                /* that count */
    uint64_t seed;                       /* of the intervals' bootstrap */
    const struct bench_until_options *until; /* NULL: the number of runs was fixed */
};

/* dir must stay there meanwhile, the options' texts until bench_fini. False: the folder cannot be
 * read, or there is no such reference. */
bool bench_read(const struct bench_options *options, struct bench *out, struct err *err);
void bench_fini(struct bench *bench);

/* Not known: NULL. */
const struct figure *bench_figure(const struct bench_command *command, const char *quantity);
const struct comparison_quantity *bench_ratio(const struct bench_command *command,
                                              const char *quantity);

/* One of bench_uses, of one run. */
struct reading bench_use_of(const struct dataset_experiment *experiment, size_t use);

/* Of one of its commands, not of a warm-up. */
bool bench_is_of(const struct bench *bench, const struct dataset_experiment *experiment);

/* What the bench was asked for. */
struct bench_frame {
    const char *dir;
    uint64_t seed; /* of the order */
    int64_t runs, warmup;
    const char *verdicts;                    /* "usable" */
    const struct bench_until_options *until; /* NULL: the number of runs was fixed */
};

/* A new reference; docs/reference/measuring.md says what is in it. */
json_t *bench_json(const struct bench *bench, const struct bench_frame *frame);

/* A row for each quantity of each command. */
void bench_csv(const struct bench *bench, struct text *out);

#endif
