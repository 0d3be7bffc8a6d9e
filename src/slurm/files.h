/* files: folders of one run that become part of another on the same file system, without their bytes being copied. */
#ifndef TARE_SLURM_FILES_H
#define TARE_SLURM_FILES_H

#include "base/err.h"

#include <stdbool.h>

/* Gives every regular file below from (an open folder) the same name below to, as a second link, or as a copy where the file system
 * has none; what is a link or no regular file is left out, and so are names that begin with a dot. What is there already stays. */
bool files_link_tree(int from, int to, struct err *err);

/* Removes the folder name below dir with all that is in it, following no link; fine when it is not there. */
bool files_remove_tree(int dir, const char *name, struct err *err);

#endif
