/* host_window: what two edges say about the time between them. */
#ifndef TARE_MACHINE_SENSORS_HOST_WINDOW_H
#define TARE_MACHINE_SENSORS_HOST_WINDOW_H

#include "machine/sensors/host.h"

void host_window_between(const struct host_edge *from, const struct host_edge *to,
                         struct host_window *out);

/* What the job itself waited for in the window. Without a cgroup: its threads' run-queue delay,
 * over the window or over their own time if that is more, where those that were seen had nearly all
 * of its CPU time; and what the machine's pressure says at most of memory and disks, where that is
 * little. */
void host_window_set_job(struct host_window *window, const struct host_job_figures *job);

enum host_delay host_window_delay(const struct host_window *window);

const char *host_window_unknown(const struct host_window *window); /* a clause */

enum host_use host_window_use(const struct host_window *window, struct text *out);

/* Whether others use more than a quarter of the CPUs now; the text says so and names the busiest.
 * Blocks for 20 ms where other processes run, else it returns at once. */
bool host_is_busy(const char *sysroot, struct text *out);

#endif
