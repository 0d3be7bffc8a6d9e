#include "machine/sensors/host_job.h"
#include "machine/contain/cgroup_tree.h"
#include "machine/contain/job.h"
#include "machine/contain/usage.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/procfs.h"
#include "machine/contain/tree.h"
#include "machine/sensors/host_parse.h"
#include "machine/sensors/host_threads.h"
#include "machine/sensors/sysfs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const host_resource_names[HOST_RESOURCES] = {"cpu", "memory", "io"};

static const int64_t TICK_BUDGET_NS = 800000;

struct host_job {
    char *sysroot;
    struct job_identity identity;
    double ticks_per_s, page_bytes;
    int64_t debt_ns; /* CPU time that samples have cost above the budget */
    /* the highest so far */
    struct reading cpu_s, user_s, system_s, peak_bytes, read_bytes, written_bytes, processes;
    /* at the first sample; since then */
    struct reading waited_before_s[HOST_RESOURCES], waited_s[HOST_RESOURCES];
    /* cpu.stat of the cgroup, or -1 */
    int cpu_fd;
    struct host_threads threads; /* of a job without a cgroup */
    /* of what is no job; else NULL */
    struct host_tree *tree;
};

struct host_job *host_job_new(const char *sysroot, const struct job_identity *identity)
{
    struct host_job *job = mem_alloc(sizeof *job);
    job->sysroot = mem_strdup(sysroot);
    job_identity_copy(identity, &job->identity);
    job->ticks_per_s = (double)sysconf(_SC_CLK_TCK);
    job->page_bytes = (double)sysconf(_SC_PAGESIZE);
    AUTO_FREE char *path = identity->cgroup ? mem_printf("%s/cpu.stat", identity->cgroup) : NULL;
    job->cpu_fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    return job;
}

struct host_job *host_job_new_tree(const char *sysroot, pid_t pid, uint64_t start_time)
{
    struct host_job *job =
        host_job_new(sysroot, &(struct job_identity){.pid = pid, .start_time = start_time});
    job->tree = host_tree_new(job->sysroot, pid, start_time);
    return job;
}

void host_job_free(struct host_job *job)
{
    if (!job)
        return;
    host_tree_free(job->tree);
    host_threads_fini(&job->threads);
    cleanup_close(&job->cpu_fd);
    job_identity_fini(&job->identity);
    free(job->sysroot);
    free(job);
}

/* Sums over processes: each is read while others end, so a sum may fall for a moment; what cannot
 * fall is held by the caller. */
struct sums {
    const struct host_job *job;
    double cpu_s, read_bytes, written_bytes;
    struct reading resident_pages;
    size_t members, processes; /* the init is a member, and no process of the job's own */
    size_t io_known, io_refused;
    bool without_memory, without_io; /* the cgroup tells it */
};

static void add_process_use(void *context, pid_t pid)
{
    struct sums *sums = context;
    const char *sysroot = sums->job->sysroot;
    uint64_t read_bytes = 0, written_bytes = 0;
    sums->members++;
    sums->processes += pid != sums->job->identity.pid;
    if (!sums->without_memory)
        host_process_add_memory(sysroot, pid, &sums->resident_pages);
    if (sums->without_io ||
        !host_process_io(sysroot, pid, &read_bytes, &written_bytes, &sums->io_refused))
        return;
    sums->read_bytes += (double)read_bytes;
    sums->written_bytes += (double)written_bytes;
    sums->io_known++;
}

static void add_tree(struct host_job *job, struct sums *sums)
{
    const struct job_identity *identity = &job->identity;
    struct tree_seed seed = {
        .root = identity->pid, .start_time = identity->start_time, .session = true};
    struct tree tree;
    uint64_t now = 0, ticks = 0;
    /* Once the init is gone its pid may be another's: its session proves nothing any more. */
    if (!process_start_time(identity->pid, &now) || now != identity->start_time)
        return;
    host_threads_begin(&job->threads);
    if (tree_scan(&seed, &tree))
        EACH (process, tree.processes, tree.count) {
            pid_t pid = process->stat.pid;
            if (!process->member)
                continue;
            ticks += process->stat.cpu_ticks;
            if (!proc_stat_alive(&process->stat))
                continue;
            add_process_use(sums, pid);
            if (pid != identity->pid)
                host_threads_add(&job->threads, job->sysroot, pid,
                                 process->stat.ppid == identity->pid);
        }
    host_threads_end(&job->threads);
    tree_fini(&tree);
    sums->cpu_s = (double)ticks / sums->job->ticks_per_s;
}

/* A device made of others (device mapper, RAID) is listed beside them: the bytes are those of the
 * lower ones. */
static bool is_stacked(const char *sysroot, const struct host_device_io *io)
{
    AUTO_STRV struct strv slaves = {0};
    char path[64];
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u/slaves", io->major, io->minor);
    return sysfs_list(sysroot, path, &slaves) && slaves.count > 0;
}

static bool cgroup_io(const struct host_job *job, double *read_bytes, double *written_bytes)
{
    char bytes[16384];
    ssize_t length = sysfs_read(job->identity.cgroup, "/io.stat", bytes, sizeof bytes);
    struct host_device_io io;
    if (length < 0 || length == sizeof bytes - 1)
        return false;
    *read_bytes = *written_bytes = 0;
    for (const char *at = bytes; host_device_io_next(&at, bytes + length, &io);) {
        if (is_stacked(job->sysroot, &io))
            continue;
        *read_bytes += (double)io.read_bytes;
        *written_bytes += (double)io.written_bytes;
    }
    return true;
}

/* What the cgroup says by itself. */
struct charged {
    bool cpu, memory, io;
    double cpu_s, read_bytes, written_bytes;
    uint64_t memory_bytes;
};

static struct charged charged_read(const struct host_job *job)
{
    struct charged out = {0};
    const char *leaf = job->identity.cgroup;
    out.cpu = leaf && cgroup_cpu_s(leaf, &out.cpu_s);
    out.memory = out.cpu && sysfs_number(leaf, "/memory.current", &out.memory_bytes);
    out.io = out.cpu && cgroup_io(job, &out.read_bytes, &out.written_bytes);
    return out;
}

static void raise_highest(struct reading *so_far, double value)
{
    if (!so_far->valid || value > so_far->value)
        *so_far = (struct reading){value, true};
}

static void raise_to_usec(struct reading *so_far, const char *stat, size_t length, const char *key)
{
    uint64_t usec = 0;
    if (proc_keyed_number(stat, length, key, &usec))
        raise_highest(so_far, (double)usec / 1e6);
}

/* All three of one reading of cpu.stat. */
static void cpu_tell(struct host_job *job, struct host_job_figures *out)
{
    char stat[4096];
    ssize_t length = job->cpu_fd >= 0 ? pread(job->cpu_fd, stat, sizeof stat, 0) : -1;
    if (length > 0) {
        raise_to_usec(&job->cpu_s, stat, (size_t)length, "usage_usec");
        raise_to_usec(&job->user_s, stat, (size_t)length, "user_usec");
        raise_to_usec(&job->system_s, stat, (size_t)length, "system_usec");
    }
    out->cpu_s = job->cpu_s;
    out->user_s = job->user_s;
    out->system_s = job->system_s;
}

static void memory_tell(struct host_job *job, const struct charged *charged,
                        const struct sums *sums, struct host_job_figures *out)
{
    uint64_t peak_bytes = 0;
    out->memory_charged = charged->memory;
    if (charged->memory)
        out->memory_bytes = (struct reading){(double)charged->memory_bytes, true};
    else if (sums->resident_pages.valid)
        out->memory_bytes = (struct reading){sums->resident_pages.value * job->page_bytes, true};
    if (out->memory_bytes.valid)
        raise_highest(&job->peak_bytes, out->memory_bytes.value);
    if (charged->memory && cgroup_peak_memory(job->identity.cgroup, &peak_bytes))
        raise_highest(&job->peak_bytes, (double)peak_bytes);
    out->memory_peak_bytes = job->peak_bytes;
}

static void io_tell(struct host_job *job, const struct charged *charged, const struct sums *sums,
                    struct host_job_figures *out)
{
    /* A part is no sum. */
    if (charged->io || (sums->io_known > 0 && sums->io_refused == 0)) {
        raise_highest(&job->read_bytes, charged->io ? charged->read_bytes : sums->read_bytes);
        raise_highest(&job->written_bytes,
                      charged->io ? charged->written_bytes : sums->written_bytes);
    }
    out->read_bytes = job->read_bytes;
    out->written_bytes = job->written_bytes;
    out->io_refused = sums->io_refused;
}

static void processes_tell(struct host_job *job, struct reading now, struct host_job_figures *out)
{
    out->processes = now;
    if (now.valid)
        raise_highest(&job->processes, now.value);
    out->processes_peak = job->processes;
}

/* A played machine may have files of the job's pressure; else those of the real cgroup count. */
static ssize_t read_job_pressure(const struct host_job *job, const char *resource, char *out,
                                 size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/sys/fs/cgroup/job/%s.pressure", resource);
    ssize_t length = *job->sysroot ? sysfs_read(job->sysroot, path, out, size) : -1;
    if (length > 0 || !job->identity.cgroup)
        return length;
    snprintf(path, sizeof path, "/%s.pressure", resource);
    return sysfs_read(job->identity.cgroup, path, out, size);
}

static void waits_tell(struct host_job *job, struct host_job_figures *out)
{
    for (int i = 0; i < HOST_RESOURCES; i++) {
        struct reading *before = &job->waited_before_s[i];
        struct host_pressure pressure;
        char bytes[512];
        ssize_t length = read_job_pressure(job, host_resource_names[i], bytes, sizeof bytes);
        if (length > 0 && host_pressure_parse(bytes, (size_t)length, &pressure) &&
            pressure.some_s.valid) {
            if (!before->valid)
                *before = pressure.some_s;
            raise_highest(&job->waited_s[i], pressure.some_s.value - before->value);
        }
        out->waited_s[i] = job->waited_s[i];
    }
}

static void threads_tell(struct host_job *job, struct host_job_figures *out)
{
    struct host_thread sum = host_threads_sum(&job->threads);
    bool seen = sum.run_ns > 0;
    out->threads_run_s = (struct reading){(double)sum.run_ns / 1e9, seen};
    out->threads_waited_s = (struct reading){(double)sum.waited_ns / 1e9, seen};
}

static void tree_tell(struct host_job *job, struct host_job_figures *out)
{
    host_tree_sample(job->tree, out);
    processes_tell(job, out->processes, out);
    if (out->memory_bytes.valid)
        raise_highest(&job->peak_bytes, out->memory_bytes.value);
    out->memory_peak_bytes = job->peak_bytes;
}

void host_job_sample(struct host_job *job, struct host_job_figures *out)
{
    if (job->tree) {
        tree_tell(job, out);
        return;
    }
    struct charged charged = charged_read(job);
    struct sums sums = {.job = job, .without_memory = charged.memory, .without_io = charged.io};
    *out = (struct host_job_figures){0};
    if (charged.cpu)
        cgroup_each_pid(job->identity.cgroup, add_process_use, &sums);
    else if (!job->identity.cgroup)
        add_tree(job, &sums);
    if (charged.cpu || sums.members > 0)
        raise_highest(&job->cpu_s, charged.cpu ? charged.cpu_s : sums.cpu_s);
    cpu_tell(job, out);
    processes_tell(job, (struct reading){(double)sums.processes, charged.cpu || sums.members > 0},
                   out);
    memory_tell(job, &charged, &sums, out);
    io_tell(job, &charged, &sums, out);
    waits_tell(job, out);
    threads_tell(job, out);
}

void host_job_end(struct host_job *job, const struct job_usage *usage, struct host_job_figures *out)
{
    bool played = *job->sysroot;
    if (job->tree || job->identity.cgroup || played || !usage->has_thread)
        return;
    job->threads.first.run_ns = (uint64_t)(usage->thread_run_s * 1e9);
    job->threads.first.waited_ns = (uint64_t)(usage->thread_waited_s * 1e9);
    threads_tell(job, out);
}

bool host_job_sample_cpu(struct host_job *job, struct host_job_figures *out)
{
    if (job->cpu_fd < 0)
        return false;
    cpu_tell(job, out);
    return out->cpu_s.valid;
}

bool host_job_tick(struct host_job *job, struct host_job_figures *out)
{
    job->debt_ns -= TICK_BUDGET_NS;
    if (job->debt_ns > 0)
        return false;
    int64_t begin_ns = clock_thread_cpu_ns();
    host_job_sample(job, out);
    job->debt_ns = clock_thread_cpu_ns() - begin_ns;
    return true;
}
