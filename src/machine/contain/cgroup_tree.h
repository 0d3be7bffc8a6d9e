/* cgroup_tree: walks a job's cgroups, also nested ones: thaws, kills and removes them. */
#ifndef TARE_MACHINE_CONTAIN_CGROUP_TREE_H
#define TARE_MACHINE_CONTAIN_CGROUP_TREE_H

#include "machine/contain/cgroup.h"

/* Removes what is ours by name and in which nobody has been for a minute: leaves whose runner and
 * guardian were killed together, and cgroups of runners that have ended. */
void cgroup_clean(const char *parent);

/* SIGKILL to every member of the leaf and the cgroups below it, by the kernel and safe against
 * forks; frozen ones are thawed. */
void cgroup_kill(const char *leaf);
void cgroup_thaw(const char *leaf);

/* Removes it and the cgroups below it. True: gone (or never there). */
bool cgroup_remove(const char *leaf);

/* Calls each for every pid listed in the leaf and below. */
void cgroup_each_pid(const char *leaf, void (*each)(void *context, pid_t pid), void *context);

/* A leaf and the cgroups that its members made below it. */

/* One write(2) to one control file. */
bool cgroup_write(const char *folder, const char *file, const char *value);
bool cgroup_write_at(int dir, const char *file, const char *value);

#endif
