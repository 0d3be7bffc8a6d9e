/* script_files: a Python script and the local modules that it imports, as files: found by their
 * import statements, never by running or importing anything. Modules that are not below the
 * script's roots (installed packages) are left out. */
#ifndef TARE_PLAN_SCRIPT_FILES_H
#define TARE_PLAN_SCRIPT_FILES_H

#include "base/strv.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

/* What is read at most; of more, cut is set. */
enum { SCRIPT_FILES_MAX = 500, SCRIPT_FILE_BYTES = 2 << 20, SCRIPT_ROOTS_MAX = 8 };

struct script_file {
    char *path; /* absolute */
    char *text; /* NUL-terminated; there may be others within */
    size_t length;
};

struct script_files {
    struct script_file *items; /* the script itself first, then in the order of the imports */
    size_t count;
    bool cut; /* some files were not read: there are too many, or one is too long */
};

/* Reads root/path, path being below root and without ".". False: there is no such file. cut:
 * there is, and it is too long. */
typedef bool script_read_fn(void *context, const char *root, const char *path, struct text *out,
                            bool *cut);

/* script: its path below roots[0]. roots: absolute folders in which absolute imports are
 * searched, in order. False: the script cannot be read. */
bool script_files_walk(const struct strv *roots, const char *script, script_read_fn *read,
                       void *context, struct script_files *out);

/* From the disk. script: absolute; a link as the script itself is followed, as Python does.
 * Roots are its folder, those of python_path (as PYTHONPATH; NULL: none) and cwd. Below these no
 * link is followed. */
bool script_files_read(const char *script, const char *cwd, const char *python_path,
                       struct script_files *out);
void script_files_fini(struct script_files *files);

#endif
