/* bench_until: when a bench has seen enough: after each block, by confidence sequences of the logarithms of the ratios
 * (stats/sequence.h). What is said of one quantity holds for all of its pairs of commands and all checks together with 95 %. */
#ifndef TARE_RESULTS_JUDGE_BENCH_UNTIL_H
#define TARE_RESULTS_JUDGE_BENCH_UNTIL_H

#include "stats/sequence.h"

#include <stdint.h>

/* Either or both; both: what comes first. Neither: never enough. */
struct bench_until_options {
    double share; /* until each ratio is known to ± this share of it: 0.01; 0: not asked for */
    bool decided; /* until it is known of each ratio on which side of 1 it is */
    size_t quantity; /* whose ratios: of bench_quantities (results/judge/bench.h); 0: time */
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

#endif
