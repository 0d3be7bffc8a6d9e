#include "results/store/snapshot.h"
#include "base/fs_output.h"
#include "results/store/db.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How a snapshot of a live run needs no lock of it: SQLite moves committed pages from the -wal into
 * the database (a checkpoint), and only when all are moved it may begin the -wal anew, with another
 * header (its salts change). So: note the header, copy the database, then the -wal. When the -wal
 * still begins with the noted header, it holds every page that was moved while the database was
 * read, and overrides whatever old, new or torn page the copy has. Otherwise: once more. What was
 * only half written to the -wal has no valid checksum and is left out by SQLite. */

#define WAL_HEADER 32 /* bytes, https://www.sqlite.org/fileformat2.html#walformat */
#define TRIES      100

/* Of run.db and of its -wal. 100,000 experiments take 0.2 to 0.4 GB. */
static const off_t SIZE_MAX_BYTES = (off_t)4 << 30;

/* Too short: all zeros. */
static bool read_header_of(int fd, unsigned char out[WAL_HEADER], struct err *err)
{
    unsigned char header[WAL_HEADER];
    memset(out, 0, WAL_HEADER);
    ssize_t count = pread(fd, header, sizeof header, 0);
    if (count < 0)
        return err_sys(err, "read run.db-wal");
    if (count == WAL_HEADER)
        memcpy(out, header, WAL_HEADER);
    return true;
}

/* Absent: all zeros, too. */
static bool read_header(int dir, unsigned char out[WAL_HEADER], struct err *err)
{
    memset(out, 0, WAL_HEADER);
    AUTO_CLOSE int fd = openat(dir, "run.db-wal", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || err_sys(err, "open run.db-wal");
    return read_header_of(fd, out, err);
}

/* A piece that is data, from FROM's offset to behind the hole's beginning; *offset moves there. */
static bool copy_piece(int from, int to, off_t *offset, off_t end, struct err *err)
{
    char buffer[65536];
    while (*offset < end) {
        size_t wanted =
            end - *offset < (off_t)sizeof buffer ? (size_t)(end - *offset) : sizeof buffer;
        ssize_t count = pread(from, buffer, wanted, *offset);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return err_sys(err, "read it");
        if (count == 0) /* it was cut meanwhile */
            return true;
        if (!fs_write_all(to, buffer, (size_t)count, err))
            return false;
        *offset += count;
    }
    return true;
}

/* As long as it is now, however it grows meanwhile; holes stay holes, and cost nothing. Gives the
 * bytes of data. */
static bool copy_data(int from, int to, off_t size, int64_t *bytes, struct err *err)
{
    off_t at = 0;
    while (at < size) {
        off_t data = lseek(from, at, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            break;
        off_t begin = data < 0 ? at : data, hole = data < 0 ? size : lseek(from, data, SEEK_HOLE);
        at = begin;
        if (lseek(to, begin, SEEK_SET) < 0 ||
            !copy_piece(from, to, &at, hole < 0 || hole > size ? size : hole, err))
            return false;
        *bytes += at - begin;
        if (at < hole && at < size) /* it was cut meanwhile */
            return true;
    }
    return ftruncate(to, size) == 0 || err_sys(err, "set its length");
}

static bool copy_file(int from_dir, int to, const char *name, bool may_miss, int64_t *bytes,
                      struct err *err)
{
    if (ftruncate(to, 0) < 0 || lseek(to, 0, SEEK_SET) < 0)
        return err_sys(err, "copy %s", name);
    AUTO_CLOSE int from = openat(from_dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (from < 0)
        return (may_miss && errno == ENOENT) || err_sys(err, "open %s", name);
    struct stat st;
    if (fstat(from, &st) < 0 || !S_ISREG(st.st_mode))
        return err_set(err, "%s is no regular file", name);
    if (st.st_size > SIZE_MAX_BYTES)
        return err_set(
            err,
            "%s is longer than 4 GiB, which a run of a million experiments is not: it is not read",
            name);
    return copy_data(from, to, st.st_size, bytes, err) || err_wrap(err, "copy %s", name);
}

/* SQLite opens by name, and the copies have none: a VFS (https://www.sqlite.org/vfs.html) of the
 * two of them hands out what is open. What is not a question of files (time, random numbers) is the
 * default's. */
enum { COPY_DB, COPY_WAL, COPIES };

struct snapshot_files {
    int fds[COPIES];
    sqlite3_vfs vfs;
    char name[40]; /* of the VFS: each snapshot has its own */
};

struct copy_file {
    sqlite3_file base; /* first: SQLite knows no more of it */
    int fd;            /* the snapshot's */
};

static int fd_of(sqlite3_file *file)
{
    return ((struct copy_file *)file)->fd;
}

static int copy_close(sqlite3_file *file)
{
    (void)file;
    return SQLITE_OK;
}

static int copy_read(sqlite3_file *file, void *out, int count, sqlite3_int64 offset)
{
    int done = 0;
    while (done < count) {
        ssize_t got = pread(fd_of(file), (char *)out + done, (size_t)(count - done), offset + done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return SQLITE_IOERR_READ;
        if (got == 0) {
            memset((char *)out + done, 0, (size_t)(count - done));
            return SQLITE_IOERR_SHORT_READ;
        }
        done += (int)got;
    }
    return SQLITE_OK;
}

static int copy_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset)
{
    for (int done = 0; done < count;) {
        ssize_t written =
            pwrite(fd_of(file), (const char *)bytes + done, (size_t)(count - done), offset + done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno == ENOSPC ? SQLITE_FULL : SQLITE_IOERR_WRITE;
        done += (int)written;
    }
    return SQLITE_OK;
}

static int copy_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return ftruncate(fd_of(file), size) == 0 ? SQLITE_OK : SQLITE_IOERR_TRUNCATE;
}

static int copy_size(sqlite3_file *file, sqlite3_int64 *out)
{
    struct stat st;
    if (fstat(fd_of(file), &st) != 0)
        return SQLITE_IOERR_FSTAT;
    *out = st.st_size;
    return SQLITE_OK;
}

/* Nobody reads it after us, nor beside us: nothing to sync, nothing to lock. */
static int copy_nothing(sqlite3_file *file, int flags)
{
    (void)file, (void)flags;
    return SQLITE_OK;
}

static int copy_is_locked(sqlite3_file *file, int *out)
{
    (void)file;
    *out = 0;
    return SQLITE_OK;
}

static int copy_control(sqlite3_file *file, int what, void *argument)
{
    (void)file, (void)what, (void)argument;
    return SQLITE_NOTFOUND;
}

static int copy_sector(sqlite3_file *file)
{
    (void)file;
    return 4096;
}

static int copy_device(sqlite3_file *file)
{
    (void)file;
    return 0;
}

/* Version 1: no shared memory, which one connection in exclusive mode does without. */
static const sqlite3_io_methods copy_methods = {
    .iVersion = 1,
    .xClose = copy_close,
    .xRead = copy_read,
    .xWrite = copy_write,
    .xTruncate = copy_truncate,
    .xSync = copy_nothing,
    .xFileSize = copy_size,
    .xLock = copy_nothing,
    .xUnlock = copy_nothing,
    .xCheckReservedLock = copy_is_locked,
    .xFileControl = copy_control,
    .xSectorSize = copy_sector,
    .xDeviceCharacteristics = copy_device,
};

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                    int *out_flags)
{
    const struct snapshot_files *files = vfs->pAppData;
    (void)name;
    file->pMethods = NULL;
    if (!(flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)))
        return SQLITE_CANTOPEN;
    ((struct copy_file *)file)->fd = files->fds[flags & SQLITE_OPEN_WAL ? COPY_WAL : COPY_DB];
    file->pMethods = &copy_methods;
    if (out_flags)
        *out_flags = flags;
    return SQLITE_OK;
}

/* The -wal is emptied by who wants it gone. */
static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    (void)vfs, (void)name, (void)sync;
    return SQLITE_OK;
}

/* A journal that is not there has nothing to roll back; a -wal that is empty is none. */
static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *out)
{
    const struct snapshot_files *files = vfs->pAppData;
    size_t length = strlen(name);
    struct stat st;
    (void)flags;
    *out = length > 4 && strcmp(name + length - 4, "-wal") == 0 &&
           fstat(files->fds[COPY_WAL], &st) == 0 && st.st_size > 0;
    return SQLITE_OK;
}

static int vfs_full_path(sqlite3_vfs *vfs, const char *name, int size, char *out)
{
    (void)vfs;
    return snprintf(out, (size_t)size, "%s", name) < size ? SQLITE_OK : SQLITE_CANTOPEN;
}

static void register_vfs(struct snapshot_files *files)
{
    files->vfs = *sqlite3_vfs_find(NULL);
    snprintf(files->name, sizeof files->name, "snapshot-%p", (void *)files);
    files->vfs.iVersion = 2;
    files->vfs.szOsFile = sizeof(struct copy_file);
    files->vfs.pNext = NULL;
    files->vfs.zName = files->name;
    files->vfs.pAppData = files;
    files->vfs.xOpen = vfs_open;
    files->vfs.xDelete = vfs_delete;
    files->vfs.xAccess = vfs_access;
    files->vfs.xFullPathname = vfs_full_path;
    sqlite3_vfs_register(&files->vfs, 0);
}

/* bytes: of data, without holes. */
static bool copy_run(int from, const struct snapshot_files *to, int64_t *bytes, struct err *err)
{
    for (int i = 0; i < TRIES; i++) {
        *bytes = 0;
        unsigned char before[WAL_HEADER], after[WAL_HEADER];
        if (!read_header(from, before, err) ||
            !copy_file(from, to->fds[COPY_DB], "run.db", false, bytes, err) ||
            !copy_file(from, to->fds[COPY_WAL], "run.db-wal", true, bytes, err) ||
            !read_header_of(to->fds[COPY_WAL], after, err))
            return false;
        if (memcmp(before, after, WAL_HEADER) == 0)
            return true;
        usleep(10000);
    }
    return err_set(err, "run.db is written too fast to be read");
}

static bool copy_to(int dir, const char *run_dir, struct snapshot_files *to, int64_t *bytes,
                    struct err *err)
{
    AUTO_CLOSE int from =
        openat(dir, dir == AT_FDCWD ? run_dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (from < 0)
        return err_sys(err, "open %s", run_dir);
    for (int i = 0; i < COPIES; i++) {
        to->fds[i] = fs_open_nameless(err);
        if (to->fds[i] < 0)
            return false;
    }
    return copy_run(from, to, bytes, err) || err_wrap(err, "%s", run_dir);
}

bool snapshot_open(int dir, const char *run_dir, struct snapshot *out, struct err *err)
{
    struct snapshot_files *files = mem_alloc(sizeof *files);
    *files = (struct snapshot_files){.fds = {-1, -1}};
    *out = (struct snapshot){.files = files};
    int64_t bytes;
    register_vfs(files);
    if (copy_to(dir, run_dir, files, &bytes, err))
        out->db = db_open_copy("run.db", files->name, bytes, err);
    if (out->db)
        return true;
    snapshot_close(out);
    return false;
}

void snapshot_close(struct snapshot *snapshot)
{
    db_close(&snapshot->db);
    sqlite3_vfs_unregister(&snapshot->files->vfs);
    for (int i = 0; i < COPIES; i++)
        cleanup_close(&snapshot->files->fds[i]);
    free(steal_ptr(snapshot->files));
}
