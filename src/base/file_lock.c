#include "base/file_lock.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/procfs.h"
#include "base/text.h"
#include "base/utf8.h"

#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static const size_t TABLE_MAX = 16 << 20, SMALL_MAX = 64 << 10;

/* The device as /proc/locks has it: that of the mount. On btrfs stat tells another one. */
static dev_t device_of(int fd, dev_t otherwise)
{
    AUTO_TEXT struct text info = {0}, mounts = {0};
    AUTO_FREE char *path = mem_printf("/proc/self/fdinfo/%d", fd);
    unsigned major_number, minor_number;
    int mount, id;
    const char *at = fs_read_kernel(AT_FDCWD, path, SMALL_MAX, &info, NULL) ? strstr(text_get(&info), "mnt_id:") : NULL;
    if (!at || sscanf(at, "mnt_id: %d", &mount) != 1 ||
        !fs_read_kernel(AT_FDCWD, "/proc/self/mountinfo", TABLE_MAX, &mounts, NULL))
        return otherwise;
    for (at = text_get(&mounts); at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (sscanf(at, "%d %*d %u:%u", &id, &major_number, &minor_number) == 3 && id == mount)
            return makedev(major_number, minor_number);
    return otherwise;
}

/* "3: FLOCK  ADVISORY  WRITE 28401 fe:00:11068451 0 EOF"; one with "->" behind the number only waits. */
static pid_t find_in(const char *table, dev_t device, ino_t inode)
{
    for (const char *at = table; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
        unsigned major_number, minor_number;
        unsigned long number;
        int pid;
        if (sscanf(at, "%*d: %*[A-Z] %*s %*s %d %x:%x:%lu", &pid, &major_number, &minor_number, &number) == 4 &&
            number == inode && makedev(major_number, minor_number) == device)
            return pid;
    }
    return 0;
}

enum seen { SEEN_LOCKED, SEEN_NOT_LOCKED, SEEN_NOTHING };

/* Whether the process has the file open by a descriptor whose lock it is. SEEN_NOTHING: it may not be looked into. */
static enum seen look_into(pid_t pid, const struct stat *file)
{
    AUTO_FREE char *path = mem_printf("/proc/%d/fd", (int)pid);
    DIR *listing = opendir(path);
    enum seen seen = listing ? SEEN_NOT_LOCKED : SEEN_NOTHING;
    for (const struct dirent *entry; listing && seen != SEEN_LOCKED && (entry = readdir(listing));) {
        struct stat status;
        AUTO_TEXT struct text info = {0};
        AUTO_FREE char *info_path = mem_printf("/proc/%d/fdinfo/%s", (int)pid, entry->d_name);
        if (entry->d_name[0] != '.' && fstatat(dirfd(listing), entry->d_name, &status, 0) == 0 &&
            status.st_dev == file->st_dev && status.st_ino == file->st_ino &&
            fs_read_kernel(AT_FDCWD, info_path, SMALL_MAX, &info, NULL) && strstr(text_get(&info), "\nlock:"))
            seen = SEEN_LOCKED;
    }
    if (listing)
        closedir(listing);
    return seen;
}

static bool exists(pid_t pid)
{
    AUTO_FREE char *path = mem_printf("/proc/%d", (int)pid);
    struct stat status;
    return pid > 0 && stat(path, &status) == 0;
}

static pid_t find_by_descriptors(const struct stat *file)
{
    pid_t found = 0;
    DIR *listing = opendir("/proc");
    for (pid_t pid; listing && found == 0 && (pid = proc_next_pid(listing));)
        if (look_into(pid, file) == SEEN_LOCKED)
            found = pid;
    if (listing)
        closedir(listing);
    return found;
}

pid_t file_lock_holder(int fd)
{
    AUTO_TEXT struct text table = {0};
    struct stat file;
    if (fstat(fd, &file) != 0)
        return 0;
    pid_t pid = fs_read_kernel(AT_FDCWD, "/proc/locks", TABLE_MAX, &table, NULL)
                    ? find_in(text_get(&table), device_of(fd, file.st_dev), file.st_ino)
                    : 0;
    /* It may have ended since it took the lock, and its number be another's. */
    if (exists(pid) && look_into(pid, &file) != SEEN_NOT_LOCKED)
        return pid;
    return find_by_descriptors(&file);
}

bool file_lock_owner(pid_t pid, struct file_lock_owner *out)
{
    AUTO_TEXT struct text command = {0};
    AUTO_FREE char *folder = mem_printf("/proc/%d", (int)pid);
    AUTO_FREE char *line = mem_printf("%s/cmdline", folder);
    AUTO_FREE char *name = mem_printf("%s/comm", folder);
    struct stat status;
    *out = (struct file_lock_owner){0};
    if (pid <= 0 || stat(folder, &status) != 0)
        return false;
    const struct passwd *user = getpwuid(status.st_uid);
    AUTO_FREE char *number = mem_printf("%u", (unsigned)status.st_uid);
    const char *who = user ? user->pw_name : number;
    utf8_copy_legible(who, strlen(who), out->user, sizeof out->user);
    if (!fs_read_kernel(AT_FDCWD, line, TABLE_MAX, &command, NULL) || command.length == 0)
        fs_read_kernel(AT_FDCWD, name, SMALL_MAX, &command, NULL);
    while (command.length > 0 && (!command.data[command.length - 1] || command.data[command.length - 1] == '\n'))
        command.length--;
    for (size_t i = 0; i < command.length; i++)
        if (!command.data[i])
            command.data[i] = ' ';
    utf8_copy_legible(text_get(&command), command.length, out->command, sizeof out->command);
    return true;
}
