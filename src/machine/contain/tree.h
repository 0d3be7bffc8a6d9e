/* tree: which processes belong to a job, as one pass over /proc shows it, and signals to them. */
#ifndef TARE_MACHINE_CONTAIN_TREE_H
#define TARE_MACHINE_CONTAIN_TREE_H

#include "base/procfs.h"
#include "machine/contain/contain.h"

/* Where membership starts. A process belongs when it descends from the root, is in the cgroup, is
 * in the root's session, in a session that a member leads, or carries the tag in its environment
 * and is nobody else's (tag_is_foreign). */
struct tree_seed {
    pid_t root;          /* the job's init; 0: none */
    uint64_t start_time; /* of the root, or when the init was born; nothing older can belong */
    const char *cgroup;  /* NULL: none */
    const char *tag;     /* NULL: environments are not read */
    /* the cgroup and the tag come from a file: being in the cgroup is worth as much as carrying the
     * tag */
    bool doubt;
    const struct live_runners *runners; /* with doubt; NULL: none is known */
    /* the root's pid cannot have been used again since: its session may be trusted without it */
    bool session;
    /* an earlier pass, or NULL: its members stay members as long as they live. (A process that is
     * being killed has lost its environment before it closes its files: only this still tells
     * it.) */
    const struct tree *known;
};

struct tree_process {
    struct proc_stat stat;
    bool member;  /* the root too, while it lives */
    bool carrier; /* with doubt: in the cgroup */
    bool foreign; /* has the tag or is such a carrier, but is not of the job */
};

struct tree {
    struct tree_process *processes; /* by pid */
    size_t count;
    bool root_alive;
};

/* False: /proc cannot be read. */
bool tree_scan(const struct tree_seed *seed, struct tree *out);
void tree_fini(struct tree *tree);
bool tree_has_foreign(const struct tree *tree);

/* The seed of a job that a file names; borrows from identity. A job of the same user may have
 * written the file. So only the kernel ties a process to the job: the tag in its environment, its
 * cgroup, or that it is the init that a dead runner left. Where whoever started it lives, it is
 * left out. runners: borrowed; NULL: none is known. */
struct tree_seed tree_seed_doubted(const struct job_identity *identity,
                                   const struct live_runners *runners);

/* Live members without the root and without this process. */
size_t tree_live(const struct tree *tree, const struct tree_seed *seed, struct job_member *members,
                 size_t max);

/* To the live members without the root: how many got it. */
size_t tree_signal(const struct tree *tree, const struct tree_seed *seed, int signal);

/* Kills the members without the root, pass after pass, until none is left or the time is over: how
 * many were killed (each once). *left: live ones that the last pass saw. last (NULL: not wanted):
 * that pass itself; what was in it is freed. */
size_t tree_kill(const struct tree_seed *given, double timeout_s, size_t *left, struct tree *last);

/* Sends the signal to the process that has had this start time all along: through a pidfd, the
 * start time read after opening it. False: gone, another process, or refused. */
bool process_signal(pid_t pid, uint64_t start_time, int signal);

void job_member_fill(const struct proc_stat *stat, struct job_member *out);

/* What the tag of a job (TARE_JOB) in a process's environment is worth. It is a hint, never the
 * proof: whoever copies the environment carries it, too (sbatch, a terminal's server, a daemon that
 * starts programs on request). (tag.c) */

enum { TAG_BYTES = 16, TAG_DIGITS = 2 * TAG_BYTES, TAG_OWNER_MAX = 160 };

/* Ends a process that is gone from the pid it was seen at before a pass over /proc is over. */

/* Kills the children of a subreaper (init, with this start time) as fast as they can be listed,
 * until it has none that lives or the time is over. A process that forks and exits again and again
 * is its child for most of each short life. */
void tree_chase_children(pid_t init, uint64_t start_time, int64_t for_ns);

#endif
