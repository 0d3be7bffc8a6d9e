/* query: asks a program a question and waits, at most so long, for its answer. Without a shell. */
#ifndef TARE_BASE_QUERY_H
#define TARE_BASE_QUERY_H

#include "base/strv.h"
#include "base/text.h"

#include <stdbool.h>

/* argv[0] is an absolute path. Its stdin is /dev/null; env is the whole environment. out takes its stdout up to limit
 * bytes; with_errors: and its stderr, which is /dev/null otherwise, in the order in which they come. True when it
 * exited 0 in time; else it is dead when this returns. status (may be NULL) as waitpid gives it, -1: it did not start,
 * was ended because its time was over, or wrote more than limit. */
bool query_program(const struct strv *argv, const struct strv *env, size_t limit, double timeout_s, bool with_errors,
                   struct text *out, int *status);

#endif
