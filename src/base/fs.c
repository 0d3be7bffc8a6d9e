#include "base/fs_output.h"
#include "base/fs_path.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Linux 5.6, linux/openat2.h: headers before it lack all of this. */
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
static const uint64_t NO_SYMLINKS = 0x04, BENEATH = 0x08;
struct how {
    uint64_t flags, mode, resolve;
};

/* One step after another, none a link. */
static int open_step_by_step(int dir, const char *path, int flags, mode_t mode)
{
    AUTO_FREE char *steps = mem_strdup(path);
    AUTO_CLOSE int folder = -1;
    char *rest = NULL, *step = *path == '/' ? NULL : strtok_r(steps, "/", &rest);
    errno = *path == '\0' ? ENOENT : EXDEV; /* as openat2 has it */
    while (step && strcmp(step, "..") != 0) {
        char *next = strtok_r(NULL, "/", &rest);
        int from = folder >= 0 ? folder : dir;
        if (!next)
            return openat(from, step, flags, mode);
        int below = openat(from, step, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below < 0)
            return -1;
        cleanup_close(&folder);
        folder = below;
        step = next;
        errno = EXDEV;
    }
    return -1;
}

int fs_open_beneath(int dir, const char *path, int flags, mode_t mode)
{
    flags |= O_CLOEXEC | O_NOFOLLOW;
    if (dir == AT_FDCWD)
        return openat(dir, path, flags, mode);
    struct how how = {.flags = (uint64_t)(unsigned)flags,
                      .mode = flags & O_CREAT ? mode : 0,
                      .resolve = NO_SYMLINKS | BENEATH};
    int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
    /* EPERM: what containers' filters made of system calls that they did not know. EAGAIN:
     * something was renamed meanwhile. */
    if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EAGAIN))
        return open_step_by_step(dir, path, flags, mode);
    return fd;
}

int fs_open_folder_beneath(int dir, const char *path)
{
    return fs_open_beneath(dir, path, O_RDONLY | O_DIRECTORY, 0);
}

DIR *fs_list(int dir, const char *path)
{
    AUTO_CLOSE int copy = openat(dir, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
    DIR *list = copy < 0 ? NULL : fdopendir(copy);
    if (list)
        steal_fd(&copy);
    return list;
}

void fs_list_end(DIR **list)
{
    if (*list)
        closedir(*list);
}

bool fs_is_deleted(int dir)
{
    struct stat st;
    return fstat(dir, &st) == 0 && st.st_nlink == 0;
}

/* Reads to the end, at most limit bytes, into the emptied out. */
static bool read_fd(int fd, const char *name, size_t limit, struct text *out, struct err *err)
{
    char buffer[16384];
    text_clear(out);
    for (;;) {
        ssize_t count = read(fd, buffer, sizeof buffer);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0) {
            text_clear(out);
            return err_sys(err, "read %s", name);
        }
        if (count == 0)
            return true;
        if ((size_t)count > limit - out->length) {
            text_clear(out);
            err_set(err, "%s is longer than %zu bytes", name, limit);
            if (err)
                err->code = EFBIG;
            return false;
        }
        text_add_bytes(out, buffer, (size_t)count);
    }
}

static bool fail_with_code(struct err *err, int code, const char *name, const char *what)
{
    err_set(err, "%s %s", name, what);
    if (err)
        err->code = code;
    return false;
}

static int open_regular(int dir, const char *name, int flags, struct err *err)
{
    /* O_NONBLOCK: a named pipe must not hold us until somebody writes. */
    const int how = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags;
    AUTO_CLOSE int fd =
        flags & O_NOFOLLOW ? fs_open_beneath(dir, name, how, 0) : openat(dir, name, how);
    struct stat status;
    bool regular = false;
    if (fd < 0 && errno == ELOOP && (flags & O_NOFOLLOW))
        fail_with_code(err, ELOOP, name, "is a symbolic link");
    else if (fd < 0)
        err_sys(err, "open %s", name);
    else if (fstat(fd, &status) != 0)
        err_sys(err, "stat %s", name);
    else if (S_ISDIR(status.st_mode))
        fail_with_code(err, EISDIR, name, "is a folder");
    else if (!S_ISREG(status.st_mode))
        fail_with_code(err, EINVAL, name, "is no regular file");
    else
        regular = true;
    return regular ? steal_fd(&fd) : -1;
}

int fs_open_at(int dir, const char *name, struct err *err)
{
    return open_regular(dir, name, O_NOFOLLOW, err);
}

int fs_create_at(int dir, const char *name, struct err *err)
{
    enum { TRIES = 100 }; /* against somebody who puts another there each time */
    for (int i = 0; i < TRIES; i++) {
        int fd = fs_open_beneath(dir, name, O_WRONLY | O_CREAT | O_EXCL, 0664);
        if (fd >= 0)
            return fd;
        if (errno != EEXIST || (unlinkat(dir, name, 0) != 0 && errno != ENOENT))
            break;
    }
    err_sys(err, "create %s", name);
    return -1;
}

static bool read_regular(int dir, const char *name, int flags, size_t limit, struct text *out,
                         struct err *err)
{
    text_clear(out);
    AUTO_CLOSE int fd = open_regular(dir, name, flags, err);
    return fd >= 0 && read_fd(fd, name, limit, out, err);
}

bool fs_read(const char *path, size_t limit, struct text *out, struct err *err)
{
    return read_regular(AT_FDCWD, path, 0, limit, out, err);
}

bool fs_read_at(int dir, const char *name, size_t limit, struct text *out, struct err *err)
{
    return read_regular(dir, name, O_NOFOLLOW, limit, out, err);
}

int fs_read_line(FILE *file, size_t limit, struct text *out)
{
    text_clear(out);
    for (int c; (c = getc_unlocked(file)) != EOF;) {
        if (out->length == limit) {
            while (c != '\n' && c != EOF)
                c = getc_unlocked(file);
            return -1;
        }
        text_add_char(out, (char)c);
        if (c == '\n')
            return 1;
    }
    return out->length > 0;
}

bool fs_read_kernel(int dir, const char *path, size_t limit, struct text *out, struct err *err)
{
    text_clear(out);
    AUTO_CLOSE int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return err_sys(err, "open %s", path);
    return read_fd(fd, path, limit, out, err);
}

bool fs_write_all(int fd, const char *bytes, size_t count, struct err *err)
{
    while (count) {
        ssize_t written = write(fd, bytes, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return err_sys(err, "write");
        bytes += written;
        count -= (size_t)written;
    }
    return true;
}

bool fs_unfinished_begin(int dir, struct fs_unfinished *out, struct err *err)
{
    *out = (struct fs_unfinished){.dir = dir};
    out->fd = fs_make_unfinished(dir, 0664, out->name, err);
    return out->fd >= 0;
}

void fs_unfinished_drop(struct fs_unfinished *file)
{
    if (file->fd < 0)
        return;
    close(steal_fd(&file->fd));
    unlinkat(file->dir, file->name, 0);
}

static bool close_and_rename(struct fs_unfinished *file, const char *name, bool sync,
                             struct err *err)
{
    if (sync && fsync(file->fd) != 0)
        return err_sys(err, "fsync");
    /* Some file systems tell that a write failed only here. */
    if (close(steal_fd(&file->fd)) != 0 && errno != EINTR)
        return err_sys(err, "close");
    return renameat(file->dir, file->name, file->dir, name) == 0 || err_sys(err, "rename");
}

bool fs_unfinished_publish(struct fs_unfinished *file, const char *name, bool sync, struct err *err)
{
    if (!close_and_rename(file, name, sync, err)) {
        fs_unfinished_drop(file);
        unlinkat(file->dir, file->name, 0);
        return false;
    }
    /* EINVAL: a file system whose folders need no fsync. */
    return !sync || fsync(file->dir) == 0 || errno == EINVAL || err_sys(err, "fsync its folder");
}

/* In the open folder: the file under a temporary name, then under its own. */
static bool write_and_rename(int folder, const char *name, const char *bytes, size_t count,
                             bool sync, struct err *err)
{
    AUTO(fs_unfinished_drop) struct fs_unfinished file;
    return fs_unfinished_begin(folder, &file, err) && fs_write_all(file.fd, bytes, count, err) &&
           fs_unfinished_publish(&file, name, sync, err);
}

static bool write_at(int dir, const char *name, const char *bytes, size_t count, bool sync,
                     struct err *err)
{
    AUTO_FREE char *folder_name = fs_dirname(name);
    AUTO_FREE char *last = fs_basename(name);
    AUTO_CLOSE int folder = dir == AT_FDCWD
                                ? openat(dir, folder_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                                : fs_open_folder_beneath(dir, folder_name);
    if (folder < 0)
        return err_sys(err, "write %s: open its folder", name);
    return write_and_rename(folder, last, bytes, count, sync, err)
               ? true
               : err_wrap(err, "write %s", name);
}

bool fs_write_atomic(int dir, const char *name, const char *bytes, size_t count, struct err *err)
{
    return write_at(dir, name, bytes, count, true, err);
}

bool fs_write_unsynced(int dir, const char *name, const char *bytes, size_t count, struct err *err)
{
    return write_at(dir, name, bytes, count, false, err);
}

/* The folder in which the last step of a path lies: opened, or dir itself. owned is what is to be
 * closed. */
static int open_above(int dir, const char *path, int *owned)
{
    *owned = -1;
    if (dir == AT_FDCWD || !strchr(path, '/'))
        return dir;
    AUTO_FREE char *above = fs_dirname(path);
    return *owned = fs_open_folder_beneath(dir, above);
}

/* Under a umask of 0 as well: what everybody may write is nobody's result. */
static const mode_t not_others = ~(mode_t)S_IWOTH;

int fs_make_dir_at(int dir, const char *name, mode_t mode, struct err *err)
{
    /* "link/" would be followed in spite of O_NOFOLLOW. */
    size_t length = strlen(name);
    while (length > 1 && name[length - 1] == '/')
        length--;
    AUTO_FREE char *plain = mem_strndup(name, length);
    AUTO_FREE char *last = dir == AT_FDCWD ? mem_strdup(plain) : fs_basename(plain);
    AUTO_CLOSE int owned = -1;
    int above = open_above(dir, plain, &owned);
    if ((above < 0 && above != AT_FDCWD) ||
        (mkdirat(above, last, mode & not_others) != 0 && errno != EEXIST)) {
        err_sys(err, "make folder %s", plain);
        return -1;
    }
    int fd = fs_open_folder_beneath(above, last);
    if (fd >= 0)
        return fd;
    int code = errno;
    struct stat status;
    if (fstatat(above, last, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode)) {
        fail_with_code(err, ELOOP, plain, "is a symbolic link");
        return -1;
    }
    errno = code;
    err_sys(err, "open folder %s", plain);
    return -1;
}

char *fs_nearest(const char *path)
{
    char *at = fs_resolve(NULL, path, NULL);
    while (access(at, F_OK) != 0 && errno != EACCES && strcmp(at, "/") != 0) {
        char *above = fs_dirname(at);
        free(at);
        at = above;
    }
    return at;
}

bool fs_can_make_path(const char *path, struct err *err)
{
    struct stat status;
    AUTO_FREE char *nearest = fs_nearest(path);
    if (stat(nearest, &status) != 0)
        return err_sys(err, "open folder %s", nearest);
    if (!S_ISDIR(status.st_mode)) {
        errno = ENOTDIR;
        return err_sys(err, "open folder %s", nearest);
    }
    return eaccess(nearest, W_OK | X_OK) == 0 || err_sys(err, "make a folder in %s", nearest);
}

int fs_make_path(const char *path, mode_t mode, struct err *err)
{
    AUTO_FREE char *steps = mem_strdup(path);
    for (char *slash = steps + 1; *steps && (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        /* What cannot be made may be there all the same (EACCES, EROFS); the last step tells. */
        mkdir(steps, mode & not_others);
        *slash = '/';
    }
    if (mkdir(path, mode & not_others) != 0 && errno != EEXIST) {
        int code = errno;
        struct stat status;
        if (stat(path, &status) != 0) {
            errno = code;
            err_sys(err, "make folder %s", path);
            return -1;
        }
    }
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        err_sys(err, "open folder %s", path);
    return fd;
}
