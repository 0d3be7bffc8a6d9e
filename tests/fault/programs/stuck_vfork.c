/* A vfork child never execs: its parent sleeps in the kernel, deaf to all but KILL. */
#include "misbehave.h"

#include <signal.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

int main(int argc, char **argv)
{
    (void)argc;
    hold(argv[1]);
    signal(SIGTERM, SIG_IGN);
    if (must_fork() != 0)
        linger();
    setsid();
    pid_t pid = vfork();
    if (pid == 0) {
        ready(argv[1]);
        linger();
    }
    linger();
}
