#include "gpu_memory/allocator/unpack.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/query.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

const struct unpack_format *unpack_find(const void *bytes, size_t count)
{
    static const struct unpack_format formats[] = {
        {"\xfd"
         "7zXZ",
         5, "xz", "xz", "xz -dk FILE"},
        {"\x1f\x8b", 2, "gzip", "gzip", "gzip -dk FILE"},
        {"\x28\xb5\x2f\xfd", 4, "zstd", "zstd", "zstd -dk FILE"},
        {"BZh", 3, "bzip2", "bzip2", "bzip2 -dk FILE"},
        {"PK\x03\x04", 4, "zip", NULL, "unzip FILE"}};
    EACH_OF (format, formats)
        if (count >= format->length && memcmp(bytes, format->magic, format->length) == 0)
            return format;
    return NULL;
}

int unpack_keep(int fd, size_t limit, struct err *err)
{
    char buffer[1 << 16];
    size_t kept = 0;
    AUTO_CLOSE int out = memfd_create("snapshot", MFD_CLOEXEC);
    if (out < 0) {
        err_sys(err, "keep it in memory");
        return -1;
    }
    for (;;) {
        ssize_t got = read(fd, buffer, sizeof buffer);
        if (got == 0)
            return steal_fd(&out);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            err_sys(err, "read");
            return -1;
        }
        kept += (size_t)got;
        if (kept > limit) {
            err_set(err, "it has more than %zu bytes", limit);
            return -1;
        }
        if (!fs_write_all(out, buffer, (size_t)got, err))
            return -1;
    }
}

int unpack_file(const struct unpack_format *format, int fd, size_t limit, struct err *err)
{
    char *argv[] = {mem_strdup(format->program), mem_strdup("-dc"), NULL};
    int ends[2], status = -1;
    pid_t pid;
    if (lseek(fd, 0, SEEK_SET) < 0 || pipe2(ends, O_CLOEXEC) != 0) {
        err_sys(err, "unpack it");
        return -1;
    }
    AUTO_CLOSE int from = ends[0];
    AUTO_CLOSE int to = ends[1];
    int code = query_spawn(format->program, argv, environ, fd, to, -1, &pid);
    free(argv[0]);
    free(argv[1]);
    if (code != 0) {
        errno = code;
        err_sys(err, "it is compressed (%s), and %s cannot be started", format->name,
                format->program);
        return -1;
    }
    close(to);
    to = -1;
    AUTO_CLOSE int out = unpack_keep(from, limit, err);
    if (out < 0)
        kill(-pid, SIGKILL); /* not reaped: its number is its own */
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (out < 0) {
        err_wrap(err, "unpacked by %s", format->program);
        return -1;
    }
    if (status != 0) {
        err_set(err, "it is compressed (%s), and %s cannot unpack it: it is damaged or cut short",
                format->name, format->program);
        return -1;
    }
    return steal_fd(&out);
}
