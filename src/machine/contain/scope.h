/* scope: asks systemd for a delegated scope, in which an ordinary user may create cgroups. */
#ifndef TARE_MACHINE_CONTAIN_SCOPE_H
#define TARE_MACHINE_CONTAIN_SCOPE_H

#include "machine/contain/cgroup.h"

/* A cgroup that is an ordinary user's own, asked of systemd's user manager over D-Bus
 * (org.freedesktop.systemd1(5): StartTransientUnit; systemd.scope(5)). No shell, no helper program;
 * where there is no such manager, that is an error. */

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
