#include "session/exec_job.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "measure/marks/marks.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define VARIABLE  "TARE_MARKS"
#define FIFO_NAME "marks"
#define PREFIX    TARE_NAME "-exec-"

enum { DRAIN_READS_MAX = 16 };

struct exec_marks {
    char *folder;
    int dir;
    struct mark_fifo *fifo;
    struct marks marks;
    struct measuring *measuring; /* while it takes */
};

static int open_folder(int parent, const char *path)
{
    return openat(parent, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Of an exec that was killed: whoever lives holds the lock. Only this user's own are looked at. */
static void remove_stale(int parent, const char *name)
{
    AUTO_CLOSE int dir = open_folder(parent, name);
    struct stat status;
    if (dir < 0 || fstat(dir, &status) != 0 || status.st_uid != geteuid() || (status.st_mode & 0077) != 0 ||
        flock(dir, LOCK_EX | LOCK_NB) != 0)
        return;
    mark_fifo_remove(dir, FIFO_NAME);
    unlinkat(parent, name, AT_REMOVEDIR);
}

static void remove_all_stale(const char *path)
{
    AUTO_CLOSE int parent = open_folder(AT_FDCWD, path);
    AUTO_DIR DIR *listing = parent >= 0 ? fs_list(parent, ".") : NULL;
    for (struct dirent *entry; listing && (entry = readdir(listing));)
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0)
            remove_stale(parent, entry->d_name);
}

/* Another exec may take a folder that is not locked yet for a stale one: then it is made anew. */
static bool make_locked(struct exec_marks *marks, const char *parent)
{
    for (int tries = 0; tries < 10; tries++) {
        AUTO_FREE char *path = mem_printf("%s/" PREFIX "XXXXXX", parent);
        struct stat status;
        if (!mkdtemp(path))
            return false;
        AUTO_CLOSE int dir = open_folder(AT_FDCWD, path);
        if (dir < 0 || flock(dir, LOCK_EX | LOCK_NB) != 0 || fstat(dir, &status) != 0 || status.st_nlink == 0)
            continue;
        marks->folder = steal_ptr(path);
        marks->dir = steal_fd(&dir);
        return true;
    }
    errno = EAGAIN;
    return false;
}

/* Nobody else can rename what we make there, so that a job that writes to its marks would write to a file of their
 * choice: su leaves XDG_RUNTIME_DIR and TMPDIR as they were, another user's. */
static bool is_safe(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && (status.st_uid == geteuid() || status.st_uid == 0) &&
           (!(status.st_mode & (S_IWGRP | S_IWOTH)) || (status.st_mode & S_ISVTX));
}

/* The user's own folder of this login, else beside other temporary files. */
static bool make_folder(struct exec_marks *marks, const struct strv *environment, struct err *err)
{
    static const char *const names[] = {"XDG_RUNTIME_DIR", "TMPDIR", NULL};
    for (size_t i = 0;; i++) {
        const char *parent = names[i] ? strv_env_get(environment, names[i]) : "/tmp";
        if (parent && parent[0] == '/' && (!names[i] || is_safe(parent))) {
            remove_all_stale(parent);
            if (make_locked(marks, parent))
                return true;
        }
        if (!names[i])
            return err_sys(err, "make a folder for marks in %s", parent);
    }
}

struct exec_marks *exec_marks_new(struct strv *environment, struct err *err)
{
    const char *other = strv_env_get(environment, VARIABLE);
    if (other && *other)
        return NULL;
    struct exec_marks *marks = mem_alloc(sizeof *marks);
    *marks = (struct exec_marks){.dir = -1};
    if (make_folder(marks, environment, err))
        marks->fifo = mark_fifo_new(marks->dir, FIFO_NAME, (uid_t)-1, err);
    if (!marks->fifo) {
        exec_marks_free(marks);
        return NULL;
    }
    AUTO_FREE char *path = mem_printf("%s/" FIFO_NAME, marks->folder);
    strv_env_set(environment, VARIABLE, path);
    return marks;
}

void exec_marks_free(struct exec_marks *marks)
{
    if (!marks)
        return;
    mark_fifo_free(marks->fifo);
    if (marks->dir >= 0)
        close(marks->dir);
    if (marks->folder)
        rmdir(marks->folder);
    marks_fini(&marks->marks);
    free(marks->folder);
    free(marks);
}

int exec_marks_fd(const struct exec_marks *marks)
{
    return marks ? mark_fifo_fd(marks->fifo) : -1;
}

static void take(void *context, const struct mark *mark)
{
    struct exec_marks *marks = context;
    if (!measuring_mark_step(marks->measuring, mark) &&
        marks_take(&marks->marks, mark, clock_monotonic_ns()) == MARK_TAKEN)
        measuring_mark(marks->measuring, mark);
}

void exec_marks_take(struct exec_marks *marks, struct measuring *measuring, bool last)
{
    if (!marks || !measuring)
        return;
    int64_t now_ns = clock_monotonic_ns();
    marks->measuring = measuring;
    bool all = mark_fifo_read(marks->fifo, now_ns, take, marks);
    /* Bounded: a process that is none of the command's may write for ever. */
    for (int i = 0; last && !all && i < DRAIN_READS_MAX; i++)
        all = mark_fifo_read(marks->fifo, now_ns, take, marks);
    if (last)
        mark_fifo_end(marks->fifo, take, marks);
    marks_clear(&marks->marks);
}

char *exec_marks_doubt(const struct exec_marks *marks)
{
    uint64_t refused = marks ? mark_fifo_refused(marks->fifo) : 0, limited = marks ? marks->marks.counts.limited : 0;
    if (refused == 0 && limited == 0)
        return NULL;
    if (limited == 0)
        return mem_printf("%llu lines in $" VARIABLE " were no marks", (unsigned long long)refused);
    return mem_printf("%llu marks too many were left out, and %llu lines in $" VARIABLE " were none",
                      (unsigned long long)limited, (unsigned long long)refused);
}
