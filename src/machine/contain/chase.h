/* chase: ends a process that is gone from the pid it was seen at before a pass over /proc is over. */
#ifndef TARE_MACHINE_CONTAIN_CHASE_H
#define TARE_MACHINE_CONTAIN_CHASE_H

#include <stdint.h>
#include <sys/types.h>

/* Kills the children of a subreaper (init, with this start time) as fast as they can be listed, until it has none
 * that lives or the time is over. A process that forks and exits again and again is its child for most of each
 * short life. */
void chase_children(pid_t init, uint64_t start_time, int64_t for_ns);

#endif
