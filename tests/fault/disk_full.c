/* Preloaded into the runner: the disk is full for one kind of file: each write to one whose path
 * ends in $DISK_FULL fails. */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

typedef ssize_t write_fn(int fd, const void *bytes, size_t count);

static bool is_full(int fd)
{
    const char *end = getenv("DISK_FULL");
    char link[40], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = end ? readlink(link, path, sizeof path) : -1;
    size_t tail = end ? strlen(end) : 0;
    return length > 0 && (size_t)length >= tail && memcmp(path + length - tail, end, tail) == 0;
}

ssize_t write(int fd, const void *bytes, size_t count)
{
    int saved = errno;
    if (is_full(fd)) {
        errno = ENOSPC;
        return -1;
    }
    errno = saved;
    write_fn *real = (write_fn *)dlsym(RTLD_NEXT, "write");
    if (!real)
        abort();
    return real(fd, bytes, count);
}
