/* Every process forks again and again, also while it is being killed. Bounded by count: a limit of
 * processes does not bind root. */
#include "misbehave.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FORKS_MAX = 1500, READY_AT = 60 };

int main(int argc, char **argv)
{
    (void)argc;
    hold(argv[1]);
    lifetime_over();
    int *forks =
        mmap(NULL, sizeof *forks, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (forks == MAP_FAILED)
        return 3;
    signal(SIGCHLD, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    while (!lifetime_over()) {
        int number = __atomic_add_fetch(forks, 1, __ATOMIC_SEQ_CST);
        if (number == READY_AT)
            ready(argv[1]);
        if (number < FORKS_MAX)
            fork();
        pause_ms(number < FORKS_MAX ? 20 : 500);
    }
    return 0;
}
