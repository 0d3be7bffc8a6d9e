/* census: the processes of this machine as /proc shows them now: who they are, whose, how old,
 * tagged by tare or not, and which GPU they have open. */
#ifndef TARE_MACHINE_STATE_CENSUS_H
#define TARE_MACHINE_STATE_CENSUS_H

#include "base/err.h"
#include "base/procfs.h"
#include "base/strv.h"

/* Where to look: "/proc" and "/dev", or a test's own. */
struct census_roots {
    const char *proc, *dev;
};

struct census_process {
    struct proc_stat stat;
    uid_t uid;    /* real */
    double age_s; /* below 0: unknown */
    /* environment and descriptors could be read; else tag and devices are empty */
    bool looked_into;
    char *tag; /* value of TARE_JOB in its environment, or NULL */
    /* device files of GPUs that it has open, each once: /dev/nvidia0, /dev/nvidiactl, /dev/kfd,
     * /dev/dri/renderD128 */
    struct strv devices;
    /* its command line, control characters as '?'; "[name]" where it has none */
    char *command;
    bool orphan; /* its parent is pid 1 or a user's systemd */
};

struct census {
    struct census_process *items; /* by pid; zombies are left out */
    size_t count;
    size_t closed; /* of other users: could not be looked into */
};

bool census_take(const struct census_roots *roots, struct census *out, struct err *err);
void census_fini(struct census *census);

/* NULL: none. */
const struct census_process *census_find(const struct census *census, pid_t pid);

/* A pidfd of the process in the census: its start time is read after opening, and so is its tag
 * when it has one. -1: it is gone, or another process has its pid now. */
int census_hold(const struct census_roots *roots, const struct census_process *process,
                struct err *err);

/* The tags of this process and of its ancestors: what runs this very command is in use, whoever
 * started it. */
void census_own_tags(const struct census_roots *roots, struct strv *out);

/* The command line of a process that proc shows, "[name]" where it has none: fresh. */
char *census_command(int proc, const struct proc_stat *stat);

/* How long a process of this boot has been there that started at this tick; below 0: unknown. */
double census_age_s(uint64_t start_time);

/* /proc/PID/cmdline for people: arguments joined by blanks, one line, UTF-8. Fresh. */
char *census_command_text(const char *bytes, size_t count);

#endif
