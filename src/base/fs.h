/* fs: files and folders, whole and safe: nothing half written is ever seen, and no link is followed
 * in a folder that somebody else may write. */
#ifndef TARE_BASE_FS_H
#define TARE_BASE_FS_H

#include "base/err.h"
#include "base/text.h"

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* openat below an open folder: no step of path is a link, none leads out of dir (openat2(2),
 * Linux 5.6; step by step where it is missing). O_CLOEXEC is added. AT_FDCWD: a path of the
 * caller's own, which may lead anywhere; only its last step is no link. -1 and errno: ELOOP or
 * ENOTDIR for a link, EXDEV for what leads out. */
int fs_open_beneath(int dir, const char *path, int flags, mode_t mode);

/* The folder below dir, -1 and errno. */
int fs_open_folder_beneath(int dir, const char *path);

/* The entries of a folder below an open one ("." for itself) or AT_FDCWD, from the first on, for
 * readdir; NULL and errno. AUTO_DIR closes it. */
DIR *fs_list(int dir, const char *path);
void fs_list_end(DIR **list);
#define AUTO_DIR AUTO(fs_list_end)

/* Whether the open folder was removed meanwhile. */
bool fs_is_deleted(int dir);

/* What follows with a dir reaches what fs_open_beneath does: with AT_FDCWD anything, with an open
 * folder what is in it or below it, across no link. */

/* The whole file into out; refuses what is no regular file or longer than limit bytes. fs_read_at:
 * relative to dir (AT_FDCWD allowed), the last step no link. */
bool fs_read(const char *path, size_t limit, struct text *out, struct err *err);
bool fs_read_at(int dir, const char *name, size_t limit, struct text *out, struct err *err);

/* The next line, with its end, into out (cleared first). 1: a line, 0: the end of the file or an
 * error of it (ferror), -1: it is longer than limit bytes, and was skipped. */
int fs_read_line(FILE *file, size_t limit, struct text *out);

/* Small kernel files (proc, sysfs): up to limit bytes, whatever the kind of file says; longer is an
 * error. */
bool fs_read_kernel(int dir, const char *path, size_t limit, struct text *out, struct err *err);

/* Writes the file beside itself, fsyncs, renames over name, fsyncs the folder. Mode 0664 less the
 * umask. */
bool fs_write_atomic(int dir, const char *name, const char *bytes, size_t count, struct err *err);

/* The same without an fsync, for what is published as a whole later, and synced then. */
bool fs_write_unsynced(int dir, const char *name, const char *bytes, size_t count, struct err *err);
typedef bool fs_write_fn(int dir, const char *name, const char *bytes, size_t count,
                         struct err *err);

/* What fs_write_atomic names a file until it is whole: the prefix and so many hexadecimal
 * digits. */
#define FS_UNFINISHED_PREFIX ".writing-"
enum { FS_UNFINISHED_DIGITS = 16 };
#define FS_UNFINISHED_SIZE (sizeof FS_UNFINISHED_PREFIX + FS_UNFINISHED_DIGITS)

/* The same piece by piece, for what is too long to be held in memory: a file beside name (in dir
 * itself), whose fd takes the bytes. publish (sync: safe on the disk) gives it the name, and drop
 * removes it; both close it. */
struct fs_unfinished {
    int dir, fd; /* dir: borrowed */
    char name[FS_UNFINISHED_SIZE];
};
bool fs_unfinished_begin(int dir, struct fs_unfinished *out, struct err *err);
bool fs_unfinished_publish(struct fs_unfinished *file, const char *name, bool sync,
                           struct err *err);
/* nothing where nothing was begun, or it is published */
void fs_unfinished_drop(struct fs_unfinished *file);

/* Creates an empty file in dir, a folder in which somebody else may have put anything under that
 * name: a FIFO, a link, a file with a second name elsewhere. Whatever it is, it loses the name, and
 * is neither opened nor changed; a folder is an error. An open descriptor for writing, -1 on error.
 * Mode 0664 less the umask. */
int fs_create_at(int dir, const char *name, struct err *err);

/* Opens a regular file for reading, the last step no link; never waits for the other end of a FIFO.
 * -1 on error. */
int fs_open_at(int dir, const char *name, struct err *err);

/* A file that the user named. A regular one, or none yet, is written beside itself and renamed over
 * it when it is whole: what was there survives a full disk, and keeps its mode and owner. A
 * symbolic link is followed and stays. What is no regular file (a device, a pipe, /dev/stdout,
 * /dev/fd/N) is opened and written, never replaced; so is a file whose folder takes no new one, or
 * whose owner could not be kept. */
struct fs_output {
    struct fs_unfinished file; /* fd: to be written to; dir: owned; -1: written in place */
    bool shorten;              /* in place, and what was there may be longer */
    char *path, *last;         /* as it was named; the last step where it really is */
};

/* Writes all the bytes, across interruptions and short writes. */
bool fs_write_all(int fd, const char *bytes, size_t count, struct err *err);

/* Makes the folder (not an error when it is there already and no link), never writable for others
 * than user and group, and opens it. -1 on error. */
int fs_make_dir_at(int dir, const char *name, mode_t mode, struct err *err);

/* mkdir -p, never writable for others either, then opens it: -1 on error. */
int fs_make_path(const char *path, mode_t mode, struct err *err);

/* The nearest folder above path, or path itself, that is there; absolute, fresh. */
char *fs_nearest(const char *path);

/* Whether fs_make_path could make it, and a folder in it, as far as can be told without doing it (a
 * full disk cannot). */
bool fs_can_make_path(const char *path, struct err *err);

/* Which files in somebody else's folder are ours to replace. A folder that is read (a study's
 * results, wherever a table goes) may hold a file of the same name that a person made, or changed
 * since. A hidden file beside what was written, .tare-written.json, keeps for each name the size
 * and a hash of what was written last: a file that still is that may be replaced, any other may
 * not. CSV has no place for such a mark. */

#define WRITTEN_RECORD ".tare-written.json"

#endif
