/* cgroup: the cgroup v2 leaf of a job (Documentation/admin-guide/cgroup-v2.rst of the kernel). */
#ifndef TARE_MACHINE_CONTAIN_CGROUP_H
#define TARE_MACHINE_CONTAIN_CGROUP_H

#include "base/cpus.h"
#include "base/err.h"
#include "machine/contain/contain.h"

#include <sys/types.h>

/* The folder in which this process may make leaves: its own cgroup (or the one above, when that is
 * what cgroup_enter_runner made); as root else the mount's root; as an ordinary user else a scope
 * that systemd's user manager delegates, which this process then enters (scope_ask). insist: even
 * where that scope would end with the user's last login. It is seen by making a folder there and
 * removing it. NULL: none (err says why); the caller frees. */
char *cgroup_find_parent(bool insist, struct err *err);

/* The same with the leaf of this tag, made there and left: for one job this is faster. parent: the
 * folder above; both the caller's. */
char *cgroup_find_leaf(bool insist, const char *tag, char **parent, struct err *err);

/* The folder of this process's own cgroup. NULL: none (err); the caller frees. */
char *cgroup_own(struct err *err);

/* Makes a cgroup for this process below parent and moves it there: a cgroup with processes of its
 * own cannot hand controllers to its children. */
bool cgroup_enter_runner(const char *parent, struct err *err);

/* As root, before it is given up for this user: moves this process below a cgroup of that user's,
 * in which it can make leaves afterwards (Documentation/admin-guide/cgroup-v2.rst, Delegation).
 * What is left of it is empty and goes with the next call. */
bool cgroup_delegate(uid_t uid, gid_t gid);

/* Where mountinfo and /proc/self/cgroup say that our own cgroup is: pure, for cgroup_find_parent.
 * The mount's point alone when at_root. NULL: no cgroup v2 mounted, or our cgroup is outside what
 * is mounted. */
char *cgroup_own_path(const char *mountinfo, size_t mountinfo_length, const char *cgroup,
                      size_t cgroup_length, bool at_root);

char *cgroup_leaf_path(const char *parent, const char *tag); /* the caller frees */
bool cgroup_make(const char *leaf, struct err *err);

/* What a file of a run may name as a leaf: a folder of this user on a cgroup v2 file system, no
 * link on the way to it, its last step made by cgroup_leaf_path of this tag. */
bool cgroup_is_leaf_of(const char *leaf, const char *tag);

/* Hands the cpuset controller down to it where the folder above has it. False: the leaf's members
 * would run elsewhere too. */
bool cgroup_limit_cpus(const char *leaf, const struct cpus *cpus);

/* Limits memory (and swap to 0) where the leaf has the memory controller. bytes: 0: no limit. */
void cgroup_limit_memory(const char *leaf, uint64_t bytes);
bool cgroup_has_memory_limit(const char *leaf);

/* Processes of the leaf that the kernel ended for want of memory. False: the controller is
 * missing. */
bool cgroup_oom_kills(const char *leaf, uint64_t *out);

/* Whether the memory controller is listed in a file of the cgroup: "cgroup.controllers",
 * "cgroup.subtree_control". */
bool cgroup_has_memory(const char *cgroup, const char *file);

/* 1: has live members, 0: none, -1: no such leaf. */
int cgroup_populated(const char *leaf);

bool cgroup_cpu_s(const char *leaf, double *out);
bool cgroup_peak_memory(const char *leaf, uint64_t *out);

#endif
