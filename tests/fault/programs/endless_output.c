/* Writes without end and without newlines, from two processes. */
#include "misbehave.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    (void)argc;
    char block[65536];
    hold(argv[1]);
    lifetime_over();
    memset(block, 'x', sizeof block);
    signal(SIGTERM, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    must_fork();
    ready(argv[1]);
    while (!lifetime_over()) {
        if (write(STDOUT_FILENO, block, sizeof block) < 0)
            pause_ms(10);
        pause_ms(1);
    }
    return 0;
}
