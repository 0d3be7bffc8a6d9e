#include "machine/gpu/lock.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file is for a moment not yet open to all while its maker sets its mode. */
enum { OPEN_TRIES = 50, OPEN_PAUSE_MS = 10, HOLDER_MAX = 4096 };

/* A holder needs a moment to sign; those who only look (gpu_lock_peek) are gone in a moment, on a
 * busy machine a long one. */
enum { SIGN_TRIES = 4, LOOKER_TRIES = 500, PAUSE_MS = 2 };

struct lock {
    char *name;         /* of the file */
    char *label;        /* of the GPU */
    int fd;             /* -1: not ours */
    struct stat status; /* of the file when it was last signed */
    bool passed;        /* held by the run that we are part of */
};

struct gpu_locks {
    int folder;
    char *folder_path;
    struct lock *items;
    size_t count;
};

const char *gpu_lock_label(const struct gpu_device *device)
{
    return *device->uuid ? device->uuid : device->bus;
}

static int compare_lock_names(const void *left, const void *right)
{
    const struct lock *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static void add_lock(struct gpu_locks *locks, const char *id, const char *label)
{
    if (*id)
        locks->items[locks->count++] = (struct lock){
            .name = mem_printf("gpu-%s.lock", id), .label = mem_strdup(label), .fd = -1};
}

struct gpu_locks *gpu_locks_new(const struct gpu_lock_folder *folder,
                                const struct gpu_device *const *devices, size_t count)
{
    struct gpu_locks *locks = mem_alloc(sizeof *locks);
    locks->folder = folder->fd;
    locks->folder_path = mem_strdup(folder->path);
    locks->items = mem_array(2 * count + 1, sizeof *locks->items);
    EACH (device, devices, count) {
        add_lock(locks, (*device)->uuid, gpu_lock_label(*device));
        add_lock(locks, (*device)->bus, gpu_lock_label(*device));
    }
    qsort(locks->items, locks->count, sizeof *locks->items, compare_lock_names);
    return locks;
}

/* Everybody may lock it, for which reading is enough, and its owner alone sign it. O_EXCL, because
 * the kernel refuses O_CREAT on another user's file in a folder like /tmp
 * (fs.protected_regular). */
static int open_once(const struct gpu_locks *locks, const char *name)
{
    const int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int fd = openat(locks->folder, name, O_RDWR | flags);
    if (fd < 0 && errno == ENOENT) {
        fd = openat(locks->folder, name, O_RDWR | O_CREAT | O_EXCL | flags, 0644);
        if (fd >= 0)
            fchmod(fd, 0644);
    }
    if (fd < 0 && (errno == EACCES || errno == EROFS))
        fd = openat(locks->folder, name, O_RDONLY | flags);
    return fd;
}

static int open_lock_file(const struct gpu_locks *locks, const char *name, struct err *err)
{
    int fd = open_once(locks, name);
    for (int i = 0;
         fd < 0 && (errno == EACCES || errno == EEXIST || errno == ENOENT) && i < OPEN_TRIES; i++) {
        poll(NULL, 0, OPEN_PAUSE_MS);
        fd = open_once(locks, name);
    }
    if (fd < 0 && errno == ELOOP)
        err_set(err, "%s/%s is a symbolic link", locks->folder_path, name);
    else if (fd < 0)
        err_sys(err, "open %s/%s", locks->folder_path, name);
    return fd;
}

static bool is_same_file(int folder, const char *name, const struct stat *opened)
{
    struct stat named;
    return fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           named.st_dev == opened->st_dev && named.st_ino == opened->st_ino;
}

/* Somebody may have put another file in its place since it was opened; with a second name it may be
 * anybody's file. */
static bool is_good_file(const struct gpu_locks *locks, const char *name, int fd, bool *replaced,
                         struct err *err)
{
    struct stat opened;
    *replaced = false;
    if (fstat(fd, &opened) != 0)
        return err_sys(err, "stat %s/%s", locks->folder_path, name);
    if (!S_ISREG(opened.st_mode))
        return err_set(err, "%s/%s is no regular file (user %u made it)", locks->folder_path, name,
                       (unsigned)opened.st_uid);
    if (opened.st_nlink > 1)
        return err_set(err, "%s/%s has a second name elsewhere", locks->folder_path, name);
    *replaced = !is_same_file(locks->folder, name, &opened);
    return true;
}

/* Over the old line first, then cut: a reader sees one or the other whole, since it reads up to the
 * end of the line. A file that is not ours to write stays as it is. */
static void sign(struct lock *lock, const struct gpu_holder *self)
{
    AUTO_TEXT struct text line = {0};
    gpu_holder_print(self, &line);
    bool written = pwrite(lock->fd, line.data, line.length, 0) == (ssize_t)line.length &&
                   ftruncate(lock->fd, (off_t)line.length) == 0;
    (void)written;
    if (fstat(lock->fd, &lock->status) != 0)
        lock->status = (struct stat){0};
}

/* What the file says counts where the kernel tells of the same process, or of none that can be seen
 * from here and the file of one in another pid namespace: of a container, or of the run that we are
 * part of. */
static bool is_believed(const struct gpu_lock_conflict *conflict, uint64_t own_namespace)
{
    bool near = conflict->holder.pid_namespace == own_namespace;
    return conflict->pid ? near && conflict->holder.pid == conflict->pid : !near;
}

static void read_holder(int fd, const char *label, struct gpu_lock_conflict *out)
{
    char bytes[HOLDER_MAX];
    struct stat status;
    struct gpu_holder self;
    struct file_lock_owner owner;
    gpu_holder_self(&self);
    *out = (struct gpu_lock_conflict){.label = label, .pid = file_lock_holder(fd)};
    out->own_file = fstat(fd, &status) == 0 && (status.st_uid == 0 || status.st_uid == geteuid());
    for (int i = 0; i < SIGN_TRIES && !out->has_holder; i++) {
        if (i > 0)
            poll(NULL, 0, PAUSE_MS);
        ssize_t count = pread(fd, bytes, sizeof bytes, 0);
        out->has_holder = count > 0 && gpu_holder_parse(bytes, (size_t)count, &out->holder) &&
                          is_believed(out, self.pid_namespace);
    }
    if (!out->has_holder)
        out->holder = (struct gpu_holder){.pid = out->pid,
                                          .pid_namespace = out->pid ? self.pid_namespace : 0};
    if (out->pid && file_lock_owner(out->pid, &owner)) {
        snprintf(out->holder.user, sizeof out->holder.user, "%s", owner.user);
        snprintf(out->command, sizeof out->command, "%s", owner.command);
    }
}

/* False and errno; EWOULDBLOCK: held. A lock that can be shared is held by nobody but those who
 * look. */
static bool lock_alone(int fd)
{
    for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
        if (errno == EINTR)
            continue;
        if (errno != EWOULDBLOCK || i >= LOOKER_TRIES || flock(fd, LOCK_SH | LOCK_NB) != 0)
            return false;
        flock(fd, LOCK_UN);
        poll(NULL, 0, PAUSE_MS);
    }
    return true;
}

/* What a killed run of another user left is that user's to remove, also while we hold it: who may
 * remove it (root) makes an own one. */
static bool remove_strangers(const struct gpu_locks *locks, const struct lock *lock, int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && status.st_uid != geteuid() &&
           unlinkat(locks->folder, lock->name, 0) == 0;
}

static enum gpu_lock_answer try_lock_gpu(const struct gpu_locks *locks, struct lock *lock,
                                         const struct gpu_holder *self,
                                         struct gpu_lock_conflict *conflict, struct err *err)
{
    for (int i = 0; i < OPEN_TRIES; i++) {
        AUTO_CLOSE int fd = open_lock_file(locks, lock->name, err);
        bool replaced;
        if (fd < 0 || !is_good_file(locks, lock->name, fd, &replaced, err))
            return GPU_LOCKS_FAILED;
        if (replaced)
            continue;
        if (!lock_alone(fd)) {
            if (errno != EWOULDBLOCK) {
                err_sys(err, "lock %s/%s", locks->folder_path, lock->name);
                return GPU_LOCKS_FAILED;
            }
            read_holder(fd, lock->label, conflict);
            return GPU_LOCKS_HELD;
        }
        if (!is_good_file(locks, lock->name, fd, &replaced, err))
            return GPU_LOCKS_FAILED;
        if (replaced || remove_strangers(locks, lock, fd))
            continue;
        lock->fd = steal_fd(&fd);
        sign(lock, self);
        return GPU_LOCKS_TAKEN;
    }
    err_set(err, "%s/%s is replaced again and again", locks->folder_path, lock->name);
    return GPU_LOCKS_FAILED;
}

/* Compares what the holder wrote, if only it or root can have written it; else the pid, if the file
 * is one that a killed run of another user left. */
static bool is_passed_holder(const struct gpu_lock_conflict *conflict,
                             const struct gpu_holder *passed, size_t count)
{
    EACH (item, passed, count) {
        bool said =
            conflict->has_holder && conflict->own_file && gpu_holder_same(&conflict->holder, item);
        bool seen = !conflict->own_file && conflict->pid && conflict->pid == item->pid &&
                    conflict->holder.pid_namespace == item->pid_namespace;
        if (said || seen)
            return true;
    }
    return false;
}

enum gpu_lock_answer gpu_locks_try(struct gpu_locks *locks, const struct gpu_holder *self,
                                   const struct gpu_holder *passed, size_t passed_count,
                                   struct gpu_lock_conflict *conflict, struct err *err)
{
    for (size_t i = 0; i < locks->count; i++) {
        struct lock *lock = &locks->items[i];
        if (lock->fd >= 0 || lock->passed)
            continue;
        enum gpu_lock_answer answer = try_lock_gpu(locks, lock, self, conflict, err);
        lock->passed = answer == GPU_LOCKS_HELD && is_passed_holder(conflict, passed, passed_count);
        if (answer != GPU_LOCKS_TAKEN && !lock->passed)
            return answer;
    }
    return GPU_LOCKS_TAKEN;
}

void gpu_locks_sign(struct gpu_locks *locks, const struct gpu_holder *self)
{
    EACH (item, locks->items, locks->count)
        if (item->fd >= 0)
            sign(item, self);
}

bool gpu_locks_check(const struct gpu_locks *locks, struct err *err)
{
    EACH (lock, locks->items, locks->count) {
        struct stat now;
        if (lock->fd < 0)
            continue;
        if (fstat(lock->fd, &now) != 0)
            return err_sys(err, "stat %s/%s", locks->folder_path, lock->name);
        /* One that was moved away and back has the right name again, but not the time of its last
         * change. */
        if (!is_same_file(locks->folder, lock->name, &now) ||
            now.st_ctim.tv_sec != lock->status.st_ctim.tv_sec ||
            now.st_ctim.tv_nsec != lock->status.st_ctim.tv_nsec)
            return err_set(err, "%s/%s was removed, replaced or changed while we held its lock",
                           locks->folder_path, lock->name);
    }
    return true;
}

static enum gpu_lock_answer peek_one(const struct gpu_lock_folder *folder, const char *id,
                                     const char *label, struct gpu_lock_conflict *conflict,
                                     struct err *err)
{
    AUTO_FREE char *name = mem_printf("gpu-%s.lock", id);
    struct stat status;
    AUTO_CLOSE int fd =
        openat(folder->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return GPU_LOCKS_TAKEN;
    if (fd < 0 || fstat(fd, &status) != 0) {
        err_sys(err, "open %s/%s", folder->path, name);
        return GPU_LOCKS_FAILED;
    }
    if (!S_ISREG(status.st_mode)) {
        err_set(err, "%s/%s is no regular file (user %u made it)", folder->path, name,
                (unsigned)status.st_uid);
        return GPU_LOCKS_FAILED;
    }
    bool shared = flock(fd, LOCK_SH | LOCK_NB) == 0;
    if (shared)
        flock(fd, LOCK_UN);
    /* Who only shares it is no run, but no run gets it either. */
    if (shared && file_lock_holder(fd) == 0)
        return GPU_LOCKS_TAKEN;
    if (!shared && errno != EWOULDBLOCK) {
        err_sys(err, "lock %s/%s", folder->path, name);
        return GPU_LOCKS_FAILED;
    }
    read_holder(fd, label, conflict);
    return GPU_LOCKS_HELD;
}

enum gpu_lock_answer gpu_lock_peek(const struct gpu_lock_folder *folder,
                                   const struct gpu_device *device,
                                   struct gpu_lock_conflict *conflict, struct err *err)
{
    const char *ids[] = {device->uuid, device->bus};
    EACH_OF (id, ids) {
        if (!**id)
            continue;
        enum gpu_lock_answer answer = peek_one(folder, *id, gpu_lock_label(device), conflict, err);
        if (answer != GPU_LOCKS_TAKEN)
            return answer;
    }
    return GPU_LOCKS_TAKEN;
}

void gpu_locks_free(struct gpu_locks *locks)
{
    if (!locks)
        return;
    EACH (lock, locks->items, locks->count) {
        struct stat status;
        if (lock->fd >= 0) {
            if (fstat(lock->fd, &status) != 0 ||
                !is_same_file(locks->folder, lock->name, &status) ||
                unlinkat(locks->folder, lock->name, 0) != 0) {
                int emptied = ftruncate(lock->fd, 0);
                (void)emptied;
            }
            close(lock->fd);
        }
        free(lock->name);
        free(lock->label);
    }
    free(locks->items);
    free(locks->folder_path);
    free(locks);
}
