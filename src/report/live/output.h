/* output: writes to a terminal without blocking, and keeps the rest for later. */
#ifndef TARE_REPORT_LIVE_OUTPUT_H
#define TARE_REPORT_LIVE_OUTPUT_H

#include "report/live/progress_private.h"

/* What cannot be written now is kept. */
void output_add(struct output *output, const char *bytes, size_t count);

/* Tries again to write what was kept. True: nothing is kept any more. */
bool output_push(struct output *output);

/* Waits at most this long until all is written, then frees. */
void output_fini(struct output *output, int timeout_ms);

#endif
