/* Kills the process that started it, whoever that is, and goes on. */
#include "misbehave.h"

#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    (void)argc;
    hold(argv[1]);
    signal(SIGTERM, SIG_IGN);
    pid_t parent = getppid();
    if (must_fork() == 0) {
        setsid();
        pause_ms(50);
        ready(argv[1]);
        linger();
    }
    /* Never the machine's own init, which is only our parent when nobody contains us. In a
     * namespace, 1 is the job's init. */
    if (parent > 1 || argc > 2)
        kill(parent, SIGKILL);
    linger();
}
