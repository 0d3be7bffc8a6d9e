/* procfs: reads what /proc says about a process (proc(5)). The parsers are pure: bytes in, structs
 * out. */
#ifndef TARE_BASE_PROCFS_H
#define TARE_BASE_PROCFS_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_stat {
    pid_t pid, ppid, pgrp, session;
    char comm[64]; /* made printable */
    char state;
    uint64_t cpu_ticks; /* of itself and of the children it has waited for */
    uint64_t threads;   /* 0: a zombie; a zombie leader of a process that lives on: 2 or more */
    uint64_t start_time;
};

/* One /proc/PID/stat. */
bool proc_stat_parse(const char *bytes, size_t count, struct proc_stat *out);

/* Not only a zombie that waits to be reaped. */
bool proc_stat_alive(const struct proc_stat *stat);

/* The path in one /proc/PID/cgroup: of this cgroup v1 controller, or of cgroup v2 when it is NULL.
 * False: no such line, or it does not fit. */
bool proc_cgroup_path(const char *bytes, size_t count, const char *controller, char *out,
                      size_t size);

/* The number behind "key" at the start of a line: "populated 0", "VmHWM:   1234 kB", "usage_usec
 * 17". */
bool proc_keyed_number(const char *bytes, size_t count, const char *key, uint64_t *out);

/* How many pid namespaces /proc/PID/status lists, and the pid in the innermost: a namespace's init
 * has depth > 1 and 1. */
bool proc_status_nspid(const char *bytes, size_t count, size_t *depth, pid_t *innermost);

/* One /proc/PID/task/TID/schedstat: how long the thread was on a CPU, and how long it was ready but
 * waited for one (Documentation/scheduler/sched-stats.rst). */
bool proc_schedstat_parse(const char *bytes, size_t count, uint64_t *run_ns, uint64_t *waited_ns);

/* Decimal digits only, at most max. */
bool proc_number_parse(const char *text, size_t length, uint64_t max, uint64_t *out);

/* The next process that this listing of /proc shows; 0: no more, or errno is set: the rest cannot
 * be listed. */
pid_t proc_next_pid(DIR *proc);

/* Reads at most size - 1 bytes and ends them with a NUL: -1 and errno when it cannot. No memory is
 * allocated. */
ssize_t proc_read_at(int dir, const char *path, char *buffer, size_t size);
bool proc_stat_read(int proc_fd, pid_t pid, struct proc_stat *out);

/* The first value of the name in the environment that this path shows: fresh, or NULL. Other
 * people's secrets are in it: it is read no further than to the value, and nothing else of it is
 * kept. False: it cannot be read. */
bool proc_environ_value(int dir, const char *path, const char *name, char **out);
bool proc_real_uid(int proc_fd, pid_t pid, uid_t *out);

/* The user's name as the file passwd (/etc/passwd) has it: no directory on the network is asked.
 * False: not in it. */
bool passwd_user_name(const char *passwd, uid_t uid, char *out, size_t size);

/* An orphan has no parent left: pid 1 or a user's systemd adopted it. proc_adopts: whether this
 * parent is one of them. */
bool proc_is_user_manager(int proc_fd, const struct proc_stat *stat); /* systemd --user */
bool proc_adopts(int proc_fd, pid_t parent);
/* The children that this thread of the process forked or adopted, the first max of them: how many;
 * -1: there is no such process, or the kernel does not list them (CONFIG_PROC_CHILDREN). */
ssize_t proc_children_read(int proc_fd, pid_t pid, pid_t thread, pid_t *out, size_t max);

/* Who holds a kernel lock on a file, as the kernel tells it: anybody can write what is in the
 * file. */

/* A process that has the file behind fd locked (flock, or fcntl's kinds), by its number in our pid
 * namespace; a lock outlives who took it where a child has inherited it: then it is that child. 0:
 * none is seen: it is of another pid namespace or machine, or hidden. */
pid_t file_lock_holder(int fd);

/* Who a process is, fit to be shown: its user, by name where it has one, and its command line,
 * cut. */
struct file_lock_owner {
    char user[64], command[120];
};

/* False: there is no such process. */
bool file_lock_owner(pid_t pid, struct file_lock_owner *out);

#endif
