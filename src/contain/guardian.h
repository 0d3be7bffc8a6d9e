/* guardian: a process beside the runner that ends its jobs when the runner dies. */
#ifndef TARE_CONTAIN_GUARDIAN_H
#define TARE_CONTAIN_GUARDIAN_H

#include "contain/contain.h"

struct guardian;

/* A plain fork: before the program starts threads. Its own session, no terminal signals, none of the caller's
 * descriptors. */
struct guardian *guardian_start(struct err *err);

/* From now on until released, this job is ended when the runner dies. Between job_start and job_open_gate. False: the
 * guardian is gone. */
bool guardian_watch(struct guardian *guardian, const struct job_identity *identity, struct err *err);
void guardian_release(struct guardian *guardian, const struct job_identity *identity);

/* It ends without touching anything; waits for that (at most a second). NULL: nothing. */
void guardian_stop(struct guardian *guardian);

pid_t guardian_pid(const struct guardian *guardian);

#endif
