#include "machine/contain/thaw.h"
#include "machine/contain/cgroup_tree.h"

#include "base/mem.h"
#include "machine/contain/mountinfo.h"

#include <fcntl.h>
#include <string.h>

enum { MOUNTINFO_MAX = 4 << 20 };

bool thaw_folder_is_foreign(const char *path, size_t length, const char *own)
{
    if (length == 0 || strcmp(path, "/") == 0)
        return false;
    return strncmp(own, path, length) != 0 || (own[length] != '/' && own[length] != '\0');
}

size_t thaw_folder_above(const char *path, size_t length)
{
    while (length > 0 && path[length - 1] != '/')
        length--;
    return length > 0 ? length - 1 : 0;
}

/* Where the v1 freezer is mounted; NULL: nowhere. Its root in the mount goes to root (as
 * /proc/PID/cgroup spells paths). */
static char *freezer_point(char **root)
{
    AUTO_FREE char *mounts = mem_resize(NULL, MOUNTINFO_MAX, 1);
    AUTO_FREE struct mount *mount = mem_alloc(sizeof *mount);
    ssize_t length = proc_read_at(AT_FDCWD, "/proc/self/mountinfo", mounts, MOUNTINFO_MAX);
    const char *at = mounts, *end = mounts + (length > 0 ? length : 0);
    while (mountinfo_next(&at, end, mount)) {
        if (strcmp(mount->type, "cgroup") != 0 || !mount_option_has(mount->options, "freezer"))
            continue;
        *root = mem_strdup(strcmp(mount->root, "/") == 0 ? "" : mount->root);
        return mem_strdup(mount->point);
    }
    return NULL;
}

static bool freezer_path(const char *who, char *out, size_t size)
{
    char path[40], text[8192];
    snprintf(path, sizeof path, "/proc/%s/cgroup", who);
    ssize_t length = proc_read_at(AT_FDCWD, path, text, sizeof text);
    return length > 0 && proc_cgroup_path(text, (size_t)length, "freezer", out, size);
}

static void thaw_member(const char *point, const char *root, const char *own, pid_t pid)
{
    char who[16], path[4096];
    snprintf(who, sizeof who, "%d", (int)pid);
    if (!freezer_path(who, path, sizeof path) || strncmp(path, root, strlen(root)) != 0)
        return;
    size_t skip = strlen(root);
    for (size_t length = strlen(path); length > skip && thaw_folder_is_foreign(path, length, own);
         length = thaw_folder_above(path, length)) {
        AUTO_FREE char *folder = mem_printf("%s%.*s", point, (int)(length - skip), path + skip);
        cgroup_write(folder, "freezer.state", "THAWED");
    }
}

void thaw_tree(const struct tree_seed *seed)
{
    if (seed->cgroup)
        cgroup_thaw(seed->cgroup);
    AUTO_FREE char *root = NULL;
    AUTO_FREE char *point = freezer_point(&root);
    char own[4096];
    if (!point || !freezer_path("self", own, sizeof own))
        return;
    struct tree tree;
    tree_scan(seed, &tree);
    EACH (process, tree.processes, tree.count)
        if (process->member && proc_stat_alive(&process->stat))
            thaw_member(point, root, own, process->stat.pid);
    tree_fini(&tree);
}
