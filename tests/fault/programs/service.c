/* The service of ask_service: starts a process that holds the lock file it is told. argv[1]: its
 * socket. Ends when its stdin does. */
#include "misbehave.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void serve(int fd)
{
    char lock[4096];
    ssize_t got = read(fd, lock, sizeof lock - 1);
    if (got <= 0)
        return;
    lock[got] = '\0';
    if (must_fork() == 0) {
        hold(lock);
        if (write(fd, "k", 1) != 1)
            _exit(1);
        close(fd);
        linger();
    }
}

int main(int argc, char **argv)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)argc;
    signal(SIGCHLD, SIG_IGN);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", argv[1]);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, 8) != 0)
        return 3;
    struct pollfd wait[] = {{.fd = listener, .events = POLLIN},
                            {.fd = STDIN_FILENO, .events = POLLIN}};
    puts("listening");
    fflush(stdout);
    while (poll(wait, 2, -1) >= 0 && !wait[1].revents) {
        int fd = accept(listener, NULL, NULL);
        if (fd >= 0) {
            serve(fd);
            close(fd);
        }
    }
    return 0;
}
