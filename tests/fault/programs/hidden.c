/* Clears its environment, lets nobody look into it, and has a name that breaks parsers of
 * /proc/PID/stat. */
#include "misbehave.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    hold(argv[1]);
    if (argc == 2) {
        if (must_fork() != 0)
            linger();
        setsid();
        if (must_fork() != 0)
            _exit(0);
        char again[] = "again";
        execve("/proc/self/exe", (char *[]){argv[0], argv[1], again, NULL}, (char *[]){NULL});
        cannot("execve /proc/self/exe");
    }
    prctl(PR_SET_NAME, "a) R 1 1 (\n1", 0, 0, 0);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    signal(SIGTERM, SIG_IGN);
    ready(argv[1]);
    linger();
}
