#include "base/fs.h"

#include "base/cleanup.h"
#include "base/rng.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Folders may nest so deep. */
enum { DEPTH_MAX = 8 };

bool fs_is_unfinished_name(const char *name)
{
    static const char prefix[] = FS_UNFINISHED_PREFIX;
    if (strncmp(name, prefix, sizeof prefix - 1) != 0)
        return false;
    const char *digits = name + sizeof prefix - 1;
    return strspn(digits, "0123456789abcdef") == FS_UNFINISHED_DIGITS && digits[FS_UNFINISHED_DIGITS] == '\0';
}

int fs_make_unfinished(int folder, mode_t mode, char out[FS_UNFINISHED_SIZE], struct err *err)
{
    snprintf(out, FS_UNFINISHED_SIZE, FS_UNFINISHED_PREFIX "%0*" PRIx64, FS_UNFINISHED_DIGITS, rng_fresh_seed());
    int fd = openat(folder, out, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0)
        err_sys(err, "create a file beside it");
    return fd;
}

int fs_open_nameless(struct err *err)
{
    const char *set = getenv("TMPDIR"), *folder = set && *set ? set : P_tmpdir;
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    /* A file system that cannot: then memory takes its place. A kernel that does not know the flag opens a folder
     * for writing. */
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR))
        fd = memfd_create("nameless", MFD_CLOEXEC);
    if (fd < 0)
        err_sys(err, "make a temporary file in %s (TMPDIR)", folder);
    return fd;
}

static size_t clear_below(int dir, int depth);

static size_t clear_entry(int dir, const char *name, int depth)
{
    struct stat status;
    if (name[0] == '.' && !fs_is_unfinished_name(name))
        return 0;
    if (fstatat(dir, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return 0;
    if (S_ISREG(status.st_mode))
        return fs_is_unfinished_name(name) && unlinkat(dir, name, 0) == 0;
    if (!S_ISDIR(status.st_mode) || name[0] == '.' || depth >= DEPTH_MAX)
        return 0;
    AUTO_CLOSE int below = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return below >= 0 ? clear_below(below, depth + 1) : 0;
}

static size_t clear_below(int dir, int depth)
{
    size_t cleared = 0;
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy < 0 ? NULL : fdopendir(copy);
    for (struct dirent *entry; list && (entry = readdir(list));)
        cleared += clear_entry(dir, entry->d_name, depth);
    if (list)
        closedir(list);
    else if (copy >= 0)
        close(copy);
    return cleared;
}

size_t fs_clear_unfinished(int dir, bool below)
{
    return clear_below(dir, below ? 0 : DEPTH_MAX);
}
