#include "machine/contain/enter.h"
#include "machine/contain/job.h"
#include "machine/contain/mounts.h"
#include "machine/contain/sys.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { EXIT_NOT_ENTERED = 125, EXIT_NOT_EXECUTED = 127, OUTPUT_BYTES = 4 << 20 };

/* All that the child needs: it may only make system calls. */
struct entry {
    int init; /* pidfd of the job's init */
    int namespaces;
    int out;
    const char *cwd;
    char *const *argv, *const *env;
};

static void exec_in_job(const struct entry *entry)
{
    const struct rlimit size = {OUTPUT_BYTES, OUTPUT_BYTES};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int null = open("/dev/null", O_RDONLY);
    if (null < 0 || dup2(null, 0) < 0 || dup2(entry->out, 1) < 0 || dup2(1, 2) < 0 ||
        !sys_close_range(3, UINT_MAX))
        _exit(EXIT_NOT_ENTERED);
    /* No more than the command itself has: the program may be the training's own. */
    if (entry->namespaces && !init_rights_drop())
        _exit(EXIT_NOT_ENTERED);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (setrlimit(RLIMIT_FSIZE, &size) != 0 || (entry->cwd && chdir(entry->cwd) != 0))
        _exit(EXIT_NOT_ENTERED);
    sys_signals_default();
    sys_signals_unblock_all();
    execve(entry->argv[0], entry->argv, entry->env);
    _exit(EXIT_NOT_EXECUTED);
}

/* A pid namespace is that of the children alone. */
static void enter(const struct entry *entry)
{
    int status = 0;
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* Until it executes the program it is a copy of the runner, into which no process of the job
     * may look. */
    prctl(PR_SET_DUMPABLE, 0);
    if (entry->namespaces && syscall(SYS_setns, entry->init, entry->namespaces) != 0)
        _exit(EXIT_NOT_ENTERED);
    pid_t pid = sys_clone(0, NULL);
    if (pid == 0)
        exec_in_job(entry);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    _exit(pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_NOT_ENTERED);
}

pid_t job_enter(const struct job *job, const struct job_look *look, int *pidfd, struct err *err)
{
    const struct job_identity *identity = job_identity(job);
    const struct containment *layers = job_layers(job);
    AUTO_STRV struct strv env = {0};
    strv_add_all(&env, look->env);
    if (identity->tag)
        strv_env_set(&env, "TARE_JOB", identity->tag);
    AUTO_CLOSE int init = sys_pidfd_open(identity->pid);
    if (init < 0) {
        err_sys(err, "open the job's init");
        return -1;
    }
    struct entry entry = {
        .init = init,
        .namespaces =
            (layers->pidns ? CLONE_NEWPID | CLONE_NEWNS : 0) | (layers->userns ? CLONE_NEWUSER : 0),
        .out = look->out,
        .cwd = look->cwd,
        .argv = look->argv->items,
        .env = env.items,
    };
    pid_t pid = sys_clone(0, pidfd);
    if (pid == 0)
        enter(&entry);
    if (pid < 0)
        err_sys(err, "start a process");
    return pid;
}
