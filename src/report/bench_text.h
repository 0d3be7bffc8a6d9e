/* bench_text: prints the result of tare bench as text. */
#ifndef TARE_REPORT_BENCH_TEXT_H
#define TARE_REPORT_BENCH_TEXT_H

#include "report/summary_stats_text.h"

/* A Markdown table, a row for each command: time, energies where they are known, and the ratio of
 * times with its interval. */
void bench_markdown(const struct bench *bench, struct text *out);

void bench_text(const struct bench *bench, const struct bench_text_options *options,
                struct text *out);

#endif
