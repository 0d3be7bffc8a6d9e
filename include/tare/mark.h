/* tare/mark.h: tells tare where an epoch or a step of this program begins, or ends, from C or C++.
 *
 *     #include <tare/mark.h>
 *
 *     for (int epoch = 1; epoch <= epochs; epoch++) {
 *         char label[16];
 *         snprintf(label, sizeof label, "%d", epoch);
 *         tare_mark("epoch", label);
 *         ...
 *     }
 *
 * Nothing is linked. It never waits, and where no tare runs the program it does nothing. Each call
 * writes one line to the FIFO that $TARE_MARKS names, which is opened by the first call;
 * docs/reference/measuring.md says what a line looks like.
 *
 * name: 1 to 64 letters, digits, '_', '-', '.'; label: NULL or at most 100 bytes of UTF-8 without
 * control characters. Each gives 0  when the mark was written, 1  when there is nobody to tell, -1
 * when it cannot be written; errno says why: EINVAL (name or label), EAGAIN (nobody reads fast
 * enough), ... */
#ifndef TARE_MARK_H
#define TARE_MARK_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Both directions: so a reader that is gone is no SIGPIPE. -1: none. */
static inline int tare_mark_open(void)
{
    const char *path = getenv("TARE_MARKS");
    struct stat status;
    int flags = O_RDWR | O_NONBLOCK;
#ifdef O_CLOEXEC
    flags |= O_CLOEXEC;
#endif
    int fd = path && *path ? open(path, flags) : -1;
    if (fd >= 0 && (fstat(fd, &status) != 0 || !S_ISFIFO(status.st_mode))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static inline int tare_mark_fd(void)
{
    static int opened = -2; /* not tried yet */
    int fd = __sync_val_compare_and_swap(&opened, -2, -2);
    if (fd != -2)
        return fd;
    fd = tare_mark_open();
    int other = __sync_val_compare_and_swap(&opened, -2, fd);
    if (other == -2)
        return fd;
    if (fd >= 0) /* another thread was first */
        close(fd);
    return other;
}

static inline int tare_mark_write(const char *slash, const char *name, const char *label)
{
    char line[256], clock_field[40] = "";
    int before = errno, fd = tare_mark_fd();
    if (fd < 0) {
        errno = before;
        return 1;
    }
    if (!name || !*name || strlen(name) > 64 || strpbrk(name, " \t\r\n/@") ||
        (label && (strlen(label) > 100 || strpbrk(label, "\r\n")))) {
        errno = EINVAL;
        return -1;
    }
#ifdef CLOCK_MONOTONIC
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) == 0) {
        long long seconds = now.tv_sec;
        long nanoseconds = now.tv_nsec;
        snprintf(clock_field, sizeof clock_field, " @%lld%09ld", seconds, nanoseconds);
    }
#endif
    snprintf(line, sizeof line, "%s%s %s%s\n", slash, name, label ? label : "", clock_field);
    /* less than PIPE_BUF: all of it or nothing */
    return write(fd, line, strlen(line)) < 0 ? -1 : 0;
}

/* What the name says begins now; what it said before ends. */
static inline int tare_mark(const char *name, const char *label)
{
    return tare_mark_write("", name, label);
}

/* A training step begins now, and ends the one before; label: which one, or NULL. */
static inline int tare_mark_step(const char *label)
{
    return tare_mark_write("", "step", label);
}

/* A phase of the step begins now, such as "forward"; it lasts until the next one, or until the next
 * step. */
static inline int tare_mark_phase(const char *phase)
{
    return tare_mark_write("", "phase", phase);
}

/* What the name says ends now. */
static inline int tare_mark_end(const char *name, const char *label)
{
    return tare_mark_write("/", name, label);
}

#ifdef __cplusplus
}
#endif

#endif
