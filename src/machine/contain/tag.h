/* tag: recognises processes of a job by the tag in their environment, or by their cgroup. */
#ifndef TARE_MACHINE_CONTAIN_TAG_H
#define TARE_MACHINE_CONTAIN_TAG_H

#include "machine/contain/tree.h"

/* Whether it is a tag as jobs get them (32 lower-case hexadecimal digits). */
bool tag_is_formed(const char *tag);

/* Whether this value of TARE_JOB is in its environment, or in that of a thread when its leader is a
 * zombie. */
bool tag_is_carried(int proc, const struct proc_stat *stat, const char *tag);

/* Whether a process that carries the tag, and that nothing else ties to the job, belongs to
 * somebody else: the one rule of the sweep, of recovery and of clean
 * (docs/explanation/containment.md has it as a table). uid: the job's user. root: the job's init as
 * long as it lives, else 0. runners: of other runs; NULL: none is known. True: owner
 * (TAG_OWNER_MAX) says whose it is: "slurmstepd (pid 17)". */
bool tag_is_foreign(int proc, const struct proc_stat *stat, const char *tag, uid_t uid, pid_t root,
                    const struct live_runners *runners, char *owner);

/* Whether this process or an ancestor of it carries the tag or is in the job's cgroup. */
bool tag_holds_this_process(int proc, const char *tag);

/* Whether this is the init of a job, of this user and this program, whose runner is dead: the
 * kernel shows that it has been adopted. */
bool job_init_is_left(int proc, pid_t pid, uint64_t start_time);

#endif
