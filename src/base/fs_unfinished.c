#include "base/fs.h"

#include "base/cleanup.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
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
