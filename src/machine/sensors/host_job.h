/* host_job: what one job uses of the host. From its cgroup where that has the controller, else
 * summed over its processes. */
#ifndef TARE_MACHINE_SENSORS_HOST_JOB_H
#define TARE_MACHINE_SENSORS_HOST_JOB_H

#include "base/procfs.h"
#include "machine/contain/contain.h"
#include "machine/sensors/series.h"

enum host_resource { HOST_CPU, HOST_MEMORY, HOST_IO, HOST_RESOURCES };
extern const char *const host_resource_names[HOST_RESOURCES]; /* "cpu", "memory", "io" */

/* Absent is not zero. */
struct host_job_figures {
    struct reading cpu_s; /* since the job began; never falls */
    /* of cpu_s, in programs and in the kernel; of a cgroup alone */
    struct reading user_s, system_s;
    struct reading memory_bytes; /* now */
    /* the highest so far: of the kernel, or of our samples; at the end not less than that of the
     * largest process, whom no sample may have met */
    struct reading memory_peak_bytes;
    /* by the cgroup; else resident sizes added up: what is shared counts for each */
    bool memory_charged;
    struct reading read_bytes; /* from and to storage since the job began; never fall */
    struct reading written_bytes;
    /* How long part of the job waited for a CPU, for memory and for disks since the first sample:
     * the kernel's "some" of its cgroup, which counts processes that have ended; absent without a
     * cgroup or without PSI. */
    struct reading waited_s[HOST_RESOURCES];
    /* Without a cgroup: how long the job's threads were on a CPU, and ready but waiting for one, as
     * far as they were seen: added up, so both may exceed the time that has passed. */
    struct reading threads_run_s, threads_waited_s;
    struct reading processes;      /* alive, the job's init not counted */
    struct reading processes_peak; /* the most that were seen at once */
    /* so many processes' reads and writes may not be seen: then there is no sum */
    size_t io_refused;
};

struct host_job;

/* sysroot as in rapl.h ("" for this machine): where /proc and /sys are, and the cgroup's folder
 * that the identity names. */
struct host_job *host_job_new(const char *sysroot, const struct job_identity *identity);
void host_job_free(struct host_job *job);

/* The same of a process that is nobody's job, and of all that descend from it: what they use from
 * the first sample on (of memory: what they have). No right over it is needed, but for what it
 * reads and writes, which its own user and root may see. Descendants that lost their parents are
 * followed from when they were first seen. What is used between the last sample and an end is
 * missed. */
struct host_job *host_job_new_tree(const char *sysroot, pid_t pid, uint64_t start_time);

/* Costs some 10 µs for each process of the job, less where the cgroup has the controllers; without
 * a cgroup some 10 µs for each process of the machine. When the job is gone: what was known last,
 * without what is only of now. */
void host_job_sample(struct host_job *job, struct host_job_figures *out);

/* It is proven gone: what the kernel counted for it in all. */
void host_job_end(struct host_job *job, const struct job_usage *usage,
                  struct host_job_figures *out);

/* Its CPU time alone, some 3 µs: the rest of out stays as it is. False: only host_job_sample finds
 * it (there is no cgroup). */
bool host_job_sample_cpu(struct host_job *job, struct host_job_figures *out);

/* Called once a second: samples, unless earlier samples have cost so much that it waits: on the
 * average less than 1 ms of CPU a call, whatever the job's size. False: not now, out stays as it
 * is. */
bool host_job_tick(struct host_job *job, struct host_job_figures *out);

/* What a process that is nobody's job uses, with all that descend from it, seen from outside.
 * Private to sensors/. (host_tree.c) */

struct host_tree;

/* sysroot stays the caller's: where /proc/PID/statm and io are; who descends from whom the machine
 * itself tells. */
struct host_tree *host_tree_new(const char *sysroot, pid_t pid, uint64_t start_time);
void host_tree_free(struct host_tree *tree); /* NULL: nothing */

/* One process as sysroot's /proc shows it. memory: adds its resident pages. io: as host_io_parse;
 * one that may not be read counts as refused, unlike one that has just ended. */
bool host_process_stat(const char *sysroot, pid_t pid, struct proc_stat *out);
void host_process_add_memory(const char *sysroot, pid_t pid, struct reading *pages);
bool host_process_io(const char *sysroot, pid_t pid, uint64_t *read_bytes, uint64_t *written_bytes,
                     size_t *refused);

/* Fills all but the peaks. CPU time, bytes read and written count from the first call on. */
void host_tree_sample(struct host_tree *tree, struct host_job_figures *out);

#endif
