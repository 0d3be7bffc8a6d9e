/* words: the line by which a job's output says what went wrong. */
#ifndef TARE_RUN_LOG_WORDS_H
#define TARE_RUN_LOG_WORDS_H

#include "run/log/joblog.h"

#include <stddef.h>

#define WORDS_TAIL (32u << 10)

/* The last bytes of a stream of any length. */
struct tail {
    size_t used, at; /* at: where the next byte goes */
    char bytes[WORDS_TAIL];
};

void tail_add(struct tail *tail, const char *bytes, size_t count);
void tail_words(const struct tail *tail, uint64_t lines, struct joblog_words *out); /* lines: of the whole stream */

/* Of the last lines of text: what ended the last Python traceback, else the last line that complains, else the last that
 * is not blank. The line's number is that in text. Pure. */
void words_pick(const char *text, size_t length, struct joblog_words *out);

#endif
