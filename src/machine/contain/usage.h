/* usage: counts the CPU time, memory and out-of-memory kills of a job. */
#ifndef TARE_MACHINE_CONTAIN_USAGE_H
#define TARE_MACHINE_CONTAIN_USAGE_H

#include "machine/contain/contain.h"

/* What is known now; a job that is to be killed is asked before, as it says nothing afterwards. */
struct job_usage job_usage(struct job *job);

/* How many processes the kernel has ended for want of memory since the machine was started,
 * whosever they were: vmstat is the path of /proc/vmstat. False: it does not tell. */
bool machine_oom_kills(const char *vmstat, uint64_t *out);

#endif
