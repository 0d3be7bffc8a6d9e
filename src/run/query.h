/* query: asks a program a question and waits, at most so long, for its first bytes of answer. Without a shell.
 * Private to run/. */
#ifndef TARE_RUN_QUERY_H
#define TARE_RUN_QUERY_H

#include "base/strv.h"
#include "base/text.h"

#include <stdbool.h>

/* argv[0] is an absolute path. Its stdin and stderr are /dev/null; env is the whole environment. out takes its
 * stdout up to limit bytes. True when it exited 0 in time; else it is dead when this returns. */
bool query_program(const struct strv *argv, const struct strv *env, size_t limit, double timeout_s, struct text *out);

#endif
