#include "machine/state/folder.h"
#include "base/fs_path.h"
#include "machine/state/record.h"

#include "base/mem.h"
#include "machine/contain/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define SUFFIX ".jsonl"

enum { OTHERS_MAY_WRITE = S_IWGRP | S_IWOTH };

/* Far above a run with a hundred thousand jobs. */
static const size_t FILE_MAX = 64 << 20;

/* Covers access control lists too: their mask is the group part of the mode. */
static bool check_folder_owner(const struct stat *status, const char *what, struct err *err)
{
    if (status->st_uid != geteuid())
        return err_set(err, "%s belongs to user %u", what, (unsigned)status->st_uid);
    if (status->st_mode & OTHERS_MAY_WRITE)
        return err_set(err, "others may write to %s (mode %04o)", what,
                       (unsigned)status->st_mode & 07777);
    return true;
}

/* Takes fd. */
static int check_folder_fd(int fd, const char *what, struct err *err)
{
    AUTO_CLOSE int folder = fd;
    struct stat status;
    if (folder < 0)
        return -1;
    if (fstat(folder, &status) != 0) {
        err_sys(err, "stat %s", what);
        return -1;
    }
    return check_folder_owner(&status, what, err) ? steal_fd(&folder) : -1;
}

static int open_top(const char *path, struct err *err)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--; /* "link/" would be followed */
    AUTO_FREE char *plain = mem_strndup(path, length);
    int fd = open(plain, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        return check_folder_fd(fd, plain, err);
    AUTO_FREE char *parent = fs_dirname(plain);
    AUTO_FREE char *last = fs_basename(plain);
    AUTO_CLOSE int above = fs_make_path(parent, 0700, err);
    if (above < 0)
        return -1;
    fd = fs_make_dir_at(above, last, 0700, err);
    if (fd < 0)
        err_wrap(err, "%s", parent);
    return check_folder_fd(fd, plain, err);
}

/* The folder name in above, which is shown as path. */
static int open_in(int above, const char *name, const char *path, bool make, struct err *err)
{
    int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && !make) {
        err_sys(err, "open folder %s/%s", path, name);
    } else if (fd < 0) {
        fd = fs_make_dir_at(above, name, 0700, err);
        if (fd < 0)
            err_wrap(err, "%s", path);
    }
    AUTO_FREE char *what = mem_printf("%s/%s", path, name);
    return check_folder_fd(fd, what, err);
}

int folder_open(const char *path, struct err *err)
{
    AUTO_CLOSE int top = open_top(path, err);
    return top < 0 ? -1 : open_in(top, "runs", path, true, err);
}

int folder_open_shared(const char *path, bool make, struct err *err)
{
    AUTO_FREE char *parent = fs_dirname(path);
    AUTO_FREE char *last = fs_basename(path);
    AUTO_CLOSE int above = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat status;
    if (above < 0 || fstat(above, &status) != 0) {
        err_sys(err, "open folder %s", parent);
        return -1;
    }
    if ((status.st_mode & OTHERS_MAY_WRITE) && !(status.st_mode & S_ISVTX)) {
        err_set(err, "others may write to %s, and it is not sticky (mode %04o)", parent,
                (unsigned)status.st_mode & 07777);
        return -1;
    }
    AUTO_CLOSE int top = open_in(above, last, parent, make, err);
    return top < 0 ? -1 : open_in(top, "runs", path, make, err);
}

static bool is_run_file(const char *name)
{
    size_t length = strlen(name), suffix = strlen(SUFFIX);
    return name[0] != '.' && length > suffix && strcmp(name + length - suffix, SUFFIX) == 0;
}

bool folder_list(int runs, struct strv *out, struct err *err)
{
    /* A descriptor of its own: the offset of a folder belongs to the open file. */
    AUTO_DIR DIR *listing = fs_list(runs, ".");
    if (!listing)
        return err_sys(err, "list the state folder");
    errno = 0;
    for (struct dirent *entry; (entry = readdir(listing)); errno = 0)
        if (is_run_file(entry->d_name))
            strv_add(out, entry->d_name);
    return errno == 0 || err_sys(err, "list the state folder");
}

static bool keep_entry(struct entry *entry, char *reason)
{
    entry->life = ENTRY_KEPT;
    entry->reason = reason;
    return false;
}

static bool read_entry_record(struct entry *entry, off_t size)
{
    AUTO_TEXT struct text bytes = {0};
    char buffer[16384];
    if (size < 0 || (uintmax_t)size > FILE_MAX)
        return keep_entry(entry, mem_strdup("the file is too long"));
    for (;;) {
        ssize_t got = pread(entry->file, buffer, sizeof buffer, (off_t)bytes.length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return keep_entry(entry, mem_printf("the file cannot be read: %s", strerror(errno)));
        if (got == 0 || bytes.length > FILE_MAX)
            break;
        text_add_bytes(&bytes, buffer, (size_t)got);
    }
    record_parse(text_get(&bytes), bytes.length, &entry->record);
    return true;
}

/* We hold the lock, so the runner is dead. A boot id is never reused; a host's name can change. */
static void judge_entry(struct entry *entry, const struct record_header *own)
{
    const struct record *record = &entry->record;
    const struct record_header *header = &record->header;
    if (!record->has_header && record->count == 0 && record->damaged == 0) {
        entry->life = ENTRY_OVER; /* it died before any job was born */
    } else if (!record->has_header) {
        keep_entry(entry,
                   mem_strdup("the first line is damaged, so it is not known where its run was"));
    } else if (strcmp(header->boot_id, own->boot_id) != 0) {
        entry->life = ENTRY_OVER;
        if (strcmp(header->host, own->host) != 0)
            keep_entry(entry, mem_printf("the run was on another machine, %s", header->host));
    } else if (header->pid_namespace != own->pid_namespace || own->pid_namespace == 0) {
        keep_entry(entry,
                   mem_printf("the run was in another pid namespace (a container), host name %s",
                              header->host));
    } else {
        entry->life = ENTRY_DEAD;
    }
}

static bool open_entry_file(int runs, struct entry *entry, struct stat *status)
{
    struct err err = {0};
    entry->file =
        openat(runs, entry->name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (entry->file < 0 && errno == ENOENT)
        return false;
    if (entry->file < 0 || fstat(entry->file, status) != 0)
        return keep_entry(entry, mem_printf("the file cannot be opened: %s", strerror(errno)));
    if (!S_ISREG(status->st_mode))
        return keep_entry(entry, mem_strdup("it is no regular file"));
    return check_folder_owner(status, "the file", &err) || keep_entry(entry, mem_strdup(err.text));
}

void entry_open(int runs, const char *name, const struct record_header *own, struct entry *out)
{
    struct stat status;
    *out = (struct entry){.name = name, .file = -1};
    if (!open_entry_file(runs, out, &status))
        return;
    if (flock(out->file, LOCK_EX | LOCK_NB) != 0) {
        out->life = ENTRY_LIVE;
        if (errno != EWOULDBLOCK)
            keep_entry(out, mem_printf("the file cannot be locked: %s", strerror(errno)));
        else
            read_entry_record(out, status.st_size);
        return;
    }
    /* Only now is it known that nobody writes, and that it was not removed a moment ago. */
    if (fstat(out->file, &status) != 0 || status.st_nlink == 0)
        return;
    if (read_entry_record(out, status.st_size))
        judge_entry(out, own);
}

void entry_fini(struct entry *entry)
{
    cleanup_close(&entry->file);
    record_fini(&entry->record);
    free(entry->reason);
    *entry = (struct entry){.file = -1};
}

bool entries_each(const struct state *state, entry_fn *each, void *context, struct err *err)
{
    AUTO(record_header_fini) struct record_header own = {0};
    EACH (place, state->places, STATE_PLACES) {
        AUTO_STRV struct strv names = {0};
        if (*place < 0)
            continue;
        if (!folder_list(*place, &names, err))
            return false;
        /* Read once there is a file. */
        if (names.count > 0 && !own.host && !record_header_own(STATE_RUN, NULL, &own, err))
            return false;
        EACH (item, names.items, names.count) {
            struct entry entry;
            entry_open(*place, *item, &own, &entry);
            each(context, *place, &entry);
            entry_fini(&entry);
        }
    }
    return true;
}

void entry_add_live(void *live, int runs, const struct entry *entry)
{
    struct state_live *out = live;
    const struct record *record = &entry->record;
    (void)runs;
    if (entry->life != ENTRY_LIVE)
        return;
    for (size_t i = 0; i < record->count; i++)
        strv_add(&out->tags, record->jobs[i].tag);
    if (record->has_header)
        MEM_ADD(out->runners.items, out->runners.count) =
            (struct live_runner){record->header.pid, record->header.start_time};
}
