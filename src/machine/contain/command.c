#include "machine/contain/command.h"
#include "machine/contain/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static void wait_at_gate(int gate)
{
    char byte;
    if (TEMP_FAILURE_RETRY(read(gate, &byte, 1)) != 1)
        _exit(0);
}

/* The raw calls: glibc's would try to tell the threads that this copy of the runner does not
 * have. */
static bool become_user(const struct init_plan *plan)
{
    return !plan->change_user || (syscall(SYS_setgroups, plan->group_count, plan->groups) == 0 &&
                                  syscall(SYS_setresgid, plan->gid, plan->gid, plan->gid) == 0 &&
                                  syscall(SYS_setresuid, plan->uid, plan->uid, plan->uid) == 0);
}

/* The shared descriptor stays open in the command, under its number: a process that the init's
 * capabilities keep out of its files (in a user namespace) finds it here. */
static bool close_other_descriptors(unsigned shared)
{
    return fcntl((int)shared, F_SETFD, 0) == 0 && (shared == 4 || sys_close_range(4, shared - 1)) &&
           sys_close_range(shared + 1, UINT_MAX);
}

/* Any of the three may be one of 0, 1, 2, so all are moved out of the way first. */
static bool place_files(const struct init_plan *plan, int *failure)
{
    int moved[3];
    for (int i = 0; i < 3; i++)
        if ((moved[i] = fcntl(plan->stdio[i], F_DUPFD, 10)) < 0)
            return false;
    int kept = fcntl(*failure, F_DUPFD_CLOEXEC, 10);
    if (kept < 0)
        return false;
    *failure = kept;
    for (int i = 0; i < 3; i++)
        if (dup2(moved[i], i) < 0)
            return false;
    if (dup3(kept, 3, O_CLOEXEC) < 0)
        return false;
    *failure = 3;
    return plan->shared > 3 ? close_other_descriptors((unsigned)plan->shared)
                            : sys_close_range(4, UINT_MAX);
}

static bool limit_cpu(uint64_t seconds)
{
    struct rlimit limit;
    if (seconds == 0 || getrlimit(RLIMIT_CPU, &limit) != 0)
        return true;
    if (limit.rlim_max == RLIM_INFINITY || seconds < limit.rlim_max)
        limit.rlim_cur = seconds;
    return setrlimit(RLIMIT_CPU, &limit) == 0;
}

_Noreturn void init_command(const struct init_plan *plan, int gate, int failure)
{
    /* A process group of its own, so that a job that signals its own group does not hit its
     * init. */
    if (!plan->foreground_tty)
        setpgid(0, 0);
    else if (!plan->pidns)
        setpgid(0, plan->terminal_group);
    wait_at_gate(gate);
    if (place_files(plan, &failure) && limit_cpu(plan->cpu_limit_s) && become_user(plan) &&
        (!plan->cwd || chdir(plan->cwd) == 0)) {
        sys_signals_unblock_all();
        execve(plan->argv[0], plan->argv, plan->envp);
    }
    int error = errno;
    ssize_t written = write(failure, &error, sizeof error);
    (void)written;
    _exit(127);
}
