/* log_tail: the end of a training's log, fit to be shown. */
#ifndef TARE_REPORT_WATCH_LOG_TAIL_H
#define TARE_REPORT_WATCH_LOG_TAIL_H

#include "report/watch/view.h"

/* Reads the last lines of an experiment's log, where it has changed since. dir: the run's folder,
 * open. No link is followed; controls, escape sequences and bytes that are no UTF-8 are taken
 * out. */
void watch_log_read(int dir, const char *id, struct watch_log *log);
void watch_log_fini(struct watch_log *log);

#endif
