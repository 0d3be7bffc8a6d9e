#include "results/store/lock.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* A runner that was killed the moment it forked lives on in that child, with this lock, until the
 * child has closed what is not its. */
static const int64_t CHILD_NS = 5 * NS_PER_S;

/* "PID HOST" */
static void holder_read(int fd, char out[300])
{
    ssize_t count = pread(fd, out, 299, 0);
    out[count > 0 ? count : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
}

static void own_host(char out[HOST_NAME_MAX + 1])
{
    snprintf(out, HOST_NAME_MAX + 1, "?");
    gethostname(out, HOST_NAME_MAX + 1);
    out[HOST_NAME_MAX] = '\0';
}

static bool holder_is_dead(int fd)
{
    char holder[300], host[HOST_NAME_MAX + 1], *end;
    holder_read(fd, holder);
    own_host(host);
    long pid = strtol(holder, &end, 10);
    return pid > 0 && pid <= INT_MAX && *end == ' ' && strcmp(end + 1, host) == 0 &&
           kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

/* False: errno. */
static bool lock_wait(int fd)
{
    int64_t deadline_ns = clock_monotonic_ns() + CHILD_NS;
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int error = errno;
        if (error != EWOULDBLOCK || !holder_is_dead(fd) || clock_monotonic_ns() >= deadline_ns) {
            errno = error;
            return false;
        }
        poll(NULL, 0, 5);
    }
    return true;
}

/* Whoever has it locked, as the kernel tells; the file's word counts for another host alone. */
static void refuse(int fd, const char *dir_path, struct err *err)
{
    char holder[300], own[HOST_NAME_MAX + 1];
    struct file_lock_owner owner;
    holder_read(fd, holder);
    own_host(own);
    char *host = strchr(holder, ' ');
    pid_t pid = file_lock_holder(fd);
    if (host)
        *host++ = '\0';
    if (pid && host && atoi(holder) == pid && strcmp(host, own) == 0)
        err_set(err, "the run in %s is in use by process %s on host %s", dir_path, holder, host);
    else if (file_lock_owner(pid, &owner))
        err_set(err,
                "%s/run.lock is locked by process %d (%s) of user %s: the run can go on when that "
                "has ended",
                dir_path, (int)pid, owner.command, owner.user);
    else if (host && (strcmp(host, own) != 0 || !holder_is_dead(fd)))
        err_set(err, "the run in %s is in use by process %s on host %s", dir_path, holder, host);
    else
        err_set(err, "%s/run.lock is locked by a process that cannot be seen from here", dir_path);
    if (err)
        err->code = EWOULDBLOCK;
}

int lock_take(int dir, const char *dir_path, struct err *err)
{
    AUTO_CLOSE int fd =
        openat(dir, "run.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0) {
        err_sys(err, "open %s/run.lock", dir_path);
        return -1;
    }
    if (!S_ISREG(st.st_mode)) {
        err_set(err, "%s/run.lock is no regular file", dir_path);
        return -1;
    }
    /* Who may read a file can lock it, and so refuse a resume: the owner alone may. Older runs left
     * it readable. */
    if (st.st_uid == geteuid())
        fchmod(fd, 0600);
    if (!lock_wait(fd)) {
        if (errno == EWOULDBLOCK)
            refuse(fd, dir_path, err);
        else
            err_sys(err, "lock %s/run.lock", dir_path);
        return -1;
    }
    char host[HOST_NAME_MAX + 1];
    own_host(host);
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

enum lock_seen lock_look(const char *run_dir)
{
    AUTO_CLOSE int dir = open(run_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return errno == ENOENT ? LOCK_FREE : LOCK_UNSEEN;
    return lock_look_at(dir);
}

enum lock_seen lock_look_at(int dir)
{
    char holder[300], own[HOST_NAME_MAX + 1];
    AUTO_CLOSE int seen = openat(dir, "run.lock", O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (seen >= 0 && file_lock_holder(seen) > 0)
        return LOCK_HELD;
    AUTO_CLOSE int fd = openat(dir, "run.lock", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return seen < 0 && errno == ENOENT ? LOCK_FREE : LOCK_UNSEEN;
    /* Only where nobody is seen to hold it: for that moment nobody else could take it. */
    if (flock(fd, LOCK_SH | LOCK_NB) != 0 || flock(fd, LOCK_UN) != 0)
        return LOCK_HELD;
    holder_read(fd, holder);
    own_host(own);
    const char *host = strchr(holder, ' ');
    return host && strcmp(host + 1, own) != 0 ? LOCK_UNSEEN : LOCK_FREE;
}

enum run_life run_life_of(bool ended, enum lock_seen seen)
{
    if (seen == LOCK_HELD)
        return RUN_LIFE_UNDER_WAY;
    if (ended)
        return RUN_LIFE_ENDED;
    return seen == LOCK_FREE ? RUN_LIFE_DIED : RUN_LIFE_ELSEWHERE;
}
