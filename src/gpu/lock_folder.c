/* The folder of the locks. */
#include "base/cleanup.h"
#include "base/mem.h"
#include "gpu/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MODE_LIKE_TMP = 01777 };

/* Made as /tmp is, another user can neither remove nor replace our files in it; but for root, and its owner. */
static bool is_trusted(const struct stat *status)
{
    return status->st_uid == 0 || status->st_uid == geteuid() || (status->st_mode & 01002) == 01002;
}

static int open_folder(const char *path, mode_t mode, struct err *err)
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
    /* The umask took bits away. */
    if (fd < 0 || (made && fchmod(fd, mode) != 0) || fstat(fd, &status) != 0) {
        err_sys(err, "open folder %s", path);
        return -1;
    }
    if (!is_trusted(&status)) {
        err_set(err, "%s belongs to user %u, who could take our files away", path, (unsigned)status.st_uid);
        return -1;
    }
    if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) != 0) {
        err_sys(err, "write in %s", path);
        return -1;
    }
    return steal_fd(&fd);
}

static bool take(struct gpu_lock_folder *out, const char *path, bool shared, struct err *err)
{
    out->fd = open_folder(path, shared ? MODE_LIKE_TMP : 0700, err);
    if (out->fd < 0)
        return false;
    out->path = mem_strdup(path);
    out->shared = shared;
    return true;
}

bool gpu_lock_folder_open(const char *shared, const char *runtime_dir, struct gpu_lock_folder *out, struct err *err)
{
    struct err why = {0};
    *out = (struct gpu_lock_folder){.fd = -1};
    if (take(out, shared, true, &why))
        return true;
    if (runtime_dir && *runtime_dir == '/') {
        AUTO_FREE char *path = mem_printf("%s/" TARE_NAME, runtime_dir);
        if (take(out, path, false, err)) {
            out->reason = mem_strdup(why.text);
            return true;
        }
    }
    if (err)
        *err = why;
    return false;
}

void gpu_lock_folder_fini(struct gpu_lock_folder *folder)
{
    if (folder->fd >= 0)
        close(folder->fd);
    free(folder->path);
    free(folder->reason);
    *folder = (struct gpu_lock_folder){.fd = -1};
}
