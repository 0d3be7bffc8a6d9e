/* bar: reads progress bars of tqdm and its like from lines of a log. */
#ifndef TARE_RUN_LOG_BAR_H
#define TARE_RUN_LOG_BAR_H

#include "run/log/joblog.h"

/* An unfinished line, too. False: no whole bar. */
bool bar_parse(const char *line, size_t length, struct bar *out);

void bars_update(struct bars *bars, const char *line, size_t length);

#endif
