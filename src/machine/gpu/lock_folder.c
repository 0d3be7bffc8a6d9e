/* The folder of the locks. */
#include "base/cleanup.h"
#include "base/fs_path.h"
#include "base/mem.h"
#include "machine/gpu/lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MODE_LIKE_TMP = 01777 };

static bool is_stranger(uid_t user)
{
    return user != 0 && user != geteuid();
}

/* Made as /tmp is, nobody can remove or replace another's files in it, but for root and its
 * owner. */
static bool is_sticky(const struct stat *status)
{
    return !(status->st_mode & 022) || (status->st_mode & S_ISVTX);
}

/* Who could put another folder in the place of this one: who may write above it. */
static bool check_above(int folder, const char *path, struct err *err)
{
    struct stat status, before;
    if (fstat(folder, &before) != 0)
        return err_sys(err, "stat %s", path);
    AUTO_CLOSE int fd = dup(folder);
    for (;;) {
        int above = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (above < 0 || fstat(above, &status) != 0) {
            cleanup_close(&above);
            return err_sys(err, "look above %s", path);
        }
        cleanup_close(&fd);
        fd = above;
        if (status.st_dev == before.st_dev && status.st_ino == before.st_ino)
            return true;
        if (is_stranger(status.st_uid))
            return err_set(err, "a folder above %s belongs to user %u, who could replace it", path,
                           (unsigned)status.st_uid);
        if (!is_sticky(&status))
            return err_set(err, "others may write to a folder above %s, and could replace it",
                           path);
        before = status;
    }
}

/* Whether nobody but root and this user can take locks in it away. */
static bool check_trust(int fd, const char *path, struct err *err)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return err_sys(err, "stat %s", path);
    if (is_stranger(status.st_uid))
        return err_set(err, "%s belongs to user %u, who could take locks away", path,
                       (unsigned)status.st_uid);
    if (!is_sticky(&status))
        return err_set(err, "others could take locks away from %s (mode %04o)", path,
                       (unsigned)status.st_mode & 07777);
    return check_above(fd, path, err);
}

static int open_lock_folder(const char *path, mode_t mode, struct err *err)
{
    struct stat status;
    bool made = mkdir(path, mode) == 0;
    if (!made && errno != EEXIST) {
        err_sys(err, "make folder %s", path);
        return -1;
    }
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && (errno == ELOOP || errno == ENOTDIR)) {
        err_set(err, "%s is no folder, or a link", path);
        return -1;
    }
    if (fd < 0) {
        err_sys(err, "open folder %s", path);
        if (err && lstat(path, &status) == 0 && is_stranger(status.st_uid))
            err_set(err, "%s belongs to user %u, who keeps others out", path,
                    (unsigned)status.st_uid);
        return -1;
    }
    /* The umask took bits away. */
    if ((made && fchmod(fd, mode) != 0) || fstat(fd, &status) != 0) {
        err_sys(err, "open folder %s", path);
        return -1;
    }
    if (is_stranger(status.st_uid) && (status.st_mode & 01002) != 01002) {
        err_set(err, "%s belongs to user %u, who could take our files away", path,
                (unsigned)status.st_uid);
        return -1;
    }
    if (status.st_uid == geteuid() && !is_sticky(&status))
        fchmod(fd, mode);
    if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) != 0) {
        err_sys(err, "write in %s", path);
        return -1;
    }
    return steal_fd(&fd);
}

static bool prepare_lock_folder(struct gpu_lock_folder *out, const char *path, bool shared,
                                struct err *err)
{
    out->fd = open_lock_folder(path, shared ? MODE_LIKE_TMP : 0700, err);
    if (out->fd < 0)
        return false;
    struct err doubt = {0};
    out->path = mem_strdup(path);
    out->shared = shared;
    if (!check_trust(out->fd, path, &doubt))
        out->doubt = mem_strdup(doubt.text);
    return true;
}

bool gpu_lock_folder_open(const char *shared, const char *runtime_dir, struct gpu_lock_folder *out,
                          struct err *err)
{
    struct err why = {0};
    *out = (struct gpu_lock_folder){.fd = -1};
    if (prepare_lock_folder(out, shared, true, &why))
        return true;
    if (runtime_dir && *runtime_dir == '/') {
        AUTO_FREE char *path = mem_printf("%s/" TARE_NAME, runtime_dir);
        if (prepare_lock_folder(out, path, false, err)) {
            out->reason = mem_strdup(why.text);
            /* Somebody else has put something in its place. */
            if (why.code == 0 && !out->doubt)
                out->doubt = mem_strdup(why.text);
            return true;
        }
    }
    if (err)
        *err = why;
    return false;
}

void gpu_lock_folder_fini(struct gpu_lock_folder *folder)
{
    cleanup_close(&folder->fd);
    free(folder->path);
    free(folder->reason);
    free(folder->doubt);
    *folder = (struct gpu_lock_folder){.fd = -1};
}

static bool is_lock_name(const char *name)
{
    size_t length = strlen(name);
    return strncmp(name, "gpu-", 4) == 0 && length > 9 && strcmp(name + length - 5, ".lock") == 0;
}

/* A file that somebody holds stays: its holder is a run, or is named by those who wait for it. */
static bool clear_name(int folder, const char *name, const char *path, struct err *err)
{
    struct stat status;
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        (S_ISREG(status.st_mode) && status.st_uid == 0 && status.st_nlink == 1))
        return true;
    AUTO_CLOSE int fd = S_ISREG(status.st_mode)
                            ? openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
                            : -1;
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0)
        return true;
    return unlinkat(folder, name, S_ISDIR(status.st_mode) ? AT_REMOVEDIR : 0) == 0 ||
           errno == ENOENT || err_sys(err, "remove %s/%s", path, name);
}

bool gpu_lock_folder_repair(const char *path, struct err *err)
{
    AUTO_FREE char *parent = fs_dirname(path);
    AUTO_FREE char *last = fs_basename(path);
    struct stat status;
    AUTO_CLOSE int above = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (above < 0)
        return err_sys(err, "open folder %s", parent);
    if (!check_trust(above, parent, err))
        return false;
    bool known = fstatat(above, last, &status, AT_SYMLINK_NOFOLLOW) == 0,
         usual = strcmp(path, GPU_LOCK_FOLDER) == 0;
    /* A path that was named may be meant for something else: what is not like a folder of locks
     * stays as it is. */
    if (known && !usual && (!S_ISDIR(status.st_mode) || (status.st_mode & 01002) != 01002))
        return status.st_uid == 0 || err_set(err, "%s is no folder with mode 1777", path);
    if (known && !S_ISDIR(status.st_mode) && unlinkat(above, last, 0) != 0)
        return err_sys(err, "remove %s", path);
    AUTO_CLOSE int fd = fs_make_dir_at(above, last, 0700, err);
    if (fd < 0)
        return false;
    if (fchown(fd, 0, 0) != 0 || fchmod(fd, MODE_LIKE_TMP) != 0)
        return err_sys(err, "make %s root's, with mode 1777", path);
    AUTO_DIR DIR *listing = fs_list(fd, ".");
    bool ok = true;
    for (const struct dirent *entry; ok && listing && (entry = readdir(listing));)
        ok = !is_lock_name(entry->d_name) || clear_name(fd, entry->d_name, path, err);
    return ok;
}
