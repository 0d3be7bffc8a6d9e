#include "machine/contain/cgroup_tree.h"
#include "machine/contain/scope.h"

#include "base/mem.h"
#include "base/procfs.h"
#include "machine/contain/mountinfo.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

enum { MOUNTINFO_MAX = 4 << 20, CGROUP_FILE_MAX = 65536 };
static const long CGROUP2_MAGIC = 0x63677270; /* CGROUP2_SUPER_MAGIC of linux/magic.h */

/* The last cgroup v2 mount listed covers earlier ones; our cgroup is seen through it when its root
 * is a folder above. */
char *cgroup_own_path(const char *mountinfo, size_t mountinfo_length, const char *cgroup,
                      size_t cgroup_length, bool at_root)
{
    AUTO_FREE struct mount *mount = mem_alloc(sizeof *mount);
    char own[4096];
    const char *at = mountinfo, *end = mountinfo + mountinfo_length;
    while (mountinfo_next(&at, end, mount)) {
        if (strcmp(mount->type, "cgroup2") != 0)
            continue;
        if (at_root)
            return mem_strdup(mount->point);
        if (!proc_cgroup_path(cgroup, cgroup_length, NULL, own, sizeof own))
            return NULL;
        /* "/../x": outside of this cgroup namespace. */
        if (strcmp(own, "/..") == 0 || strncmp(own, "/../", 4) == 0)
            continue;
        size_t root = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);
        if (strncmp(own, mount->root, root) != 0 || (own[root] != '/' && own[root] != '\0'))
            continue;
        const char *below = strcmp(own + root, "/") == 0 ? "" : own + root;
        return mem_printf("%s%s", mount->point, below);
    }
    return NULL;
}

static ssize_t folder_read(const char *folder, const char *file, char *out, size_t size)
{
    AUTO_CLOSE int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir < 0 ? -1 : proc_read_at(dir, file, out, size);
}

bool cgroup_has_memory(const char *cgroup, const char *file)
{
    char words[1024], *rest = NULL;
    if (folder_read(cgroup, file, words, sizeof words) < 0)
        return false;
    for (const char *word = strtok_r(words, " \n", &rest); word;
         word = strtok_r(NULL, " \n", &rest))
        if (strcmp(word, "memory") == 0)
            return true;
    return false;
}

/* A controller reaches our leaves only when their parent hands it down; refused where the parent
 * has processes of its own (except at the root), which costs the limit and nothing else. */
static void hand_down(const char *parent)
{
    if (cgroup_has_memory(parent, "cgroup.controllers") &&
        !cgroup_has_memory(parent, "cgroup.subtree_control"))
        cgroup_write(parent, "cgroup.subtree_control", "+memory");
}

/* Makes a folder there, which stays when it has a name to keep. */
static bool parent_try(const char *parent, const char *kept, struct err *err)
{
    AUTO_FREE char *trial = kept ? mem_printf("%s/%s", parent, kept)
                                 : mem_printf("%s/" TARE_NAME "-trial-%d", parent, (int)getpid());
    if (mkdir(trial, 0755) != 0 && errno != EEXIST)
        return err_sys(err, "mkdir %s", trial);
    AUTO_FREE char *procs = mem_printf("%s/cgroup.procs", trial);
    bool usable = access(procs, W_OK) == 0;
    if (!usable)
        err_sys(err, "write %s", procs);
    if (!usable || !kept)
        rmdir(trial);
    if (usable)
        hand_down(parent);
    return usable;
}

/* NULL: no cgroup v2 that holds this process. */
static char *own_folder(bool at_root, struct err *err)
{
    AUTO_FREE char *mounts = mem_resize(NULL, MOUNTINFO_MAX, 1);
    char own[CGROUP_FILE_MAX];
    ssize_t mounts_length = proc_read_at(AT_FDCWD, "/proc/self/mountinfo", mounts, MOUNTINFO_MAX);
    ssize_t own_length = proc_read_at(AT_FDCWD, "/proc/self/cgroup", own, sizeof own);
    if (mounts_length < 0 || own_length < 0) {
        err_sys(err, "read /proc/self/mountinfo and cgroup");
        return NULL;
    }
    char *folder = cgroup_own_path(mounts, (size_t)mounts_length, own, (size_t)own_length, at_root);
    if (!folder)
        err_set(err, "no cgroup v2 is mounted that holds this process");
    return folder;
}

char *cgroup_own(struct err *err)
{
    return own_folder(false, err);
}

/* The first of these that can be used, stolen; what cannot, err tells. */
static char *parent_of_own(const char *kept, struct err *err)
{
    static const char runner[] = "/" TARE_NAME "-runner-";
    AUTO_FREE char *own = cgroup_own(err);
    char *name = own ? strrchr(own, '/') : NULL;
    if (name && strncmp(name, runner, sizeof runner - 1) == 0)
        *name = '\0';
    return own && parent_try(own, kept, err) ? steal_ptr(own) : NULL;
}

static char *parent_of_scope(bool insist, const char *kept, struct err *err)
{
    static const char linger[] = "/var/lib/systemd/linger";
    struct err why = {0};
    AUTO_FREE char *own = cgroup_own(err);
    const struct passwd *user = getpwuid(geteuid());
    if (!own)
        return NULL;
    if (!scope_manager_there())
        err_set(&why, "there is no systemd user manager");
    else if (!insist && !scope_outlives_login(own, geteuid(), linger, user ? user->pw_name : NULL))
        err_set(&why, "a scope of systemd's user manager would end with your last login ('loginctl "
                      "enable-linger' "
                      "changes that, '--containment cgroup' takes it as it is)");
    else if (scope_enter(&why))
        return parent_of_own(kept, err);
    AUTO_FREE char *first = mem_strdup(err->text);
    err_set(err, "%s; %s", first, why.text);
    return NULL;
}

static char *find_parent(bool insist, const char *kept, struct err *err)
{
    struct err local = {0};
    char *parent = parent_of_own(kept, &local);
    if (!parent && geteuid() == 0) {
        AUTO_FREE char *root = own_folder(true, &local);
        parent = root && parent_try(root, kept, &local) ? steal_ptr(root) : NULL;
    } else if (!parent) {
        parent = parent_of_scope(insist, kept, &local);
    }
    if (!parent && err)
        *err = local;
    return parent;
}

char *cgroup_find_parent(bool insist, struct err *err)
{
    return find_parent(insist, NULL, err);
}

char *cgroup_find_leaf(bool insist, const char *tag, char **parent, struct err *err)
{
    AUTO_FREE char *name = cgroup_leaf_path("", tag);
    *parent = find_parent(insist, name + 1, err);
    return *parent ? cgroup_leaf_path(*parent, tag) : NULL;
}

char *cgroup_leaf_path(const char *parent, const char *tag)
{
    return mem_printf("%s/" TARE_NAME "-job-%s", parent, tag);
}

bool cgroup_make(const char *leaf, struct err *err)
{
    return mkdir(leaf, 0755) == 0 || err_sys(err, "mkdir %s", leaf);
}

bool cgroup_is_leaf_of(const char *leaf, const char *tag)
{
    AUTO_FREE char *name = cgroup_leaf_path("", tag);
    size_t length = strlen(leaf), name_length = strlen(name);
    struct statfs fs;
    struct stat status;
    if (leaf[0] != '/' || strchr(tag, '/') || length < name_length ||
        strcmp(leaf + length - name_length, name) != 0)
        return false;
    /* A link could change between this check and the write to cgroup.kill. */
    AUTO_FREE char *real = realpath(leaf, NULL);
    return real && strcmp(real, leaf) == 0 && statfs(leaf, &fs) == 0 &&
           (long)fs.f_type == CGROUP2_MAGIC && lstat(leaf, &status) == 0 &&
           status.st_uid == geteuid();
}

void cgroup_limit_memory(const char *leaf, uint64_t bytes)
{
    AUTO_FREE char *number = mem_printf("%" PRIu64, bytes);
    if (bytes == 0)
        return;
    cgroup_write(leaf, "memory.swap.max", "0");
    cgroup_write(leaf, "memory.max", number);
}

bool cgroup_has_memory_limit(const char *leaf)
{
    char held[64];
    return folder_read(leaf, "memory.max", held, sizeof held) >= 0 && strncmp(held, "max", 3) != 0;
}

bool cgroup_oom_kills(const char *leaf, uint64_t *out)
{
    char events[1024];
    ssize_t length = folder_read(leaf, "memory.events", events, sizeof events);
    return length > 0 && proc_keyed_number(events, (size_t)length, "oom_kill", out);
}

/* The kernel takes what it cannot give, too: what counts is what then holds. */
static bool cpus_hold(const char *leaf, const struct cpus *cpus)
{
    AUTO_FREE char *text = mem_alloc(CGROUP_FILE_MAX);
    struct cpus held;
    ssize_t length = folder_read(leaf, "cpuset.cpus.effective", text, CGROUP_FILE_MAX);
    return length > 0 && cpus_parse(text, (size_t)length, &held) && cpus_equal(&held, cpus);
}

bool cgroup_limit_cpus(const char *leaf, const struct cpus *cpus)
{
    AUTO_TEXT struct text list = {0};
    AUTO_FREE char *file = mem_printf("%s/cpuset.cpus", leaf);
    AUTO_FREE char *parent = mem_strndup(leaf, (size_t)(strrchr(leaf, '/') - leaf));
    cpus_print(cpus, &list);
    if (access(file, F_OK) != 0)
        cgroup_write(parent, "cgroup.subtree_control", "+cpuset");
    return cgroup_write(leaf, "cpuset.cpus", text_get(&list)) && cpus_hold(leaf, cpus);
}

int cgroup_populated(const char *leaf)
{
    char events[256];
    uint64_t populated = 1;
    ssize_t length = folder_read(leaf, "cgroup.events", events, sizeof events);
    if (length < 0)
        return errno == ENOENT || errno == ENODEV ? -1 : 1;
    proc_keyed_number(events, (size_t)length, "populated", &populated);
    return populated != 0;
}

bool cgroup_cpu_s(const char *leaf, double *out)
{
    char stat[4096];
    uint64_t usec = 0;
    ssize_t length = folder_read(leaf, "cpu.stat", stat, sizeof stat);
    if (length < 0 || !proc_keyed_number(stat, (size_t)length, "usage_usec", &usec))
        return false;
    *out = (double)usec / 1e6;
    return true;
}

bool cgroup_peak_memory(const char *leaf, uint64_t *out)
{
    char peak[64];
    ssize_t length = folder_read(leaf, "memory.peak", peak, sizeof peak);
    return length > 1 && proc_number_parse(peak, (size_t)length - 1, UINT64_MAX, out);
}

/* Cgroups that are made for this program itself, or handed to a user. */

/* Another call can remove the folder, as an empty one, between its making and its use. */
enum { TRIES = 3 };

bool cgroup_enter_runner(const char *parent, struct err *err)
{
    AUTO_FREE char *own = mem_printf("%s/" TARE_NAME "-runner-%d", parent, (int)getpid());
    if (mkdir(own, 0755) != 0 && errno != EEXIST)
        return err_sys(err, "mkdir %s", own);
    return cgroup_write(own, "cgroup.procs", "0") || err_sys(err, "enter %s", own);
}

/* Hands over the folder and the files that move processes and enable controllers; limits keep their
 * owner. A cgroup file system has no links, and each step starts at the opened folder. */
static bool delegate_cgroup(int folder, uid_t uid, gid_t gid)
{
    static const char *const files[] = {"cgroup.procs", "cgroup.threads", "cgroup.subtree_control"};
    EACH_OF (file, files)
        if (fchownat(folder, *file, uid, gid, AT_SYMLINK_NOFOLLOW) != 0 && errno != ENOENT)
            return false;
    return fchown(folder, uid, gid) == 0;
}

static int make_below(int parent, const char *name)
{
    if (mkdirat(parent, name, 0755) != 0 && errno != EEXIST)
        return -1;
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

static bool delegate_below(const char *parent, uid_t uid, gid_t gid)
{
    AUTO_FREE char *user_name = mem_printf(TARE_NAME "-user-%u", (unsigned)uid);
    AUTO_FREE char *runner_name = mem_printf(TARE_NAME "-runner-%d", (int)getpid());
    AUTO_FREE char *users = mem_printf("%s/%s", parent, user_name);
    cgroup_clean(users);
    AUTO_CLOSE int top = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_CLOSE int user = top >= 0 ? make_below(top, user_name) : -1;
    AUTO_CLOSE int runner = user >= 0 ? make_below(user, runner_name) : -1;
    return runner >= 0 && cgroup_write_at(runner, "cgroup.procs", "0") &&
           delegate_cgroup(runner, uid, gid) && delegate_cgroup(user, uid, gid);
}

bool cgroup_delegate(uid_t uid, gid_t gid)
{
    AUTO_FREE char *parent = cgroup_find_parent(false, NULL);
    if (!parent)
        return false;
    cgroup_clean(parent);
    for (int i = 0; i < TRIES; i++)
        if (delegate_below(parent, uid, gid))
            return true;
    return false;
}
