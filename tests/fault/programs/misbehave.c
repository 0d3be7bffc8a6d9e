#include "misbehave.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { LIFETIME_S = 60 };

/* Its presence asks every process that still can to end: LOCK.end. */
static char end_path[4096];

void hold(const char *lock)
{
    int fd = open(lock, O_RDONLY);
    snprintf(end_path, sizeof end_path, "%s.end", lock);
    if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) != 0) {
        perror(lock);
        _exit(3);
    }
}

void ready(const char *lock)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.ready", lock);
    int fd = open(path, O_WRONLY | O_CREAT, 0666);
    if (fd < 0) {
        perror(path);
        _exit(3);
    }
    close(fd);
}

_Noreturn void cannot(const char *why)
{
    fprintf(stderr, "cannot: %s: %s\n", why, strerror(errno));
    exit(77);
}

void ignore_all_signals(void)
{
    for (int number = 1; number < 65; number++)
        signal(number, SIG_IGN);
}

/* Counts from the first call; a child goes on with its parent's count. */
bool lifetime_over(void)
{
    static time_t start;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (start == 0)
        start = now.tv_sec;
    return now.tv_sec - start > LIFETIME_S || access(end_path, F_OK) == 0;
}

_Noreturn void linger(void)
{
    while (!lifetime_over())
        pause_ms(100);
    _exit(0);
}

pid_t must_fork(void)
{
    pid_t pid = fork();
    if (pid < 0) {
        perror("fork");
        _exit(3);
    }
    return pid;
}

void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

bool cgroup_mount(bool v1_freezer, char *out, unsigned size)
{
    FILE *mounts = fopen("/proc/self/mounts", "r");
    char line[4096], point[1024], type[64], options[1024];
    bool found = false;
    while (mounts && !found && fgets(line, sizeof line, mounts)) {
        if (sscanf(line, "%*s %1023s %63s %1023s", point, type, options) != 3)
            continue;
        found = v1_freezer ? strcmp(type, "cgroup") == 0 && strstr(options, "freezer")
                           : strcmp(type, "cgroup2") == 0;
    }
    if (mounts)
        fclose(mounts);
    if (found)
        snprintf(out, size, "%s", point);
    return found;
}

bool write_file(const char *path, const char *value)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool written = fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value);
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return written;
}
