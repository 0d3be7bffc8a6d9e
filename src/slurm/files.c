#include "slurm/collect.h"

#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 16, PIECE = 1 << 16 };

static bool copy_bytes(int from, int to, struct err *err)
{
    char bytes[PIECE];
    ssize_t got;
    while ((got = read(from, bytes, sizeof bytes)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_sys(err, "read");
        if (!fs_write_all(to, bytes, (size_t)got, err))
            return false;
    }
    return true;
}

static bool copy_file(int from, int to, const char *name, struct err *err)
{
    AUTO_CLOSE int in = fs_open_at(from, name, err);
    if (in < 0)
        return false;
    AUTO_CLOSE int out = fs_open_beneath(to, name, O_WRONLY | O_CREAT | O_EXCL, 0664);
    if (out < 0)
        return err_sys(err, "make %s", name);
    return copy_bytes(in, out, err) || err_wrap(err, "copy %s", name);
}

static bool link_file(int from, int to, const char *name, struct err *err)
{
    if (linkat(from, name, to, name, 0) == 0 || errno == EEXIST)
        return true;
    bool unlinkable = errno == EPERM || errno == EXDEV || errno == EMLINK || errno == ENOTSUP || errno == ENOSYS;
    if (errno == ENOENT)
        return true; /* renamed or removed meanwhile: its writer lives */
    return unlinkable ? copy_file(from, to, name, err) : err_sys(err, "link %s", name);
}

static bool link_all(int from, int to, int depth, struct err *err);

static bool link_folder(int from, int to, const char *name, int depth, struct err *err)
{
    AUTO_CLOSE int below = fs_open_folder_beneath(from, name);
    if (below < 0)
        return errno == ENOENT || err_sys(err, "open %s", name);
    AUTO_CLOSE int made = fs_make_dir_at(to, name, 0777, err);
    return made >= 0 && (link_all(below, made, depth + 1, err) || err_wrap(err, "%s", name));
}

static bool link_all(int from, int to, int depth, struct err *err)
{
    if (depth > DEPTH_MAX)
        return err_set(err, "folders are more than %d deep", DEPTH_MAX);
    AUTO_DIR DIR *dir = fs_list(from, ".");
    if (!dir)
        return err_sys(err, "read a folder");
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct stat status;
        const char *name = entry->d_name;
        if (name[0] == '.' || fstatat(from, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (S_ISREG(status.st_mode) && !link_file(from, to, name, err))
            return false;
        if (S_ISDIR(status.st_mode) && !link_folder(from, to, name, depth, err))
            return false;
    }
    return true;
}

bool files_link_tree(int from, int to, struct err *err)
{
    return link_all(from, to, 0, err);
}

static bool remove_below(int dir, int depth, struct err *err)
{
    if (depth > DEPTH_MAX)
        return err_set(err, "folders are more than %d deep", DEPTH_MAX);
    AUTO_DIR DIR *open_dir = fs_list(dir, ".");
    if (!open_dir)
        return err_sys(err, "read a folder");
    for (struct dirent *entry; (entry = readdir(open_dir));) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || unlinkat(dir, name, 0) == 0 || errno == ENOENT)
            continue;
        if (errno != EISDIR && errno != EPERM)
            return err_sys(err, "remove %s", name);
        AUTO_CLOSE int below = fs_open_folder_beneath(dir, name);
        if (below < 0)
            return err_sys(err, "open %s", name);
        if (!remove_below(below, depth + 1, err))
            return err_wrap(err, "%s", name);
        if (unlinkat(dir, name, AT_REMOVEDIR) != 0)
            return err_sys(err, "remove %s", name);
    }
    return true;
}

bool files_remove_tree(int dir, const char *name, struct err *err)
{
    AUTO_CLOSE int below = fs_open_folder_beneath(dir, name);
    if (below < 0)
        return errno == ENOENT || err_sys(err, "open %s", name);
    if (!remove_below(below, 0, err))
        return err_wrap(err, "%s", name);
    return unlinkat(dir, name, AT_REMOVEDIR) == 0 || err_sys(err, "remove %s", name);
}
