/* output: lines for a person or a program that never hold up the run: a stopped terminal or a slow reader is waited
 * for at the end only. */
#ifndef TARE_REPORT_LIVE_OUTPUT_H
#define TARE_REPORT_LIVE_OUTPUT_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

struct output {
    int fd; /* stays the caller's */
    struct text waiting;
    size_t sent;  /* of what waits */
    int broken;   /* errno: it cannot be written (EPIPE: the reader is gone), and nothing more is; 0: it can */
};

/* What cannot be written now is kept. */
void output_add(struct output *output, const char *bytes, size_t count);

/* Tries again to write what was kept. True: nothing is kept any more. */
bool output_push(struct output *output);

/* Waits at most this long until all is written, then frees. */
void output_fini(struct output *output, int timeout_ms);

#endif
