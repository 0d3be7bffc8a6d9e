/* who: who a process is that has a GPU: read from /proc, for people. */
#ifndef TARE_MEASURE_GUARD_WHO_H
#define TARE_MEASURE_GUARD_WHO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct who {
    pid_t pid;
    uint64_t start_time; /* ticks since boot, as /proc/PID/stat has it */
    double age_s;        /* below 0: unknown */
    uid_t uid;
    bool orphan; /* its parent is pid 1 or a user's systemd */
    /* its command line, cut, control characters as '?'; "[name]" where it has none */
    char *command;
    /* value of TARE_JOB in its environment; NULL: none, or it may not be read */
    char *tag;
};

/* False: /proc shows no living process of this number (it has ended, it is hidden, or the number is
 * of another pid namespace). proc: "/proc", or a test's own. */
bool who_look(const char *proc, pid_t pid, struct who *out);
void who_fini(struct who *who);

/* It is gone, or on its way: it has lost its memory and its cgroup, so nobody can tell any more
 * whose it was. */
bool who_is_going(const char *proc, pid_t pid);

/* Whether it may be a user of a GPU. Not a kernel thread; and where NVIDIA's device files are, one
 * that may be looked into has some of them open. Otherwise the driver counts as another pid
 * namespace does (that of a container's host), and meant another process by this number. dev:
 * "/dev", or a test's own. */
bool who_may_have_gpu(const char *proc, const char *dev, pid_t pid);

/* "pid 12 of user ada, 'python3 train.py', 2 h 03 min old, an orphan"; users as /etc/passwd
 * (passwd) names them, so that nobody waits for a directory on the network. Fresh. */
char *who_text(const struct who *who, const char *passwd);

#endif
