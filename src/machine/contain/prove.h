/* prove: proves that no process of a job is alive, and lists those that are. */
#ifndef TARE_MACHINE_CONTAIN_PROVE_H
#define TARE_MACHINE_CONTAIN_PROVE_H

#include "machine/contain/contain.h"

/* One step of the proof: after job_kill, asks whether anything of the tree is left. Does not wait.
 * True: proven gone (pid namespace empty, cgroup populated 0 and removed, no process with the tag).
 * False: count processes are still there (members: the first max of them), and what could be killed
 * was killed again. Call again after a moment; the caller bounds it. */
bool job_prove_step(struct job *job, struct job_member *members, size_t max, size_t *count);

/* The tree's members now, without the init: asked when the command has ended, they are its
 * leftovers. Gives how many there are, of which the first max are in members. */
size_t job_members(struct job *job, struct job_member *members, size_t max);

/* Whether one of them is stopped now (by a signal or by a tracer): then the job does not do what
 * its figures say. */
bool job_has_stopped_member(struct job *job, struct job_member *out);

/* Whether the process is one of them now. */
bool job_has_member(struct job *job, pid_t pid);

size_t job_foreign(struct job *job, struct job_foreign out[JOB_FOREIGN_MAX]);

#endif
