/* tag: what the tag of a job (TARE_JOB) in a process's environment is worth. It is a hint, never the proof: whoever
 * copies the environment carries it, too (sbatch, a terminal's server, a daemon that starts programs on request). */
#ifndef TARE_MACHINE_CONTAIN_TAG_H
#define TARE_MACHINE_CONTAIN_TAG_H

#include "base/procfs.h"

enum { TAG_OWNER_MAX = 160 };

/* Whether this value of TARE_JOB is in its environment, or in that of a thread when its leader is a zombie. */
bool tag_is_carried(int proc, const struct proc_stat *stat, const char *tag);

/* Whether a process that carries the tag, and that nothing else ties to the job, belongs to somebody else: the one rule
 * of the sweep, of recovery and of clean (docs/containment.md has it as a table). uid: the job's user. root: the job's init as long
 * as it lives, else 0. True: owner (TAG_OWNER_MAX) says whose it is: "slurmstepd (pid 17)". */
bool tag_is_foreign(int proc, const struct proc_stat *stat, const char *tag, uid_t uid, pid_t root, char *owner);

#endif
