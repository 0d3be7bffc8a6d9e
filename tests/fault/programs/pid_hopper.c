/* Is never where it was seen: each process lives for a moment and goes on in a child. */
#include "misbehave.h"

#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    (void)argc;
    hold(argv[1]);
    lifetime_over();
    if (must_fork() != 0)
        linger();
    setsid();
    signal(SIGTERM, SIG_IGN);
    for (int hop = 0; !lifetime_over(); hop++) {
        if (must_fork() != 0)
            _exit(0);
        if (hop == 20)
            ready(argv[1]);
        for (volatile int work = 0; work < 100000; work++)
            ;
    }
    return 0;
}
