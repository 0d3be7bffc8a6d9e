#include "contain/cgroup.h"
#include "contain/job_private.h"

#include <unistd.h>

/* What living members and their reaped children have used; each dead one's share went to whoever reaped it. */
static void ticks_keep(struct job *job)
{
    struct tree_seed seed = job_seed(job);
    struct tree tree;
    uint64_t ticks = 0;
    if (tree_scan(&seed, &tree, NULL))
        for (size_t i = 0; i < tree.count; i++)
            ticks += tree.processes[i].member ? tree.processes[i].stat.cpu_ticks : 0;
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
        job->usage.has_peak_memory = true;
    }
}

struct job_usage job_usage(struct job *job)
{
    if (!job->proven)
        job_usage_keep(job);
    return job->usage;
}
