/* Output files named by a user: follows links safely and replaces the old file atomically. */
#ifndef TARE_BASE_FS_OUTPUT_H
#define TARE_BASE_FS_OUTPUT_H

#include "base/fs.h"

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

#endif
