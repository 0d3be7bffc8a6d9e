/* words: finds the lines of a log's end that explain a failure. */
#ifndef TARE_RUN_LOG_WORDS_H
#define TARE_RUN_LOG_WORDS_H

#include "run/log/joblog.h"

void tail_add(struct tail *tail, const char *bytes, size_t count);
/* lines: of the stream. */
void tail_words(const struct tail *tail, uint64_t lines, struct joblog_words *out);

/* The exception of the last traceback, else the last line with an error, else the last with text.
 * Pure. */
void words_pick(const char *text, size_t length, struct joblog_words *out);

#endif
