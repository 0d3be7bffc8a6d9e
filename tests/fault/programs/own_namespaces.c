/* Makes pid and user namespaces of its own and hides in them. */
#include "misbehave.h"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    (void)argc;
    hold(argv[1]);
    if (must_fork() != 0)
        linger();
    setsid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0 && unshare(CLONE_NEWPID) != 0)
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
