/* holders: finds the processes that hold a pipe open for writing. */
#ifndef TARE_MACHINE_CONTAIN_HOLDERS_H
#define TARE_MACHINE_CONTAIN_HOLDERS_H

#include "machine/contain/contain.h"

/* Which processes have a pipe open for writing, as /proc/PID/fd and fdinfo show it (proc(5)). */

/* Those that have the pipe with this inode open for writing (members: at most max are filled in,
 * without wchan); gives how many. proc:
 * "/proc", or a test's own. hidden: how many processes could not be looked into. */
size_t holders_of_pipe(const char *proc, uint64_t inode, struct job_member *members, size_t max,
                       size_t *hidden);

#endif
