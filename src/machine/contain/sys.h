/* sys: the system calls that glibc 2.31 does not wrap, and what is called in one way everywhere. */
#ifndef TARE_MACHINE_CONTAIN_SYS_H
#define TARE_MACHINE_CONTAIN_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

int sys_pidfd_open(pid_t pid);                /* close-on-exec; -1 and errno */
bool sys_pidfd_signal(int pidfd, int signal); /* false and errno */
bool sys_close_range(unsigned first, unsigned last);

/* One message, whole and without waiting; a reader that is gone raises no signal. False and
 * errno. */
bool sys_send(int socket, const void *message, size_t size);

/* As fork, with these clone flags; pidfd (may be NULL) as the caller's descriptor of the child.
 * Neither locks of malloc nor of stdio are taken care of: a child of a program with threads may
 * only make system calls. */
pid_t sys_clone(uint64_t flags, int *pidfd);

/* As sys_clone(0), born in the cgroup whose folder is open as cgroup_fd (Linux 5.7). */
pid_t sys_clone_into(int cgroup_fd);

/* Every signal to its default, those ignored by whoever started us too, and none left blocked or
 * all blocked. By the raw call: glibc refuses its own two (32, 33), and a job in which one of these
 * is ignored cannot cancel threads. */
void sys_signals_default(void);
void sys_signals_block_all(void);
void sys_signals_unblock_all(void);

/* No process that descends from this one types into a terminal any more: ioctls TIOCSTI and
 * TIOCLINUX (whose subcode 3 pastes) fail with EPERM in every ABI, by a seccomp filter. Without
 * no_new_privs, which would take away setuid programs: so it needs CAP_SYS_ADMIN in the own user
 * namespace. False, errno: not refused. */
bool sys_typing_refuse(void);

#endif
