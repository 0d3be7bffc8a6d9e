/* Paths as text: joins, resolves and splits them, checks names, and searches PATH. */
#ifndef TARE_BASE_FS_PATH_H
#define TARE_BASE_FS_PATH_H

#include "base/fs.h"

/* Whether name can be that of one file or folder in a folder that somebody else filled: not empty,
 * at most 255 bytes, neither '/' nor a control character in it (those of UTF-8's U+0080 to U+009F
 * too), and no '.' at its beginning, so neither "." nor ".." nor what is hidden. Whoever reads a
 * name from a file asks here before it is part of a path. err: the name, made fit to be shown, and
 * what is wrong with it. NULL is no name. */
bool fs_check_name(const char *name, struct err *err);

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

#endif
