/* thaw: thaws job processes that cgroup v1's freezer stopped, so that they can be killed. */
#ifndef TARE_MACHINE_CONTAIN_THAW_H
#define TARE_MACHINE_CONTAIN_THAW_H

#include "machine/contain/tree.h"

/* Frozen processes are made able to die. A task in a frozen cgroup v1 freezer ignores SIGKILL until
 * it is thawed. */

/* Thaws every cgroup v1 freezer in which a member is, and the cgroups of the leaf. A freezer that
 * also holds this process is not touched: it is somebody else's. */
void thaw_tree(const struct tree_seed *seed);

/* Whether the first length bytes of a freezer's path name a folder that does not hold the cgroup
 * own. Pure. */
bool thaw_folder_is_foreign(const char *path, size_t length, const char *own);

/* The length of the folder above: "/a/b" gives that of "/a", "/a" gives 0. Pure. */
size_t thaw_folder_above(const char *path, size_t length);

#endif
