/* A daemon that keeps the pipe of the job's output open. */
#include "misbehave.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    (void)argc;
    hold(argv[1]);
    puts("hello");
    fflush(stdout);
    if (must_fork() == 0) {
        setsid();
        if (must_fork() != 0)
            _exit(0);
        signal(SIGTERM, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
        ready(argv[1]);
        linger();
    }
    linger();
}
