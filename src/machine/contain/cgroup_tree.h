/* cgroup_tree: a leaf and the cgroups that its members made below it. */
#ifndef TARE_MACHINE_CONTAIN_CGROUP_TREE_H
#define TARE_MACHINE_CONTAIN_CGROUP_TREE_H

#include "machine/contain/cgroup.h"

/* One write(2) to one control file. */
bool cgroup_write(const char *folder, const char *file, const char *value);
bool cgroup_write_at(int dir, const char *file, const char *value);

#endif
