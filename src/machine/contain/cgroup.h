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

/* Removes what is ours by name and in which nobody has been for a minute: leaves whose runner and
 * guardian were killed together, and cgroups of runners that have ended. */
void cgroup_clean(const char *parent);

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

/* SIGKILL to every member of the leaf and the cgroups below it, by the kernel and safe against
 * forks; frozen ones are thawed. */
void cgroup_kill(const char *leaf);
void cgroup_thaw(const char *leaf);

/* 1: has live members, 0: none, -1: no such leaf. */
int cgroup_populated(const char *leaf);

/* Removes it and the cgroups below it. True: gone (or never there). */
bool cgroup_remove(const char *leaf);

/* Calls each for every pid listed in the leaf and below. */
void cgroup_each_pid(const char *leaf, void (*each)(void *context, pid_t pid), void *context);

bool cgroup_cpu_s(const char *leaf, double *out);
bool cgroup_peak_memory(const char *leaf, uint64_t *out);

/* A leaf and the cgroups that its members made below it. (cgroup_tree.c) */

/* One write(2) to one control file. */
bool cgroup_write(const char *folder, const char *file, const char *value);
bool cgroup_write_at(int dir, const char *file, const char *value);

/* A cgroup that is an ordinary user's own, asked of systemd's user manager over D-Bus
 * (org.freedesktop.systemd1(5): StartTransientUnit; systemd.scope(5)). No shell, no helper program;
 * where there is no such manager, that is an error. (scope.c) */

/* Asks for a delegated scope of this name with this process in it, and waits for the answer: the
 * job is then queued, the process not yet moved. address: of the manager's own socket, as
 * sd_bus_set_address takes it; NULL: the user's bus. */
bool scope_ask(const char *address, const char *unit, pid_t pid, double timeout_s, struct err *err);

/* Asks for a scope with this very process in it, waits until it is, and moves on into a cgroup of
 * its own below it, so that the scope can hand controllers down. From then on the process's cgroup
 * is the user's, and so is the scope above it. A few ms. */
bool scope_enter(struct err *err);

/* Whether the user has a manager: its own socket is there. Asks nobody. */
bool scope_manager_there(void);

/* Whether a scope would live no shorter than this process: the user manager, and all below it, ends
 * with the user's last login unless the user lingers (loginctl(1), enable-linger); a process that
 * is below it already has nothing to lose. own: as /proc/self/cgroup has it; linger: the folder in
 * which systemd-logind keeps a file for each user who does. */
bool scope_outlives_login(const char *own, uid_t uid, const char *linger, const char *user);

#endif
