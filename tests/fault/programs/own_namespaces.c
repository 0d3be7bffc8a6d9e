/* Makes pid and user namespaces of its own and hides in them. */
#include "misbehave.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

static bool hide(void)
{
    return unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0 || unshare(CLONE_NEWPID) == 0;
}

/* Tried by a child: once the lock is held, nobody would learn that it cannot be done. */
static void try_first(void)
{
    int status = 0;
    pid_t pid = must_fork();
    if (pid == 0)
        _exit(hide() ? 0 : 1);
    if (waitpid(pid, &status, 0) != pid || status != 0)
        cannot("unshare a pid namespace");
}

int main(int argc, char **argv)
{
    (void)argc;
    try_first();
    hold(argv[1]);
    if (must_fork() != 0)
        linger();
    setsid();
    if (!hide())
        cannot("unshare a pid namespace");
    if (must_fork() != 0)
        linger();
    /* pid 1 of the inner namespace */
    signal(SIGTERM, SIG_IGN);
    if (must_fork() == 0) {
        setsid();
        ready(argv[1]);
    }
    linger();
}
