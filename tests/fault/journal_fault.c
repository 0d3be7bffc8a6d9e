/* Preloaded into the runner: kills it by SIGKILL at one write to the journal, or in the middle of
 * it. JOURNAL_FAULT=N kills before the N-th pwrite or fdatasync of a file whose name ends in
 * run.db-wal, run.db or events.jsonl, from 1; JOURNAL_FAULT_TORN=1: after half of its bytes, when
 * it is a write. JOURNAL_FAULT_FROM=FILE counts only once that file is there, and then writes and
 * syncs of any file of a run, renames and removals too. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* By their names for the linker: large-file support renames one to the other in C. */
ssize_t fault_pwrite(int fd, const void *bytes, size_t count, off64_t offset) __asm__("pwrite");
ssize_t fault_pwrite64(int fd, const void *bytes, size_t count, off64_t offset) __asm__("pwrite64");

typedef ssize_t pwrite_fn(int fd, const void *bytes, size_t count, off64_t offset);
typedef ssize_t write_fn(int fd, const void *bytes, size_t count);
typedef int sync_fn(int fd);

static atomic_long calls;

static bool has_begun(const char *from)
{
    int saved = errno;
    bool begun = access(from, F_OK) == 0;
    errno = saved;
    return begun;
}

static bool is_journal(int fd)
{
    const char *from = getenv("JOURNAL_FAULT_FROM");
    static const char *const names[] = {"/run.db-wal", "/run.db", "/events.jsonl"};
    char link[40], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    if (from)
        return has_begun(from) && strstr(path, "/run_");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t tail = strlen(names[i]);
        if ((size_t)length > tail && strcmp(path + length - tail, names[i]) == 0)
            return true;
    }
    return false;
}

/* Whether this is the call at which to die. Keeps errno. */
static bool is_due(int fd)
{
    const char *at = getenv("JOURNAL_FAULT");
    int saved = errno;
    bool due = at && is_journal(fd) && atomic_fetch_add(&calls, 1) + 1 == atol(at);
    errno = saved;
    return due;
}

static bool is_torn(void)
{
    const char *torn = getenv("JOURNAL_FAULT_TORN");
    return torn && *torn == '1';
}

static void die(void)
{
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

static void *next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        abort();
    return found;
}

ssize_t fault_pwrite64(int fd, const void *bytes, size_t count, off64_t offset)
{
    pwrite_fn *real = (pwrite_fn *)next("pwrite64");
    if (is_due(fd)) {
        if (is_torn())
            (void)!real(fd, bytes, count / 2, offset);
        die();
    }
    return real(fd, bytes, count, offset);
}

ssize_t fault_pwrite(int fd, const void *bytes, size_t count, off64_t offset)
{
    return fault_pwrite64(fd, bytes, count, offset);
}

ssize_t write(int fd, const void *bytes, size_t count)
{
    write_fn *real = (write_fn *)next("write");
    if (is_due(fd)) {
        if (is_torn())
            (void)!real(fd, bytes, count / 2);
        die();
    }
    return real(fd, bytes, count);
}

int fdatasync(int fd)
{
    sync_fn *real = (sync_fn *)next("fdatasync");
    if (is_due(fd))
        die();
    return real(fd);
}

int fsync(int fd)
{
    sync_fn *real = (sync_fn *)next("fsync");
    if (is_due(fd))
        die();
    return real(fd);
}

int renameat(int from, const char *old, int to, const char *name)
{
    int (*real)(int, const char *, int, const char *) =
        (int (*)(int, const char *, int, const char *))next("renameat");
    if (getenv("JOURNAL_FAULT_FROM") && is_due(from))
        die();
    return real(from, old, to, name);
}

int unlinkat(int dir, const char *name, int flags)
{
    int (*real)(int, const char *, int) = (int (*)(int, const char *, int))next("unlinkat");
    if (getenv("JOURNAL_FAULT_FROM") && is_due(dir))
        die();
    return real(dir, name, flags);
}
