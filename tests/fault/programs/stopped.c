/* One child is stopped, one is stopped under ptrace: neither takes a signal but KILL. */
#include "misbehave.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    (void)argc;
    hold(argv[1]);
    pid_t stopped = must_fork();
    if (stopped == 0) {
        setsid();
        raise(SIGSTOP);
        linger();
    }
    waitpid(stopped, NULL, WUNTRACED);
    pid_t traced = must_fork();
    if (traced == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            cannot("ptrace");
        raise(SIGSTOP);
        linger();
    }
    waitpid(traced, NULL, WUNTRACED);
    signal(SIGTERM, SIG_IGN);
    ready(argv[1]);
    linger();
}
