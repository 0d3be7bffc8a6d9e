/* A hundred children, each in a session of its own, orphaned. */
#include "misbehave.h"

#include <signal.h>
#include <unistd.h>

enum { CHILDREN = 100 };

int main(int argc, char **argv)
{
    (void)argc;
    hold(argv[1]);
    signal(SIGTERM, SIG_IGN);
    for (int i = 0; i < CHILDREN; i++) {
        if (must_fork() != 0)
            continue;
        setsid();
        if (must_fork() != 0)
            _exit(0);
        linger();
    }
    ready(argv[1]);
    linger();
}
