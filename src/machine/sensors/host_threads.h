/* host_threads: how long the threads of a job waited for a CPU, for a job without a cgroup of its
 * own: the sum of each one's run-queue delay (/proc/PID/task/TID/schedstat). */
#ifndef TARE_MACHINE_SENSORS_HOST_THREADS_H
#define TARE_MACHINE_SENSORS_HOST_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct host_thread {
    pid_t tid;
    uint64_t run_ns, waited_ns; /* on a CPU; ready, but waiting for one */
};

/* Zero-initialised; host_threads_fini. */
struct host_threads {
    struct host_thread *now; /* of the last sample, by tid once it has ended */
    size_t count;
    struct host_thread *next; /* of the sample under way */
    size_t next_count;
    uint64_t gone_run_ns, gone_waited_ns; /* of threads that ended, as last seen */
    struct host_thread first;             /* of the command; its caller may know its last figures */
};

/* A sample: begin, each process of the job, end. More than a few thousand threads are not read: the
 * CPU time that is missing then tells it. command: the process is the command's. */
void host_threads_begin(struct host_threads *threads);
void host_threads_add(struct host_threads *threads, const char *sysroot, pid_t pid, bool command);
void host_threads_end(struct host_threads *threads);

/* Sums over all threads seen so far. */
struct host_thread host_threads_sum(const struct host_threads *threads);

void host_threads_fini(struct host_threads *threads);

#endif
