/* A question put to a program that nobody vouches for: a repository's own git settings, an
 * interpreter of a user's folder. */
#ifndef TARE_MACHINE_CONTAIN_QUERY_H
#define TARE_MACHINE_CONTAIN_QUERY_H

#include "machine/contain/contain.h"

enum job_answer job_ask(const struct job_question *question, struct text *out);

/* The same where only an exit code of 0 counts. */
bool job_query(const struct containment *containment, const struct strv *argv,
               const struct strv *env, size_t limit, double timeout_s, struct text *out);

#endif
