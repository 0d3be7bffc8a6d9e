/* aftermath: what a job that is proven gone left behind. It is reported and never touched. */
#ifndef TARE_RUN_AFTERMATH_H
#define TARE_RUN_AFTERMATH_H

#include "machine/contain/contain.h"
#include "machine/state/census.h"

/* Processes that have the log's pipe open for writing; NULL: none. The caller frees. */
char *aftermath_log_holders(int pipe);

/* Other processes of this user that started after the job and have a GPU open, unless known (may be
 * NULL) to the caller: perhaps work that the job handed to a daemon. NULL: none; the caller frees.
 * roots: NULL: the machine's. */
typedef bool aftermath_known_fn(void *context, pid_t pid);
char *aftermath_gpu_holders(const struct census_roots *roots, const struct job_identity *job,
                            uid_t uid, aftermath_known_fn *known, void *context);

/* Memory of this user that was created between the two times (CLOCK_REALTIME) and outlives its
 * processes: unmapped files in /dev/shm, unattached System V memory, semaphores, queues. NULL:
 * none; the caller frees. */
char *aftermath_memory_left(uid_t uid, int64_t from_ns, int64_t to_ns);

/* Adds up to most bytes from the log's end. False: empty, or not a regular file. */
bool aftermath_log_tail(int folder, const char *log_name, size_t most, struct text *out);

/* The log's end reports that a setuid program did not become root. */
bool aftermath_has_setuid_refusal(int folder, const char *log_name);

#endif
