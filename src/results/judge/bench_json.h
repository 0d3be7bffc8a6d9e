/* bench_json: what bench prints for programs. */
#ifndef TARE_RESULTS_JUDGE_BENCH_JSON_H
#define TARE_RESULTS_JUDGE_BENCH_JSON_H

#include "results/judge/bench.h"
#include "base/text.h"

#include <jansson.h>

/* What the bench was asked for. */
struct bench_frame {
    const char *dir;
    uint64_t seed; /* of the order */
    int64_t runs, warmup;
    const char *verdicts; /* "usable" */
    const struct bench_until_options *until; /* NULL: the number of runs was fixed */
};

/* A new reference; docs/bench.md says what is in it. */
json_t *bench_json(const struct bench *bench, const struct bench_frame *frame);

/* A row for each quantity of each command. */
void bench_csv(const struct bench *bench, struct text *out);

#endif
