#include "session/exec_terminal.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <sys/signalfd.h>
#include <unistd.h>

static bool is_ignored(int signal_number)
{
    struct sigaction action;
    return sigaction(signal_number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

void exec_signals_heeded(const int *signals, size_t count, sigset_t *out)
{
    sigemptyset(out);
    for (size_t i = 0; i < count; i++)
        if (!is_ignored(signals[i]))
            sigaddset(out, signals[i]);
}

int exec_signals_open(void)
{
    static const int forwarded[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM};
    sigset_t set;
    exec_signals_heeded(forwarded, sizeof forwarded / sizeof *forwarded, &set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int terminal_open(void)
{
    return open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
}

bool exec_terminal_is_ours(void)
{
    AUTO_CLOSE int fd = terminal_open();
    /* Who asks for no hangup (nohup) does not want one from the terminal's group either. */
    return fd >= 0 && !is_ignored(SIGHUP);
}

pid_t exec_terminal_group(void)
{
    AUTO_CLOSE int fd = terminal_open();
    return fd < 0 ? -1 : tcgetpgrp(fd);
}

void exec_terminal_take_back(pid_t group)
{
    AUTO_CLOSE int fd = terminal_open();
    sigset_t set;
    if (fd < 0 || group <= 0 || tcgetpgrp(fd) == group)
        return;
    sigemptyset(&set);
    sigaddset(&set, SIGTTOU);
    sigprocmask(SIG_BLOCK, &set, NULL);
    tcsetpgrp(fd, group);
}
