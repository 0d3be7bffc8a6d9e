#include "machine/contain/mounts.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>

/* Since Linux 5.2, the same number on every architecture; older kernel headers lack them, and glibc
 * before 2.36 their flags. */
#ifndef SYS_move_mount
#define SYS_move_mount 429
#define SYS_fsopen     430
#define SYS_fsconfig   431
#define SYS_fsmount    432
#endif
#ifndef SYS_mount_setattr /* Linux 5.12 */
#define SYS_mount_setattr 442
#endif
enum {
    FS_CLOEXEC = 1,
    CREATE = 6,
    ATTR_NOSUID_NODEV_NOEXEC = 2 | 4 | 8,
    FROM_EMPTY_PATH = 4,
    LAYERS_MAX = 16
};
enum { ATTR_RDONLY = 1, WITH_MOUNTS_BELOW = 0x8000 };

/* struct mount_attr of <linux/mount.h> */
struct attributes {
    uint64_t set, clear, propagation, userns_fd;
};

/* What root's trainings and the tools around them use: files of others, users, network, priorities,
 * pinned memory, profiles. */
static const uint64_t kept =
    1ULL << CAP_CHOWN | 1ULL << CAP_DAC_OVERRIDE | 1ULL << CAP_FOWNER | 1ULL << CAP_FSETID |
    1ULL << CAP_KILL | 1ULL << CAP_SETGID | 1ULL << CAP_SETUID | 1ULL << CAP_SETPCAP |
    1ULL << CAP_SETFCAP | 1ULL << CAP_NET_BIND_SERVICE | 1ULL << CAP_NET_BROADCAST |
    1ULL << CAP_NET_ADMIN | 1ULL << CAP_NET_RAW | 1ULL << CAP_IPC_LOCK | 1ULL << CAP_IPC_OWNER |
    1ULL << CAP_SYS_CHROOT | 1ULL << CAP_SYS_NICE | 1ULL << CAP_SYS_RESOURCE | 1ULL << CAP_LEASE |
    1ULL << CAP_AUDIT_WRITE | 1ULL << 38 /* CAP_PERFMON, Linux 5.8 */;

/* Lowers the inheritable set of this process, and with it the ambient one; own: all sets. */
static bool lower_capabilities(bool own)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2] = {0};
    if (syscall(SYS_capget, &header, sets) != 0)
        return false;
    for (unsigned i = 0; i < 2; i++) {
        uint32_t mask = (uint32_t)(kept >> 32 * i);
        sets[i].inheritable &= mask;
        if (own) {
            sets[i].permitted &= mask;
            sets[i].effective &= mask;
        }
    }
    return syscall(SYS_capset, &header, sets) == 0;
}

/* The init itself keeps what it has, for it executes nothing; with more than the command it is
 * nobody whom the command may trace. */
bool init_rights_drop(void)
{
    /* EINVAL: the kernel knows no more of them. */
    for (unsigned cap = 0; cap < 64; cap++)
        if (!(kept >> cap & 1) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0) {
            if (errno == EINVAL)
                break;
            return false;
        }
    return lower_capabilities(false);
}

void init_rights_lower(void)
{
    lower_capabilities(true);
}

/* The command's /proc in place of the one that shows the machine's processes; over it, where that
 * cannot be taken away (in a user namespace) or would be from the machine, too (detach is false).
 * First made, then put there: once no /proc is seen any more, the kernel lets a container's root
 * make none. */
static bool replace_proc(bool detach)
{
    AUTO_CLOSE int context = !detach ? -1 : (int)syscall(SYS_fsopen, "proc", FS_CLOEXEC);
    int made = context >= 0 && syscall(SYS_fsconfig, context, CREATE, NULL, NULL, 0) == 0
                   ? (int)syscall(SYS_fsmount, context, FS_CLOEXEC, ATTR_NOSUID_NODEV_NOEXEC)
                   : -1;
    bool done = false;
    if (made >= 0) {
        for (int i = 0; i < LAYERS_MAX && umount2("/proc", MNT_DETACH) == 0; i++)
            ;
        done = syscall(SYS_move_mount, made, "", AT_FDCWD, "/proc", FROM_EMPTY_PATH) == 0;
        close(made);
    }
    return done || mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0;
}

static bool is_init_folder(int fd, const struct init_folder *folder)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return false;
    errno = ESTALE;
    return status.st_dev == folder->dev && status.st_ino == folder->ino;
}

/* Does not follow a link at the end. -1: errno; ESTALE if it is another folder. */
static int open_init_folder(const struct init_folder *folder)
{
    int fd = open(folder->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || is_init_folder(fd, folder))
        return fd;
    close(fd);
    errno = ESTALE;
    return -1;
}

/* Whether the folder is where it was, on a mount that can be written, or not. False: errno. */
static bool is_mounted(const struct init_folder *folder, bool read_only)
{
    struct statfs mounted;
    AUTO_CLOSE int fd = open_init_folder(folder);
    if (fd < 0 || fstatfs(fd, &mounted) != 0)
        return false;
    errno = EBUSY;
    return !!(mounted.f_flags & MS_RDONLY) == read_only;
}

/* The flags of a mount that a user namespace has inherited are locked: all are said again. Those of
 * statfs(2) have the numbers of mount(2); access times stay as they are where nothing is said of
 * them. */
static bool remount_read_only(const char *path)
{
    struct statfs mounted;
    return statfs(path, &mounted) == 0 &&
           mount(NULL, path, NULL,
                 MS_BIND | MS_REMOUNT | MS_RDONLY |
                     ((unsigned long)mounted.f_flags & (MS_NOSUID | MS_NODEV | MS_NOEXEC)),
                 NULL) == 0;
}

static bool make_read_only(const char *path)
{
    return mount(path, path, NULL, MS_BIND | MS_REC, NULL) == 0 && remount_read_only(path);
}

/* The folder and all that is mounted below it. Older kernels cannot do that: there the copy lacks
 * the mounts below, or, where a user namespace must not uncover what these cover, is refused. */
static bool protect_folder(const struct init_folder *folder)
{
    struct attributes attributes = {.set = ATTR_RDONLY};
    AUTO_CLOSE int fd = open_init_folder(folder);
    if (fd < 0 || mount(folder->path, folder->path, NULL, MS_BIND | MS_REC, NULL) != 0)
        return false;
    if (syscall(SYS_mount_setattr, AT_FDCWD, folder->path, WITH_MOUNTS_BELOW, &attributes,
                sizeof attributes) != 0 &&
        (errno != ENOSYS || umount2(folder->path, MNT_DETACH) != 0 ||
         mount(folder->path, folder->path, NULL, MS_BIND, NULL) != 0 ||
         !remount_read_only(folder->path)))
        return false;
    return is_mounted(folder, true);
}

/* Each; the first that cannot be protected ends it. */
static bool protect_folders(const struct init_plan *plan)
{
    EACH (item, plan->read_only, JOB_READ_ONLY_MAX)
        if (item->path && !protect_folder(item))
            return false;
    return true;
}

static bool protect_records(const struct init_plan *plan)
{
    char own[40];
    AUTO_CLOSE int writable = open_init_folder(&plan->own),
                   records = open_init_folder(&plan->records);
    bool held = writable >= 0 && records >= 0 && make_read_only(plan->records.path);
    if (held) {
        snprintf(own, sizeof own, "/proc/self/fd/%d", writable);
        held = mount(own, plan->own.path, NULL, MS_BIND | MS_REC, NULL) == 0 &&
               is_mounted(&plan->own, false) && is_mounted(&plan->records, true);
        int error = errno;
        if (!held)
            umount2(plan->records.path, MNT_DETACH);
        errno = error;
    }
    return held;
}

/* As large as what it covers may become. */
static bool mount_own(const char *path)
{
    struct statfs covered;
    char options[64] = "mode=1777";
    if (statfs(path, &covered) == 0 && covered.f_type == TMPFS_MAGIC && covered.f_blocks > 0)
        snprintf(options, sizeof options, "mode=1777,size=%llu",
                 (unsigned long long)covered.f_blocks * (unsigned long long)covered.f_bsize);
    return mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options) == 0;
}

static bool is_path_below(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    return path && strncmp(path, folder, length) == 0 &&
           (path[length] == '/' || path[length] == '\0');
}

static int mount_own_spaces(const struct init_plan *plan)
{
    if (plan->own_shm && !mount_own("/dev/shm"))
        return INIT_STEP_OWN_SHM;
    if (!plan->own_tmp)
        return INIT_STEP_NONE;
    errno = EBUSY;
    return !is_path_below(plan->records.path, "/tmp") && !is_path_below(plan->cwd, "/tmp") &&
                   mount_own("/tmp")
               ? INIT_STEP_NONE
               : INIT_STEP_OWN_TMP;
}

/* Makes the folder above a mount point: else it is renamed, and another put in its place, with the
 * cover gone. In a sticky one (/tmp) others' folders cannot be renamed, and so much uses it that it
 * stays as it is. */
static void pin_folder_above(const char *path)
{
    struct stat status;
    AUTO_FREE char *above = mem_strdup(path);
    char *slash = strrchr(above, '/');
    if (!slash || slash == above)
        return;
    *slash = '\0';
    if (stat(above, &status) == 0 && !(status.st_mode & S_ISVTX))
        mount(above, above, NULL, MS_BIND | MS_REC, NULL);
}

/* Failures are ignored: the job then sees what one without a mount namespace sees. */
static void hide_folders(const struct init_plan *plan)
{
    char options[64], cwd[PATH_MAX];
    bool known = getcwd(cwd, sizeof cwd);
    snprintf(options, sizeof options, "mode=0700,size=64m,uid=%u,gid=%u",
             (unsigned)(plan->change_user ? plan->uid : geteuid()),
             (unsigned)(plan->change_user ? plan->gid : getegid()));
    for (char *const *path = plan->hidden; path && *path; path++) {
        pin_folder_above(*path);
        mount("tmpfs", *path, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options);
    }
    /* Else a path from here would lead around them. */
    if (known)
        (void)!chdir(cwd);
}

int mounts_settle(const struct init_plan *plan, int32_t *records_error)
{
    /* Nothing of it may spread to the mounts of the machine. In a chroot / is often no mount point;
     * /proc is one. */
    bool all_private = mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0;
    int error = errno;
    if (!all_private && mount(NULL, "/proc", NULL, MS_PRIVATE, NULL) != 0)
        return INIT_STEP_PRIVATE_MOUNTS;
    if (!replace_proc(all_private))
        return INIT_STEP_MOUNT_PROC;
    int step = all_private     ? mount_own_spaces(plan)
               : plan->own_shm ? INIT_STEP_OWN_SHM
               : plan->own_tmp ? INIT_STEP_OWN_TMP
                               : 0;
    if (step != INIT_STEP_NONE)
        return step;
    if (all_private)
        hide_folders(plan);
    bool protected = false;
    bool asked = plan->records.path || plan->read_only[0].path;
    if (asked && all_private) {
        protected = (!plan->records.path || protect_records(plan)) && protect_folders(plan);
        error = errno;
        /* From here a path through the mounts below would lead around them. */
        (void)!chdir("/");
    }
    bool dropped = init_rights_drop();
    if (protected && !dropped)
        error = errno;
    *records_error = protected && dropped ? 0 : error ? error : EIO;
    return INIT_STEP_NONE;
}
