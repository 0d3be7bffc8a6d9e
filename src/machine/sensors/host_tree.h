/* host_tree: what a process that is nobody's job uses, with all that descend from it, seen from outside. Private to
 * meter/. */
#ifndef TARE_MACHINE_SENSORS_HOST_TREE_H
#define TARE_MACHINE_SENSORS_HOST_TREE_H

#include "machine/sensors/host_job.h"

struct host_tree;

/* sysroot stays the caller's: where /proc/PID/statm and io are; who descends from whom the machine itself tells. */
struct host_tree *host_tree_new(const char *sysroot, pid_t pid, uint64_t start_time);
void host_tree_free(struct host_tree *tree); /* NULL: nothing */

/* Fills all but the peaks. CPU time, bytes read and written count from the first call on. */
void host_tree_sample(struct host_tree *tree, struct host_job_figures *out);

#endif
