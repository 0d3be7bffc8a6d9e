/* aftermath: what is found beside a job that is proven gone, told and never touched: who still has
 * its log's pipe, who has a GPU open and might do so for it, and what memory is left that no
 * process holds. Private to run/. */
#ifndef TARE_RUN_AFTERMATH_H
#define TARE_RUN_AFTERMATH_H

#include "machine/contain/contain.h"
#include "machine/state/census.h"

/* Who has the log's pipe (our end) open for writing. NULL: nobody, by now; the caller frees. */
char *aftermath_log_holders(int pipe);

/* Processes of this user that began after the job, have a GPU open and are explained by nothing:
 * neither another job of ours, nor of the runner itself; nor is it known (may be NULL) to the
 * caller. Work that the job handed to somebody else's daemon looks so, and so does another program
 * of the user's. NULL: none; the caller frees. roots: NULL for the machine's own. */
typedef bool aftermath_known_fn(void *context, pid_t pid);
char *aftermath_gpu_holders(const struct census_roots *roots, const struct job_identity *job,
                            uid_t uid, aftermath_known_fn *known, void *context);

/* What is of this user, came to be between the two times (CLOCK_REALTIME), outlives every process
 * and holds memory: files in /dev/shm that no process has mapped, System V shared memory that none
 * has attached, semaphores, message queues. Possibly the job's. NULL: nothing; the caller frees. */
char *aftermath_memory_left(uid_t uid, int64_t from_ns, int64_t to_ns);

/* Adds the last bytes of this log, at most so many. False: there are none, or it is no file. */
bool aftermath_log_tail(int folder, const char *log_name, size_t most, struct text *out);

/* Whether the end of this training.log tells of a program that did not become root by its setuid
 * bit. */
bool aftermath_has_setuid_refusal(int folder, const char *log_name);

#endif
