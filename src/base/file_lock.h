/* file_lock: who holds a kernel lock on a file, as the kernel tells it: anybody can write what is in the file. */
#ifndef TARE_BASE_FILE_LOCK_H
#define TARE_BASE_FILE_LOCK_H

#include <stdbool.h>
#include <sys/types.h>

/* A process that has the file behind fd locked (flock, or fcntl's kinds), by its number in our pid namespace; a lock
 * outlives who took it where a child has inherited it: then it is that child. 0: none is seen: it is of another pid
 * namespace or machine, or hidden. */
pid_t file_lock_holder(int fd);

/* Who a process is, fit to be shown: its user, by name where it has one, and its command line, cut. */
struct file_lock_owner {
    char user[64], command[120];
};

/* False: there is no such process. */
bool file_lock_owner(pid_t pid, struct file_lock_owner *out);

#endif
