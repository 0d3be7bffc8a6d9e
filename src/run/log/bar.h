/* bar: reads progress bars of tqdm and its like from lines of a log. */
#ifndef TARE_RUN_LOG_BAR_H
#define TARE_RUN_LOG_BAR_H

#include "run/log/joblog.h"

/* One line (without its end), or what of it has arrived. False: there is no whole bar in it. */
bool bar_parse(const char *line, size_t length, struct bar *out);

void bars_take(struct bars *bars, const char *line, size_t length);

#endif
