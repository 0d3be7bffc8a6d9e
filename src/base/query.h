/* query: starts a program, without a shell; asks one a question and waits, at most so long, for its
 * answer. */
#ifndef TARE_BASE_QUERY_H
#define TARE_BASE_QUERY_H

#include "base/err.h"
#include "base/strv.h"
#include "base/text.h"

#include <stdbool.h>
#include <sys/types.h>

/* The program (along PATH unless it has a slash) in a process group of its own, so that what it
 * starts can be ended with it, and with signals as a program expects them. -1 in place of a
 * descriptor: /dev/null. 0, or the errno. */
int query_spawn(const char *program, char *const *argv, char *const *env, int input, int output,
                int errors, pid_t *pid);

/* A descriptor from which a program reads this text, in memory; -1: err. */
int query_input(const struct text *text, struct err *err);

/* argv[0] is an absolute path. Its stdin is /dev/null; env is the whole environment. out takes its
 * stdout up to limit bytes; with_errors: and its stderr, which is /dev/null otherwise, in the order
 * in which they come. True when it exited 0 in time; else it is dead when this returns. status (may
 * be NULL) as waitpid gives it, -1: it did not start, was ended because its time was over, or wrote
 * more than limit. */
bool query_program(const struct strv *argv, const struct strv *env, size_t limit, double timeout_s,
                   bool with_errors, struct text *out, int *status);

#endif
