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

/* Whether name can be that of one file or folder in a folder that somebody else filled: not empty,
 * at most 255 bytes, neither '/' nor a control character in it (those of UTF-8's U+0080 to U+009F
 * too), and no '.' at its beginning, so neither "." nor ".." nor what is hidden. Whoever reads a
 * name from a file asks here before it is part of a path. err: the name, made fit to be shown, and
 * what is wrong with it. NULL is no name. */
bool fs_check_name(const char *name, struct err *err);

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

bool fs_is_unfinished_name(const char *name);

/* Makes an empty file of such a name, which goes into out: -1 on error. */
int fs_make_unfinished(int folder, mode_t mode, char out[FS_UNFINISHED_SIZE], struct err *err);

/* A file without a name, in $TMPDIR or /tmp, for reading and writing: however the program ends,
 * nothing is left of it. -1 on error. */
int fs_open_nameless(struct err *err);

/* Removes what a killed fs_write_atomic left in dir (an open folder) and, if so wanted, in the
 * folders below it: regular files of exactly such a name; no link is followed, and what cannot be
 * removed stays. Gives how many. For who alone writes there. */
size_t fs_clear_unfinished(int dir, bool below);

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
bool fs_output_open(const char *path, struct fs_output *out, struct err *err);
bool fs_output_write(struct fs_output *output, const char *bytes, size_t count, struct err *err);

/* Whole and safe on the disk, or what was there before is there still. Either way it is closed. */
bool fs_output_commit(struct fs_output *output, struct err *err);
void fs_output_drop(struct fs_output *output); /* nothing was written; harmless after a commit */

/* All of it at once. */
bool fs_write_output(const char *path, const char *bytes, size_t count, struct err *err);

/* Whether that can be expected to work, before hours of work; nothing is opened. */
bool fs_may_write_output(const char *path, struct err *err);

/* The two names lead to one file that is there. */
bool fs_is_same_file(const char *a, const char *b);

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

/* The absolute path of path seen from base (both may be NULL: the working folder), "." and ".." and
 * doubled slashes taken out as text, links left alone, a leading "~/" expanded by home (may be
 * NULL: left alone). */
char *fs_resolve(const char *base, const char *path, const char *home);

/* The folder part of a path ("." when there is none), and the last step. Fresh copies. */
char *fs_dirname(const char *path);
char *fs_basename(const char *path);

/* Links are followed. False as well when it cannot be seen. */
bool fs_is_file(const char *path);
bool fs_is_folder(const char *path);

/* Finds an executable: a name with a slash relative to cwd, else along the PATH given. NULL when
 * there is none. */
char *fs_find_executable(const char *name, const char *cwd, const char *path);

/* Which files in somebody else's folder are ours to replace. A folder that is read (a study's
 * results, wherever a table goes) may hold a file of the same name that a person made, or changed
 * since. A hidden file beside what was written, .tare-written.json, keeps for each name the size
 * and a hash of what was written last: a file that still is that may be replaced, any other may
 * not. CSV has no place for such a mark. */

#define WRITTEN_RECORD ".tare-written.json"

/* Whether folder/name may be written: nothing is there, or what was written there last. Else err
 * says what to do
 * (--force). */
bool written_may_replace(const char *folder, const char *name, struct err *err);

/* Records that folder/name, as it is now, is ours. */
bool written_record(const char *folder, const char *name, struct err *err);

/* Asks (not when forced), writes with fs_write_atomic, so that no link is followed in such a
 * folder, records. */
bool written_write(const char *folder, const char *name, const char *bytes, size_t count,
                   bool force, struct err *err);

#endif
