/* guardian: a process beside the runner that ends its jobs when the runner dies. */
#ifndef TARE_MACHINE_CONTAIN_GUARDIAN_H
#define TARE_MACHINE_CONTAIN_GUARDIAN_H

#include "machine/contain/contain.h"

struct guardian;

/* A plain fork: its own session, no terminal signals, none of the caller's descriptors. It may
 * allocate: glibc's fork leaves the allocator usable in the child of a program with threads. */
struct guardian *guardian_start(struct err *err);

/* From now on until released, this job is ended when the runner dies. Between job_start and
 * job_open_gate. False: the guardian is gone, and guardian_check has to find another. */
bool guardian_watch(struct guardian *guardian, const struct job_identity *identity,
                    struct err *err);
void guardian_release(struct guardian *guardian, const struct job_identity *identity);

/* Readable (poll) when it is dead. Another descriptor after each replacement; -1: there is none. */
int guardian_fd(const struct guardian *guardian);

/* Whether there is one. One that is dead, or did not answer between three calls (stopped, frozen,
 * stuck), is killed and replaced by another, which is told of the jobs. To be called once a second
 * while jobs live, and when it is dead. since_ns: when the one before was last known to be
 * there. */
enum guardian_state {
    GUARDIAN_THERE,
    /* by one that has answered: from since_ns until now there may have been none */
    GUARDIAN_REPLACED,
    GUARDIAN_ABSENT, /* and it could not be replaced, err says why: the next call tries again */
};
enum guardian_state guardian_check(struct guardian *guardian, int64_t *since_ns, struct err *err);

/* It ends without touching anything; waits for that (at most a second). NULL: nothing. */
void guardian_stop(struct guardian *guardian);

pid_t guardian_pid(const struct guardian *guardian);

#endif
