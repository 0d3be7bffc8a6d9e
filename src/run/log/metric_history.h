/* metric_history: keeps the matches of metrics in bounded memory, evenly thinned. */
#ifndef TARE_RUN_LOG_METRIC_HISTORY_H
#define TARE_RUN_LOG_METRIC_HISTORY_H

#include "run/log/joblog.h"

/* metrics: of the attempt. */
void metric_history_init(struct metric_history *history, size_t metrics);
void metric_history_fini(struct metric_history *history);
void metric_history_clear(struct metric_history *history);

/* Requires step. */
void metric_history_add(struct metric_history *history, struct metric_point point);

void metric_epoch_update(struct metric_epoch *epoch, const struct mark *mark);

#endif
