/* metrics: a run as text for Prometheus, in the text format 0.0.4 that node_exporter's textfile
 * collector reads (https://prometheus.io/docs/instrumenting/exposition_formats/).
 * docs/reference/metrics.md lists the metrics.
 *
 * A value that was not read has no sample; it is never 0. Readings of a slot are left out when they
 * are older than METRICS_FRESH_S, or the run has ended. A counter never goes down while a run's
 * folder stays: it adds what every attempt used when the attempt ends, so a retry or a repeated
 * experiment adds to it and takes nothing back. What a repeated experiment changes (how many
 * succeeded, how many are clean) is a gauge.
 *
 * A label's value is UTF-8 of at most METRICS_LABEL_BYTES bytes, with U+FFFD for invalid UTF-8 and
 * for characters that steer a terminal. */
#ifndef TARE_REPORT_METRICS_H
#define TARE_REPORT_METRICS_H

#include "base/text.h"
#include "results/store/live.h"

/* Bounds of what is written. MODELS: this many pairs of repository and model of a run, the first
 * ones of its plan, have labels of their own; all others are summed as repository="other",
 * model="other". CAUSES: the same for the causes of failures, as cause="other". */
enum { METRICS_MODELS = 50, METRICS_CAUSES = 16, METRICS_LABEL_BYTES = 255, METRICS_FRESH_S = 60 };

/* Adds the run's metrics. */
void metrics_textfile(const struct live_run *run, struct text *out);

#endif
