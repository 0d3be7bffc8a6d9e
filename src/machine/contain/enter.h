/* A program that looks at a job from within: in its namespaces, so that it sees what the job sees
 * and can write no more than it. */
#ifndef TARE_MACHINE_CONTAIN_ENTER_H
#define TARE_MACHINE_CONTAIN_ENTER_H

#include "machine/contain/contain.h"

/* Starts it in the job's namespaces, where it has: it sees the job's processes by their numbers
 * there, can write what the job can, and dies with the namespace; a session of its own, so that a
 * signal to its group ends it and all it started. pidfd: a descriptor of it, for poll and waitid.
 * -1: err says why; the program itself says what it cannot do, exit code 125: the job could not be
 * entered. */
pid_t job_enter(const struct job *job, const struct job_look *look, int *pidfd, struct err *err);

#endif
