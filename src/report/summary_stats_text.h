/* summary_stats_text: the figures of a dataset as a person reads them. */
#ifndef TARE_REPORT_SUMMARY_STATS_TEXT_H
#define TARE_REPORT_SUMMARY_STATS_TEXT_H

#include "base/text.h"
#include "report/audit_text.h"
#include "results/judge/bench.h"
#include "results/judge/comparison.h"
#include "results/judge/summary_stats.h"

#include <stdbool.h>
#include <stddef.h>

struct summary_stats_text_options {
    size_t width; /* columns at most; 0: as many as it takes */
    bool colour;
    double precision;     /* what repeats are counted for */
    enum audit_rows rows; /* that count */
};

void summary_stats_text(const struct dataset *dataset, const struct summary_stats *figures,
                        const struct summary_stats_text_options *options, struct text *out);

/* Hyperparameters whose names differ by case alone: what became of them. */
void summary_stats_text_spellings(const struct dataset *dataset, struct text *out);

/* To so many significant digits: "200", "0.512". The caller frees it. */
char *summary_stats_text_number(double value, int count);

/* "200 (198 to 203)"; without an interval "200". The caller frees it. */
char *summary_stats_text_interval(double value, const struct stats_interval *interval);

/* A p value, which is over 0: "0.032", "< 1e-15". The caller frees it. */
char *summary_stats_text_p(double p);

/* What a bench found, as a person reads it: each command, then one against another, then what
 * speaks against runs. (bench_text.c) */

struct bench_text_options {
    size_t width; /* columns at most; 0: as many as it takes */
    bool colour;
    bool warmed;                             /* there were runs to warm up */
    enum audit_rows rows;                    /* that count */
    const struct bench_until_options *until; /* NULL: the number of runs was fixed */
    const char *program, *dir;
};

/* The energies beside an outside meter's, for people. (audit_text.c) */

#endif
