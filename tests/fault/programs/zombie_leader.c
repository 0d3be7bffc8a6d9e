/* The process's first thread has ended, another lives on: /proc calls it a zombie. */
#include "misbehave.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static void *live_on(void *lock)
{
    pause_ms(50);
    ready(lock);
    linger();
}

int main(int argc, char **argv)
{
    (void)argc;
    pthread_t thread;
    hold(argv[1]);
    signal(SIGTERM, SIG_IGN);
    if (must_fork() != 0)
        linger();
    setsid();
    if (pthread_create(&thread, NULL, live_on, argv[1]) != 0)
        return 3;
    pthread_exit(NULL);
}
