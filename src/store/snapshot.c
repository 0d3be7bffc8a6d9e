#include "store/results.h"

#include "base/fs.h"
#include "base/mem.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How a snapshot of a live run needs no lock of it: SQLite moves committed pages from the -wal into the database (a
 * checkpoint), and only when all are moved it may begin the -wal anew, with another header (its salts change). So:
 * note the header, copy the database, then the -wal. When the -wal still begins with the noted header, it holds
 * every page that was moved while the database was read, and overrides whatever old, new or torn page the copy has.
 * Otherwise: once more. What was only half written to the -wal has no valid checksum and is left out by SQLite. */

#define WAL_HEADER 32 /* bytes, https://www.sqlite.org/fileformat2.html#walformat */
#define TRIES      100

/* Too short or absent: all zeros. */
static bool read_header(int dir, unsigned char out[WAL_HEADER], struct err *err)
{
    memset(out, 0, WAL_HEADER);
    AUTO_CLOSE int fd = openat(dir, "run.db-wal", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || err_sys(err, "open run.db-wal");
    unsigned char header[WAL_HEADER];
    ssize_t count = pread(fd, header, sizeof header, 0);
    if (count < 0)
        return err_sys(err, "read run.db-wal");
    if (count == WAL_HEADER)
        memcpy(out, header, WAL_HEADER);
    return true;
}

static bool copy_bytes(int from, int to, const char *name, struct err *err)
{
    char buffer[65536];
    for (;;) {
        ssize_t count = read(from, buffer, sizeof buffer);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return err_sys(err, "read %s", name);
        if (count == 0)
            return true;
        if (!fs_write_all(to, buffer, (size_t)count, err))
            return err_wrap(err, "copy %s", name);
    }
}

static bool copy_file(int from_dir, int to_dir, const char *name, bool may_miss, struct err *err)
{
    if (unlinkat(to_dir, name, 0) < 0 && errno != ENOENT)
        return err_sys(err, "copy %s", name);
    AUTO_CLOSE int from = openat(from_dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (from < 0)
        return (may_miss && errno == ENOENT) || err_sys(err, "open %s", name);
    struct stat st;
    if (fstat(from, &st) < 0 || !S_ISREG(st.st_mode))
        return err_set(err, "%s is no regular file", name);
    AUTO_CLOSE int to = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (to < 0)
        return err_sys(err, "copy %s", name);
    return copy_bytes(from, to, name, err);
}

static bool copy_run(int from, int to, struct err *err)
{
    for (int i = 0; i < TRIES; i++) {
        unsigned char before[WAL_HEADER], after[WAL_HEADER];
        if (!read_header(from, before, err) || !copy_file(from, to, "run.db", false, err) ||
            !copy_file(from, to, "run.db-wal", true, err) || !read_header(to, after, err))
            return false;
        if (memcmp(before, after, WAL_HEADER) == 0)
            return true;
        usleep(10000);
    }
    return err_set(err, "run.db is written too fast to be read");
}

static bool copy_to(const char *run_dir, const char *dir, struct err *err)
{
    AUTO_CLOSE int from = open(run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (from < 0)
        return err_sys(err, "open %s", run_dir);
    AUTO_CLOSE int to = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (to < 0)
        return err_sys(err, "open %s", dir);
    return copy_run(from, to, err) || err_wrap(err, "%s", run_dir);
}

bool snapshot_open(const char *run_dir, struct snapshot *out, struct err *err)
{
    const char *base = getenv("TMPDIR");
    *out = (struct snapshot){.dir = mem_printf("%s/" TARE_NAME "-read-XXXXXX", base && *base ? base : P_tmpdir)};
    if (!mkdtemp(out->dir)) {
        err_sys(err, "make a folder for a copy of run.db, %s", out->dir);
        free(steal_ptr(out->dir));
        return false;
    }
    AUTO_FREE char *file = mem_printf("%s/run.db", out->dir);
    if (copy_to(run_dir, out->dir, err))
        out->db = db_open_copy(file, err);
    if (out->db)
        return true;
    snapshot_close(out);
    return false;
}

void snapshot_close(struct snapshot *snapshot)
{
    static const char *const names[] = {"run.db", "run.db-wal", "run.db-shm", "run.db-journal"};
    db_close(&snapshot->db);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        AUTO_FREE char *file = mem_printf("%s/%s", snapshot->dir, names[i]);
        unlink(file);
    }
    rmdir(snapshot->dir);
    free(steal_ptr(snapshot->dir));
}
