#include "base/fs_output.h"
#include "base/cleanup.h"
#include "base/fs_path.h"

#include "base/mem.h"
#include "base/rng.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { LINKS_MAX = 40 }; /* as the kernel has it: path_resolution(7) */

/* What stands where a name leads, its links followed. */
struct place {
    enum { PLACE_FREE, PLACE_REGULAR, PLACE_OTHER, PLACE_OWN_FD } kind;
    char *path; /* where it really is */
    int fd;     /* PLACE_OWN_FD: which of our descriptors it is */
    struct stat status;
};

static void place_fini(struct place *place)
{
    free(place->path);
}

/* Our own descriptor that path (/dev/fd/N, /proc/self/fd/N) stands for; -1: it stands for none. */
static int own_descriptor(const char *path)
{
    AUTO_FREE char *folder = fs_dirname(path), *last = fs_basename(path);
    AUTO_FREE char *real = realpath(folder, NULL), *own = realpath("/proc/self/fd", NULL);
    size_t digits = strspn(last, "0123456789");
    if (!real || !own || strcmp(real, own) != 0 || digits == 0 || last[digits] || digits > 9)
        return -1;
    return atoi(last);
}

/* Its links do not hold names but lead to what is open. */
static bool is_on_proc(const char *path)
{
    struct statfs status;
    AUTO_FREE char *folder = fs_dirname(path);
    return statfs(folder, &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

/* Where the link leads, which need not be there. */
static char *read_link(const char *path, struct err *err)
{
    char target[PATH_MAX];
    /* The kernel refuses to follow another user's link in a folder that all may write, and so do
     * we. */
    AUTO_CLOSE int allowed = open(path, O_PATH | O_CLOEXEC);
    ssize_t length = allowed < 0 && errno != ENOENT ? -1 : readlink(path, target, sizeof target);
    if (length < 0 || length == sizeof target) {
        err_sys(err, "follow the link %s", path);
        return NULL;
    }
    AUTO_FREE char *folder = fs_dirname(path), *name = mem_strndup(target, (size_t)length);
    return *name == '/' ? steal_ptr(name) : mem_printf("%s/%s", folder, name);
}

static bool inspect_output_place(struct place *place, struct err *err)
{
    const char *path = place->path;
    size_t length = strlen(path);
    place->fd = own_descriptor(path);
    if (place->fd >= 0) {
        place->kind = PLACE_OWN_FD;
        return true;
    }
    if (stat(path, &place->status) != 0) {
        place->kind = PLACE_FREE;
        if (errno == ENOENT && length > 0 && path[length - 1] != '/')
            return true;
        return err_sys(err, "find it");
    }
    place->kind = S_ISREG(place->status.st_mode) ? PLACE_REGULAR : PLACE_OTHER;
    if (!S_ISDIR(place->status.st_mode))
        return true;
    err_set(err, "it is a folder: name a file in it, such as %s%sout", path,
            path[length - 1] == '/' ? "" : "/");
    if (err)
        err->code = EISDIR;
    return false;
}

static bool resolve_output_place(const char *path, struct place *place, struct err *err)
{
    *place = (struct place){.path = mem_strdup(path)};
    for (int links = 0; links < LINKS_MAX; links++) {
        struct stat status;
        if (lstat(place->path, &status) != 0 || !S_ISLNK(status.st_mode) || is_on_proc(place->path))
            return inspect_output_place(place, err);
        char *next = read_link(place->path, err);
        if (!next)
            return false;
        free(place->path);
        place->path = next;
    }
    errno = ELOOP;
    return err_sys(err, "follow its links");
}

static bool open_in_place(const struct place *place, struct fs_output *out, struct err *err)
{
    if (place->kind == PLACE_OWN_FD) {
        /* Ours are all closed on exec: what is not was handed to us, and may be meant. */
        int flags = fcntl(place->fd, F_GETFD);
        if (flags >= 0 && (flags & FD_CLOEXEC))
            flags = -1, errno = EBADF;
        /* Opened anew it would begin at the file's start, over what others have written there. */
        out->file.fd = flags < 0 ? -1 : fcntl(place->fd, F_DUPFD_CLOEXEC, 0);
    } else {
        /* Appending where /proc/PID/fd/N of another leads to a regular file. */
        bool regular = place->kind == PLACE_REGULAR;
        out->shorten = regular && !is_on_proc(place->path);
        int append = regular && !out->shorten ? O_APPEND : 0;
        out->file.fd = open(place->path, O_WRONLY | O_CLOEXEC | O_NOCTTY | append);
    }
    return out->file.fd >= 0 || err_sys(err, "open it");
}

/* The new file gets the mode and the owner of the old. */
static bool copy_mode_and_owner(int fd, const struct stat *old)
{
    struct stat now;
    if (fstat(fd, &now) != 0)
        return false;
    if ((now.st_uid != old->st_uid || now.st_gid != old->st_gid) &&
        fchown(fd, old->st_uid, old->st_gid) != 0)
        return false;
    return fchmod(fd, old->st_mode & 0777) == 0;
}

static bool open_beside(const struct place *place, struct fs_output *out, struct err *err)
{
    AUTO_FREE char *folder = fs_dirname(place->path);
    bool there = place->kind == PLACE_REGULAR;
    if (there && faccessat(AT_FDCWD, place->path, W_OK, AT_EACCESS) != 0)
        return err_sys(err, "write over what is there");
    struct fs_unfinished *file = &out->file;
    file->dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file->dir < 0 && errno == ENOENT)
        return err_set(err, "there is no folder %s: make it first (mkdir -p)", folder);
    if (file->dir < 0)
        return err_sys(err, "open its folder");
    file->fd = fs_make_unfinished(file->dir, there ? 0600 : 0664, file->name, err);
    bool keeps = file->fd >= 0 && (!there || copy_mode_and_owner(file->fd, &place->status));
    if (keeps || !there)
        return keeps;
    if (file->fd < 0 && errno != EACCES && errno != EPERM && errno != EROFS)
        return false;
    fs_unfinished_drop(file);
    close(steal_fd(&file->dir));
    return open_in_place(place, out, err);
}

bool fs_output_open(const char *path, struct fs_output *out, struct err *err)
{
    AUTO(place_fini) struct place place;
    *out = (struct fs_output){.file = {.dir = -1, .fd = -1}, .path = mem_strdup(path)};
    bool ok = resolve_output_place(path, &place, err);
    bool beside =
        place.kind == PLACE_FREE || (place.kind == PLACE_REGULAR && !is_on_proc(place.path));
    ok = ok && (beside ? open_beside(&place, out, err) : open_in_place(&place, out, err));
    if (ok) {
        out->last = fs_basename(place.path);
        return true;
    }
    err_wrap(err, "write %s", path);
    fs_output_drop(out);
    return false;
}

bool fs_output_write(struct fs_output *output, const char *bytes, size_t count, struct err *err)
{
    return fs_write_all(output->file.fd, bytes, count, err) ||
           err_wrap(err, "write %s", output->path);
}

static bool finish_output_file(struct fs_output *output, struct err *err)
{
    struct fs_unfinished *file = &output->file;
    if (file->dir >= 0)
        return fs_unfinished_publish(file, output->last, true, err);
    if (output->shorten && ftruncate(file->fd, lseek(file->fd, 0, SEEK_CUR)) != 0)
        return err_sys(err, "cut it to its length");
    /* A device, a pipe, a socket need no fsync. */
    if (fsync(file->fd) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP)
        return err_sys(err, "fsync");
    /* Some file systems tell that a write failed only here. */
    return close(steal_fd(&file->fd)) == 0 || errno == EINTR || err_sys(err, "close");
}

bool fs_output_commit(struct fs_output *output, struct err *err)
{
    bool ok = finish_output_file(output, err) || err_wrap(err, "write %s", output->path);
    fs_output_drop(output);
    return ok;
}

void fs_output_drop(struct fs_output *output)
{
    if (output->file.dir >= 0) {
        fs_unfinished_drop(&output->file);
        close(steal_fd(&output->file.dir));
    } else if (output->file.fd >= 0) {
        close(steal_fd(&output->file.fd));
    }
    free(steal_ptr(output->path));
    free(steal_ptr(output->last));
}

bool fs_write_output(const char *path, const char *bytes, size_t count, struct err *err)
{
    struct fs_output output;
    if (!fs_output_open(path, &output, err))
        return false;
    if (fs_output_write(&output, bytes, count, err))
        return fs_output_commit(&output, err);
    fs_output_drop(&output);
    return false;
}

bool fs_may_write_output(const char *path, struct err *err)
{
    AUTO(place_fini) struct place place;
    if (!resolve_output_place(path, &place, err))
        return err_wrap(err, "write %s", path);
    if (place.kind == PLACE_OWN_FD)
        return fcntl(place.fd, F_GETFD) >= 0 || err_sys(err, "write %s", path);
    AUTO_FREE char *folder = fs_dirname(place.path);
    return faccessat(AT_FDCWD, place.kind == PLACE_FREE ? folder : place.path, W_OK, AT_EACCESS) ==
               0 ||
           err_sys(err, "write %s", path);
}

bool fs_is_same_file(const char *a, const char *b)
{
    struct stat first, second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

/* Folders may nest so deep. */
enum { DEPTH_MAX = 8 };

bool fs_is_unfinished_name(const char *name)
{
    static const char prefix[] = FS_UNFINISHED_PREFIX;
    if (strncmp(name, prefix, sizeof prefix - 1) != 0)
        return false;
    const char *digits = name + sizeof prefix - 1;
    return strspn(digits, "0123456789abcdef") == FS_UNFINISHED_DIGITS &&
           digits[FS_UNFINISHED_DIGITS] == '\0';
}

int fs_make_unfinished(int folder, mode_t mode, char out[FS_UNFINISHED_SIZE], struct err *err)
{
    snprintf(out, FS_UNFINISHED_SIZE, FS_UNFINISHED_PREFIX "%0*" PRIx64, FS_UNFINISHED_DIGITS,
             rng_fresh_seed());
    int fd = openat(folder, out, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0)
        err_sys(err, "create a file beside it");
    return fd;
}

int fs_open_nameless(struct err *err)
{
    const char *set = getenv("TMPDIR"), *folder = set && *set ? set : P_tmpdir;
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    /* A file system that cannot: then memory takes its place. A kernel that does not know the flag
     * opens a folder for writing. */
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
    AUTO_DIR DIR *list = fs_list(dir, ".");
    for (struct dirent *entry; list && (entry = readdir(list));)
        cleared += clear_entry(dir, entry->d_name, depth);
    return cleared;
}

size_t fs_clear_unfinished(int dir, bool below)
{
    return clear_below(dir, below ? 0 : DEPTH_MAX);
}
