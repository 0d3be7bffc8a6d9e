/* bench_text: what a bench found, as a person reads it: each command, then one against another, then what speaks against
 * runs. */
#ifndef TARE_REPORT_BENCH_TEXT_H
#define TARE_REPORT_BENCH_TEXT_H

#include "results/judge/bench.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

struct bench_text_options {
    size_t width; /* columns at most; 0: as many as it takes */
    bool colour;
    bool warmed;     /* there were runs to warm up */
    bool clean_only, all_verdicts; /* which runs count; neither: all but contaminated ones */
    const struct bench_until_options *until; /* NULL: the number of runs was fixed */
    const char *program, *dir;
};

/* A Markdown table, a row for each command: time, energies where they are known, and the ratio of times with its interval. */
void bench_markdown(const struct bench *bench, struct text *out);

void bench_text(const struct bench *bench, const struct bench_text_options *options, struct text *out);

#endif
