#include "machine/contain/cgroup_tree.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/procfs.h"
#include "machine/contain/sys.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

/* A job can nest cgroups as deep as it likes; deeper ones than this are still killed by the kernel,
 * only not removed. */
enum { DEPTH_MAX = 64, CLEAN_AGE_S = 60 };

bool cgroup_write_at(int dir, const char *file, const char *value)
{
    AUTO_CLOSE int fd = openat(dir, file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    return fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value);
}

bool cgroup_write(const char *folder, const char *file, const char *value)
{
    AUTO_CLOSE int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir >= 0 && cgroup_write_at(dir, file, value);
}

/* Visits every cgroup below dir, children first, then dir itself; takes dir. name is that of dir in
 * parent; parent is -1 for the leaf. */
typedef void visit_fn(void *context, int dir, int parent, const char *name);

static void visit(int dir, int parent, const char *name, int depth, visit_fn *each, void *context)
{
    AUTO_DIR DIR *listing = depth < DEPTH_MAX ? fs_list(dir, ".") : NULL;
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        if (entry->d_type != DT_DIR || strcmp(entry->d_name, ".") == 0 ||
            strcmp(entry->d_name, "..") == 0)
            continue;
        int child = openat(dir, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (child >= 0)
            visit(child, dir, entry->d_name, depth + 1, each, context);
    }
    each(context, dir, parent, name);
    close(dir);
}

static void visit_leaf(const char *leaf, visit_fn *each, void *context)
{
    int dir = open(leaf, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (dir >= 0)
        visit(dir, -1, leaf, 0, each, context);
}

static void thaw_one(void *context, int dir, int parent, const char *name)
{
    (void)context;
    (void)parent;
    (void)name;
    cgroup_write_at(dir, "cgroup.freeze", "0");
}

void cgroup_thaw(const char *leaf)
{
    visit_leaf(leaf, thaw_one, NULL);
}

void cgroup_kill(const char *leaf)
{
    cgroup_write(leaf, "cgroup.kill", "1");
}

static void remove_one(void *context, int dir, int parent, const char *name)
{
    (void)context;
    (void)dir;
    if (parent >= 0)
        unlinkat(parent, name, AT_REMOVEDIR);
    else
        rmdir(name);
}

bool cgroup_remove(const char *leaf)
{
    if (rmdir(leaf) == 0 || errno == ENOENT)
        return true;
    visit_leaf(leaf, remove_one, NULL);
    return access(leaf, F_OK) != 0 && errno == ENOENT;
}

/* "runner": where a runner was; "user": what root has delegated to a user. */
static bool is_tare_cgroup(const char *name)
{
    static const char *const kinds[] = {TARE_NAME "-job-", TARE_NAME "-trial-",
                                        TARE_NAME "-runner-", TARE_NAME "-user-"};
    EACH_OF (kind, kinds)
        if (strncmp(name, *kind, strlen(*kind)) == 0)
            return true;
    return false;
}

void cgroup_clean(const char *parent)
{
    AUTO_DIR DIR *listing = fs_list(AT_FDCWD, parent);
    int64_t now_ns = clock_realtime_ns();
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        struct stat info;
        if (!is_tare_cgroup(entry->d_name))
            continue;
        /* A leaf is made a moment before its job enters it; one that has been made lately may be
         * such a one. */
        if (fstatat(dirfd(listing), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
            now_ns / NS_PER_S - info.st_ctime < CLEAN_AGE_S)
            continue;
        AUTO_FREE char *leaf = mem_printf("%s/%s", parent, entry->d_name);
        if (cgroup_populated(leaf) == 0)
            cgroup_remove(leaf);
    }
}

struct each_pid {
    void (*each)(void *context, pid_t pid);
    void *context;
};

static void pids_of(void *context, int dir, int parent, const char *name)
{
    (void)parent;
    (void)name;
    const struct each_pid *call = context;
    AUTO_CLOSE int fd = openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    AUTO_FILE FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (!file)
        return;
    steal_fd(&fd);
    char line[32];
    uint64_t pid = 0;
    while (fgets(line, sizeof line, file))
        if (proc_number_parse(line, strcspn(line, "\n"), INT_MAX, &pid) && pid > 0)
            call->each(call->context, (pid_t)pid);
}

void cgroup_each_pid(const char *leaf, void (*each)(void *context, pid_t pid), void *context)
{
    struct each_pid call = {each, context};
    visit_leaf(leaf, pids_of, &call);
}
