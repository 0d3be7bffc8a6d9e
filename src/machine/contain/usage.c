#include "machine/contain/usage.h"
#include "base/mem.h"
#include "base/procfs.h"
#include "machine/contain/cgroup.h"
#include "machine/contain/job_private.h"

#include <fcntl.h>

enum { STATUS_MAX = 8192, VMSTAT_MAX = 32768 };

/* What living members and their reaped children have used; each dead one's share went to whoever
 * reaped it. */
static void ticks_keep(struct job *job)
{
    struct tree_seed seed = job_seed(job);
    struct tree tree;
    uint64_t ticks = 0;
    if (tree_scan(&seed, &tree))
        EACH (process, tree.processes, tree.count)
            ticks += process->member ? process->stat.cpu_ticks : 0;
    tree_fini(&tree);
    double cpu_s = (double)ticks / (double)sysconf(_SC_CLK_TCK);
    if (!job->usage.has_cpu || cpu_s > job->usage.cpu_s)
        job->usage.cpu_s = cpu_s;
    job->usage.has_cpu = true;
}

void job_usage_keep(struct job *job)
{
    double cpu_s = 0;
    uint64_t peak = 0;
    if (job->identity.cgroup && cgroup_cpu_s(job->identity.cgroup, &cpu_s)) {
        job->usage.cpu_s = cpu_s;
        job->usage.has_cpu = true;
    } else if (!job->identity.cgroup && !job->reaped) {
        ticks_keep(job);
    }
    if (job->identity.cgroup && cgroup_peak_memory(job->identity.cgroup, &peak)) {
        job->usage.peak_memory_bytes = peak;
        job->usage.has_peak_memory = job->usage.peak_of_cgroup = true;
    }
    if (job->identity.cgroup)
        cgroup_oom_kills(job->identity.cgroup, &job->usage.oom_kills);
}

void job_peak_keep(struct job *job, uint64_t bytes)
{
    if (bytes == 0 || job->usage.peak_of_cgroup ||
        (job->usage.has_peak_memory && job->usage.peak_memory_bytes >= bytes))
        return;
    job->usage.peak_memory_bytes = bytes;
    job->usage.has_peak_memory = true;
}

/* What living members had in memory at most: nobody will reap those that are about to be killed. */
static void members_peak_keep(struct job *job)
{
    struct tree_seed seed = job_seed(job);
    struct tree tree;
    tree_scan(&seed, &tree);
    EACH (process, tree.processes, tree.count) {
        char path[40], status[STATUS_MAX];
        uint64_t kib = 0;
        if (!process->member || process->stat.pid == job->identity.pid)
            continue;
        snprintf(path, sizeof path, "/proc/%d/status", (int)process->stat.pid);
        ssize_t length = proc_read_at(AT_FDCWD, path, status, sizeof status);
        if (length > 0 && proc_keyed_number(status, (size_t)length, "VmHWM:", &kib))
            job_peak_keep(job, kib * 1024);
    }
    tree_fini(&tree);
}

struct job_usage job_usage(struct job *job)
{
    if (!job->proven)
        job_usage_keep(job);
    if (!job->proven && !job->reaped && !job->usage.peak_of_cgroup)
        members_peak_keep(job);
    return job->usage;
}

bool machine_oom_kills(const char *vmstat, uint64_t *out)
{
    char text[VMSTAT_MAX];
    ssize_t length = proc_read_at(AT_FDCWD, vmstat, text, sizeof text);
    return length > 0 && proc_keyed_number(text, (size_t)length, "oom_kill", out);
}
