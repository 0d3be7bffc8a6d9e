/* metrics: runs as text for Prometheus, in OpenMetrics 1.0 (https://prometheus.io/docs/specs/om/open_metrics_spec/) or in the older text
 * format 0.0.4. docs/reference/metrics.md lists the metrics.
 *
 * What was not read has no sample; it is never 0. Readings of a slot are left out when they are older than METRICS_FRESH_S, or the run has
 * ended or died. A counter never goes down while a run's folder stays: it adds what every attempt used when the attempt ends, so a retry or
 * a repeated experiment adds to it and takes nothing back. What a repeated experiment changes (how many succeeded, how many are clean) is a
 * gauge.
 *
 * Whoever serves runs keeps one that has ended in them for some minutes, so that its last values are scraped, too.
 *
 * A label's value is UTF-8 of at most METRICS_LABEL_BYTES bytes, with U+FFFD for what is no character or steers a terminal. Two runs never
 * have the same label "run": it is the name of the run's folder, or the folder's path where several runs have that name. */
#ifndef TARE_REPORT_METRICS_H
#define TARE_REPORT_METRICS_H

#include "base/text.h"
#include "results/store/live.h"

#include <stdbool.h>
#include <stddef.h>

#define METRICS_CONTENT_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* Bounds of what is written. MODELS: so many pairs of repository and model of a run, the first ones of its plan, have labels of their own;
 * all others are summed as repository="other", model="other". CAUSES: the same of why experiments failed, as cause="other". */
enum { METRICS_RUNS = 100, METRICS_MODELS = 50, METRICS_CAUSES = 16, METRICS_LABEL_BYTES = 255, METRICS_FRESH_S = 60 };

/* Adds the first METRICS_RUNS runs as OpenMetrics, with "# EOF" at the end. False: runs behind these were left out. */
bool metrics_text(const struct live_run *const *runs, size_t count, struct text *out);

/* Adds one run in the text format 0.0.4, for node_exporter's textfile collector, which does not read OpenMetrics: a counter's TYPE line has
 * the name with "_total", and an info metric is a gauge. */
void metrics_textfile(const struct live_run *run, struct text *out);

#endif
