/* Becomes another user when it can, and asks for no parent-death signal, or for one of its own. */
#include "misbehave.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { NOBODY = 65534 };

int main(int argc, char **argv)
{
    (void)argc;
    hold(argv[1]);
    signal(SIGTERM, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
    if (must_fork() != 0)
        linger();
    setsid();
    if (getuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
        cannot("become nobody");
    signal(SIGUSR1, SIG_IGN);
    if (must_fork() != 0)
        _exit(0);
    /* Neither is inherited from a parent: what lives on asks for itself. */
    prctl(PR_SET_PDEATHSIG, SIGUSR1, 0, 0, 0);
    ready(argv[1]);
    linger();
}
