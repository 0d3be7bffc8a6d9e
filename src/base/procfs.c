#include "base/procfs.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/utf8.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* A process can say that its environment is as large as its memory. */
enum { ENVIRON_MAX = 8 << 20, ENVIRON_VALUE_MAX = 4096 };

bool proc_number_parse(const char *text, size_t length, uint64_t max, uint64_t *out)
{
    uint64_t number = 0;
    if (length == 0)
        return false;
    EACH (item, text, length) {
        if (*item < '0' || *item > '9')
            return false;
        uint64_t digit = (uint64_t)(*item - '0');
        if (number > (max - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    *out = number;
    return true;
}

/* The next number of a list separated by blanks. Negative ones (tty_nr, tpgid) become 0. */
static bool parse_next_number(const char **at, const char *end, uint64_t *out)
{
    while (*at < end && (**at == ' ' || **at == '\t'))
        (*at)++;
    const char *start = *at;
    while (*at < end && **at != ' ' && **at != '\t' && **at != '\n')
        (*at)++;
    if (*at > start && *start == '-') {
        *out = 0;
        return proc_number_parse(start + 1, (size_t)(*at - start) - 1, UINT64_MAX, &(uint64_t){0});
    }
    return proc_number_parse(start, (size_t)(*at - start), UINT64_MAX, out);
}

static void comm_copy(const char *start, const char *end, char out[64])
{
    size_t length = (size_t)(end - start);
    if (length > 63)
        length = 63;
    memcpy(out, start, length);
    out[length] = '\0';
    utf8_make_printable(out, "");
}

static bool pid_from(uint64_t number, pid_t *out)
{
    *out = (pid_t)number;
    return number <= INT_MAX;
}

/* A command's name may hold blanks, newlines and parentheses: the last ')' ends it. */
bool proc_stat_parse(const char *bytes, size_t count, struct proc_stat *out)
{
    *out = (struct proc_stat){0};
    const char *end = bytes + count;
    const char *open = memchr(bytes, '(', count), *close = memrchr(bytes, ')', count);
    uint64_t pid = 0;
    if (!open || !close || close < open || open == bytes || open[-1] != ' ' || end - close < 4 ||
        close[1] != ' ')
        return false;
    if (!proc_number_parse(bytes, (size_t)(open - bytes) - 1, INT_MAX, &pid))
        return false;
    out->pid = (pid_t)pid;
    comm_copy(open + 1, close, out->comm);
    out->state = close[2];
    const char *at = close + 3;
    uint64_t fields[19]; /* fields 4 (ppid) to 22 (starttime) of proc(5) */
    EACH (field, fields, 19)
        if (!parse_next_number(&at, end, field))
            return false;
    for (size_t i = 10; i <= 13; i++)
        out->cpu_ticks += fields[i];
    out->threads = fields[16];
    out->start_time = fields[18];
    return pid_from(fields[0], &out->ppid) && pid_from(fields[1], &out->pgrp) &&
           pid_from(fields[2], &out->session);
}

bool proc_stat_alive(const struct proc_stat *stat)
{
    return (stat->state != 'Z' && stat->state != 'X') || stat->threads > 1;
}

/* "6:freezer:/a", "0::/b". */
static bool cgroup_line(const char *line, const char *end, const char *controller,
                        const char **path)
{
    const char *first = memchr(line, ':', (size_t)(end - line));
    const char *second = first ? memchr(first + 1, ':', (size_t)(end - first - 1)) : NULL;
    if (!second || second + 1 >= end || second[1] != '/')
        return false;
    *path = second + 1;
    if (!controller)
        return second == first + 1 && first == line + 1 && *line == '0';
    size_t length = strlen(controller);
    for (const char *at = first + 1; at < second;) {
        const char *comma = memchr(at, ',', (size_t)(second - at));
        const char *stop = comma ? comma : second;
        if ((size_t)(stop - at) == length && memcmp(at, controller, length) == 0)
            return true;
        at = stop + 1;
    }
    return false;
}

bool proc_cgroup_path(const char *bytes, size_t count, const char *controller, char *out,
                      size_t size)
{
    const char *end = bytes + count;
    for (const char *line = bytes; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *stop = newline ? newline : end;
        const char *path = NULL;
        if (cgroup_line(line, stop, controller, &path)) {
            size_t length = (size_t)(stop - path);
            if (length >= size || memchr(path, '\0', length))
                return false;
            memcpy(out, path, length);
            out[length] = '\0';
            return true;
        }
        line = stop + 1;
    }
    return false;
}

/* The text behind the key of the line that starts with it, or NULL. */
static const char *keyed_line(const char *bytes, const char *end, const char *key)
{
    size_t length = strlen(key);
    for (const char *line = bytes; line < end;) {
        if ((size_t)(end - line) > length && memcmp(line, key, length) == 0 &&
            (line[length] == ' ' || line[length] == '\t'))
            return line + length;
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        line = newline ? newline + 1 : end;
    }
    return NULL;
}

bool proc_keyed_number(const char *bytes, size_t count, const char *key, uint64_t *out)
{
    const char *at = keyed_line(bytes, bytes + count, key);
    return at && parse_next_number(&at, bytes + count, out);
}

bool proc_status_nspid(const char *bytes, size_t count, size_t *depth, pid_t *innermost)
{
    const char *end = bytes + count, *at = keyed_line(bytes, end, "NSpid:");
    uint64_t number = 0, last = 0;
    *depth = 0;
    if (!at)
        return false;
    while (at < end && *at != '\n' && parse_next_number(&at, end, &number)) {
        last = number;
        (*depth)++;
    }
    return *depth > 0 && pid_from(last, innermost);
}

bool proc_schedstat_parse(const char *bytes, size_t count, uint64_t *run_ns, uint64_t *waited_ns)
{
    const char *end = bytes + count, *first = memchr(bytes, ' ', count);
    const char *second = first ? memchr(first + 1, ' ', (size_t)(end - first) - 1) : NULL;
    uint64_t run, waited;
    if (!second || !proc_number_parse(bytes, (size_t)(first - bytes), INT64_MAX, &run) ||
        !proc_number_parse(first + 1, (size_t)(second - first) - 1, INT64_MAX, &waited))
        return false;
    *run_ns = run;
    *waited_ns = waited;
    return true;
}

pid_t proc_next_pid(DIR *proc)
{
    uint64_t pid = 0;
    errno = 0;
    for (struct dirent *entry; (entry = readdir(proc)); errno = 0)
        if (proc_number_parse(entry->d_name, strlen(entry->d_name), INT_MAX, &pid) && pid > 0)
            return (pid_t)pid;
    return 0;
}

ssize_t proc_read_at(int dir, const char *path, char *buffer, size_t size)
{
    AUTO_CLOSE int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -1;
    size_t length = 0;
    while (length + 1 < size) {
        ssize_t got = read(fd, buffer + length, size - 1 - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        length += (size_t)got;
    }
    buffer[length] = '\0';
    return (ssize_t)length;
}

/* One environment, byte after byte. */
struct environ_search {
    const char *name;
    size_t length, matched;
    bool mismatched, found;
    struct text value;
};

/* True: no more is needed. */
static bool environ_feed(struct environ_search *search, const char *bytes, size_t count)
{
    EACH (byte, bytes, count) {
        char c = *byte;
        if (search->found && (c == '\0' || search->value.length >= ENVIRON_VALUE_MAX))
            return true;
        if (search->found) {
            text_add_char(&search->value, c);
        } else if (c == '\0') {
            search->matched = 0;
            search->mismatched = false;
        } else if (!search->mismatched) {
            search->found = search->matched == search->length && c == '=';
            search->mismatched = c != search->name[search->matched++];
        }
    }
    return false;
}

bool proc_environ_value(int dir, const char *path, const char *name, char **out)
{
    char buffer[4096];
    size_t total = 0;
    ssize_t got = -1;
    struct environ_search search = {.name = name, .length = strlen(name)};
    *out = NULL;
    AUTO_CLOSE int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (fd >= 0 && total < ENVIRON_MAX) {
        got = read(fd, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || environ_feed(&search, buffer, (size_t)got))
            break;
        total += (size_t)got;
    }
    explicit_bzero(buffer, sizeof buffer);
    if (search.found)
        *out = text_take(&search.value);
    text_fini(&search.value);
    return got >= 0;
}

bool proc_real_uid(int proc_fd, pid_t pid, uid_t *out)
{
    char path[40], status[8192];
    uint64_t uid = 0;
    snprintf(path, sizeof path, "%d/status", (int)pid);
    ssize_t length = proc_read_at(proc_fd, path, status, sizeof status);
    bool known = length > 0 && proc_keyed_number(status, (size_t)length, "Uid:", &uid);
    *out = (uid_t)uid;
    return known;
}

bool proc_stat_read(int proc_fd, pid_t pid, struct proc_stat *out)
{
    char path[40], buffer[2048];
    snprintf(path, sizeof path, "%d/stat", (int)pid);
    ssize_t length = proc_read_at(proc_fd, path, buffer, sizeof buffer);
    return length > 0 && proc_stat_parse(buffer, (size_t)length, out);
}

bool proc_is_user_manager(int proc_fd, const struct proc_stat *stat)
{
    char path[40], command[256];
    if (strcmp(stat->comm, "systemd") != 0)
        return false;
    snprintf(path, sizeof path, "%d/cmdline", (int)stat->pid);
    ssize_t length = proc_read_at(proc_fd, path, command, sizeof command);
    return length > 0 && memmem(command, (size_t)length, "--user", sizeof "--user");
}

bool proc_adopts(int proc_fd, pid_t parent)
{
    struct proc_stat stat;
    return parent == 1 ||
           (proc_stat_read(proc_fd, parent, &stat) && proc_is_user_manager(proc_fd, &stat));
}

ssize_t proc_children_read(int proc_fd, pid_t pid, pid_t thread, pid_t *out, size_t max)
{
    char path[64], list[16384];
    size_t count = 0;
    snprintf(path, sizeof path, "%d/task/%d/children", (int)pid, (int)thread);
    ssize_t length = proc_read_at(proc_fd, path, list, sizeof list);
    for (const char *at = list; length > 0 && *at && count < max;) {
        size_t digits = strcspn(at, " ");
        uint64_t child = 0;
        if (at[digits] == ' ' && proc_number_parse(at, digits, INT_MAX, &child) && child > 0)
            out[count++] = (pid_t)child;
        at += digits;
        at += *at == ' ';
    }
    return length < 0 ? -1 : (ssize_t)count;
}

static const size_t TABLE_MAX = 16 << 20, SMALL_MAX = 64 << 10;

/* /proc/locks names the device of the mount. On btrfs, stat reports another one. */
static dev_t find_mount_device(int fd, dev_t otherwise)
{
    AUTO_TEXT struct text info = {0}, mounts = {0};
    AUTO_FREE char *path = mem_printf("/proc/self/fdinfo/%d", fd);
    unsigned major_number, minor_number;
    int mount, id;
    const char *at = fs_read_kernel(AT_FDCWD, path, SMALL_MAX, &info, NULL)
                         ? strstr(text_get(&info), "mnt_id:")
                         : NULL;
    if (!at || sscanf(at, "mnt_id: %d", &mount) != 1 ||
        !fs_read_kernel(AT_FDCWD, "/proc/self/mountinfo", TABLE_MAX, &mounts, NULL))
        return otherwise;
    for (at = text_get(&mounts); at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (sscanf(at, "%d %*d %u:%u", &id, &major_number, &minor_number) == 3 && id == mount)
            return makedev(major_number, minor_number);
    return otherwise;
}

/* "3: FLOCK  ADVISORY  WRITE 28401 fe:00:11068451 0 EOF"; with "->" after the number it only
 * waits. */
static pid_t find_lock_holder(const char *table, dev_t device, ino_t inode)
{
    for (const char *at = table; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
        unsigned major_number, minor_number;
        unsigned long number;
        int pid;
        if (sscanf(at, "%*d: %*[A-Z] %*s %*s %d %x:%x:%lu", &pid, &major_number, &minor_number,
                   &number) == 4 &&
            number == inode && makedev(major_number, minor_number) == device)
            return pid;
    }
    return 0;
}

enum seen { SEEN_LOCKED, SEEN_NOT_LOCKED, SEEN_NOTHING };

/* Whether the process holds the lock through one of its descriptors. SEEN_NOTHING: its descriptors
 * cannot be read. */
static enum seen check_process_locks(pid_t pid, const struct stat *file)
{
    AUTO_FREE char *path = mem_printf("/proc/%d/fd", (int)pid);
    DIR *listing = opendir(path);
    enum seen seen = listing ? SEEN_NOT_LOCKED : SEEN_NOTHING;
    for (const struct dirent *entry;
         listing && seen != SEEN_LOCKED && (entry = readdir(listing));) {
        struct stat status;
        AUTO_TEXT struct text info = {0};
        AUTO_FREE char *info_path = mem_printf("/proc/%d/fdinfo/%s", (int)pid, entry->d_name);
        if (entry->d_name[0] != '.' && fstatat(dirfd(listing), entry->d_name, &status, 0) == 0 &&
            status.st_dev == file->st_dev && status.st_ino == file->st_ino &&
            fs_read_kernel(AT_FDCWD, info_path, SMALL_MAX, &info, NULL) &&
            strstr(text_get(&info), "\nlock:"))
            seen = SEEN_LOCKED;
    }
    if (listing)
        closedir(listing);
    return seen;
}

static bool process_exists(pid_t pid)
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
        if (check_process_locks(pid, file) == SEEN_LOCKED)
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
    pid_t pid =
        fs_read_kernel(AT_FDCWD, "/proc/locks", TABLE_MAX, &table, NULL)
            ? find_lock_holder(text_get(&table), find_mount_device(fd, file.st_dev), file.st_ino)
            : 0;
    /* It may have ended since it took the lock, and its number be another's. */
    if (process_exists(pid) && check_process_locks(pid, &file) != SEEN_NOT_LOCKED)
        return pid;
    return find_by_descriptors(&file);
}

bool passwd_user_name(const char *passwd, uid_t uid, char *out, size_t size)
{
    FILE *file = fopen(passwd, "re");
    bool found = false;
    if (!file)
        return false;
    struct passwd entry, *result = NULL;
    char buffer[4096];
    while (!found && fgetpwent_r(file, &entry, buffer, sizeof buffer, &result) == 0)
        if (entry.pw_uid == uid) {
            snprintf(out, size, "%s", entry.pw_name);
            found = true;
        }
    fclose(file);
    return found;
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
    while (command.length > 0 &&
           (!command.data[command.length - 1] || command.data[command.length - 1] == '\n'))
        command.length--;
    EACH (item, command.data, command.length)
        if (!*item)
            *item = ' ';
    utf8_copy_legible(text_get(&command), command.length, out->command, sizeof out->command);
    return true;
}
