/* Leaves its session twice over and ignores every signal that can be ignored. */
#include "misbehave.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    (void)argc;
    hold(argv[1]);
    if (must_fork() == 0) {
        setsid();
        if (must_fork() != 0)
            _exit(0);
        setsid();
        ignore_all_signals();
        hold(argv[1]);
        ready(argv[1]);
        linger();
    }
    linger();
}
