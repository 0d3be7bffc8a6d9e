/* tree: which processes belong to a job, as one pass over /proc shows it, and signals to them. */
#ifndef TARE_MACHINE_CONTAIN_TREE_H
#define TARE_MACHINE_CONTAIN_TREE_H

#include "base/procfs.h"
#include "machine/contain/contain.h"

/* Where membership starts. A process belongs when it descends from the root, is in the cgroup, is in the root's
 * session, in a session that a member leads, or carries the tag in its environment and is nobody else's (tag.h). */
struct tree_seed {
    pid_t root;          /* the job's init; 0: none */
    uint64_t start_time; /* of the root; nothing older than it can belong */
    const char *cgroup;  /* NULL: none */
    const char *tag;     /* NULL: environments are not read */
    bool session;        /* the root's pid cannot have been used again since: its session may be trusted without it */
    const struct tree *known; /* an earlier pass, or NULL: its members stay members as long as they live. (A process that is being
                               * killed has lost its environment before it closes its files: only this still tells it.) */
};

struct tree_process {
    struct proc_stat stat;
    bool member;  /* the root too, while it lives */
    bool foreign; /* carries the tag, and belongs to somebody else */
};

struct tree {
    struct tree_process *processes; /* by pid */
    size_t count, capacity;
    bool root_alive;
};

/* False: /proc cannot be read. */
bool tree_scan(const struct tree_seed *seed, struct tree *out, struct err *err);
void tree_fini(struct tree *tree);

/* Live members without the root and without this process. */
size_t tree_live(const struct tree *tree, const struct tree_seed *seed, struct job_member *members, size_t max);

/* To the live members without the root: how many got it. */
size_t tree_signal(const struct tree *tree, const struct tree_seed *seed, int signal);

/* Kills the members without the root, pass after pass, until none is left or the time is over: how many were killed
 * (each once). *left: live ones that the last pass saw. last (NULL: not wanted): that pass itself; what was in it is freed. */
size_t tree_kill(const struct tree_seed *given, double timeout_s, size_t *left, struct tree *last);

/* Sends the signal to the process that has had this start time all along: through a pidfd, the start time read after
 * opening it. False: gone, another process, or refused. */
bool process_signal(pid_t pid, uint64_t start_time, int signal);

void job_member_fill(const struct proc_stat *stat, struct job_member *out);

#endif
