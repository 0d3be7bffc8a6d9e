/* Ends with 0 as if all were well; a worker lives on. */
#include "misbehave.h"

#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    (void)argc;
    hold(argv[1]);
    if (must_fork() != 0) {
        pause_ms(100);
        return 0;
    }
    signal(SIGTERM, SIG_IGN);
    ready(argv[1]);
    linger();
}
