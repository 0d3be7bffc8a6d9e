#include "store/lock.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

static void refuse(int fd, const char *dir_path, struct err *err)
{
    char holder[300] = "";
    ssize_t count = pread(fd, holder, sizeof holder - 1, 0);
    holder[count > 0 ? count : 0] = '\0';
    holder[strcspn(holder, "\n")] = '\0';
    char *host = strchr(holder, ' ');
    if (host) {
        *host++ = '\0';
        err_set(err, "the run in %s is in use by process %s on host %s", dir_path, holder, host);
    } else {
        err_set(err, "the run in %s is in use by another process", dir_path);
    }
    if (err)
        err->code = EWOULDBLOCK;
}

int lock_take(int dir, const char *dir_path, struct err *err)
{
    AUTO_CLOSE int fd = openat(dir, "run.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0) {
        err_sys(err, "open %s/run.lock", dir_path);
        return -1;
    }
    if (!S_ISREG(st.st_mode)) {
        err_set(err, "%s/run.lock is no regular file", dir_path);
        return -1;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno == EWOULDBLOCK)
            refuse(fd, dir_path, err);
        else
            err_sys(err, "lock %s/run.lock", dir_path);
        return -1;
    }
    char host[HOST_NAME_MAX + 1] = "?";
    gethostname(host, sizeof host);
    host[HOST_NAME_MAX] = '\0';
    AUTO_FREE char *line = mem_printf("%d %s\n", (int)getpid(), host);
    if (ftruncate(fd, 0) < 0) {
        err_sys(err, "write %s/run.lock", dir_path);
        return -1;
    }
    if (!fs_write_all(fd, line, strlen(line), err)) {
        err_wrap(err, "write %s/run.lock", dir_path);
        return -1;
    }
    return steal_fd(&fd);
}
