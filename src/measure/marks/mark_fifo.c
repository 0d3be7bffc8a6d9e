
#include "measure/marks/mark_fifo.h"
#include "base/cleanup.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { READ_CALLS = 4, READ_BYTES = 64 << 10 };

struct mark_fifo {
    int dir; /* borrowed */
    char *name;
    int fd;
    dev_t device;
    ino_t inode;
    int64_t line_ns; /* when the last byte of the open line came */
    uint64_t refused;
    bool overlong; /* the open line is: what is left of it is skipped */
    size_t used;
    char line[MARK_LINE_MAX]; /* the open one */
    char buffer[READ_BYTES];
};

void mark_fifo_remove(int dir, const char *name)
{
    struct stat status;
    if (fstatat(dir, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISFIFO(status.st_mode))
        unlinkat(dir, name, 0);
}

/* Between making and opening, whoever may write to the folder could have put something else
 * there. */
static bool is_the_one(const struct stat *made, const struct stat *opened)
{
    return S_ISFIFO(opened->st_mode) && made->st_dev == opened->st_dev &&
           made->st_ino == opened->st_ino && opened->st_uid == geteuid() &&
           (opened->st_mode & 0077) == 0;
}

static bool make_fifo(struct mark_fifo *fifo, uid_t owner, struct err *err)
{
    struct stat made, opened;
    if (unlinkat(fifo->dir, fifo->name, 0) != 0 && errno != ENOENT)
        return err_sys(err, "remove the old %s", fifo->name);
    if (mkfifoat(fifo->dir, fifo->name, 0600) != 0 ||
        fstatat(fifo->dir, fifo->name, &made, AT_SYMLINK_NOFOLLOW) != 0)
        return err_sys(err, "make the FIFO %s", fifo->name);
    fifo->fd = openat(fifo->dir, fifo->name, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fifo->fd < 0 || fstat(fifo->fd, &opened) != 0)
        return err_sys(err, "open the FIFO %s", fifo->name);
    if (!is_the_one(&made, &opened))
        return err_set(err, "%s is not the FIFO that was made", fifo->name);
    fifo->device = opened.st_dev;
    fifo->inode = opened.st_ino;
    if (owner != (uid_t)-1 && owner != opened.st_uid && fchown(fifo->fd, owner, (gid_t)-1) != 0)
        return err_sys(err, "give the FIFO %s to its user", fifo->name);
    return true;
}

struct mark_fifo *mark_fifo_new(int dir, const char *name, uid_t owner, struct err *err)
{
    struct mark_fifo *fifo = mem_alloc(sizeof *fifo);
    fifo->dir = dir;
    fifo->name = mem_strdup(name);
    fifo->fd = -1;
    if (make_fifo(fifo, owner, err))
        return fifo;
    mark_fifo_free(fifo);
    mark_fifo_remove(dir, name);
    return NULL;
}

void mark_fifo_free(struct mark_fifo *fifo)
{
    struct stat status;
    if (!fifo)
        return;
    if (fifo->fd >= 0 && fstatat(fifo->dir, fifo->name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        status.st_dev == fifo->device && status.st_ino == fifo->inode)
        unlinkat(fifo->dir, fifo->name, 0);
    cleanup_close(&fifo->fd);
    free(fifo->name);
    free(fifo);
}

int mark_fifo_fd(const struct mark_fifo *fifo)
{
    return fifo->fd;
}

uint64_t mark_fifo_refused(const struct mark_fifo *fifo)
{
    return fifo->refused;
}

static void end_fifo_line(struct mark_fifo *fifo, const char *line, size_t length,
                          mark_fifo_fn *each, void *context)
{
    struct mark mark;
    if (!fifo->overlong && mark_line_parse(line, length, fifo->line_ns, &mark))
        each(context, &mark);
    else
        fifo->refused++;
    fifo->overlong = false;
    fifo->used = 0;
}

/* Appends a part of a line. */
static void append_to_line(struct mark_fifo *fifo, const char *bytes, size_t count)
{
    if (fifo->overlong || count > sizeof fifo->line - 1 - fifo->used) {
        fifo->overlong = true;
        return;
    }
    memcpy(fifo->line + fifo->used, bytes, count);
    fifo->used += count;
}

static void parse_fifo_bytes(struct mark_fifo *fifo, const char *bytes, size_t count,
                             mark_fifo_fn *each, void *context)
{
    const char *end = bytes + count;
    while (bytes < end) {
        const char *stop = memchr(bytes, '\n', (size_t)(end - bytes));
        append_to_line(fifo, bytes, (size_t)((stop ? stop : end) - bytes));
        if (!stop)
            return;
        end_fifo_line(fifo, fifo->line, fifo->used, each, context);
        bytes = stop + 1;
    }
}

bool mark_fifo_read(struct mark_fifo *fifo, int64_t now_ns, mark_fifo_fn *each, void *context)
{
    for (int i = 0; i < READ_CALLS; i++) {
        ssize_t got = read(fifo->fd, fifo->buffer, sizeof fifo->buffer);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return true;
        fifo->line_ns = now_ns;
        parse_fifo_bytes(fifo, fifo->buffer, (size_t)got, each, context);
    }
    return false;
}

void mark_fifo_end(struct mark_fifo *fifo, mark_fifo_fn *each, void *context)
{
    if (fifo->used > 0 || fifo->overlong)
        end_fifo_line(fifo, fifo->line, fifo->used, each, context);
}
