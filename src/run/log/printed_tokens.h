/* printed_tokens: splits a printed line into words, numbers and signs. */
#ifndef TARE_RUN_LOG_PRINTED_TOKENS_H
#define TARE_RUN_LOG_PRINTED_TOKENS_H

#include "run/log/printed_private.h"

void printed_tokens_make(struct printed_line *line, const char *bytes, size_t length);

/* NUL: not a single mark, or outside the line. */
char printed_mark(const struct printed_line *line, size_t token);

#endif
