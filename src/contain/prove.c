#include "base/cleanup.h"
#include "base/clock.h"
#include "contain/cgroup.h"
#include "contain/job_private.h"
#include "contain/sys.h"
#include "contain/thaw.h"

#include <fcntl.h>
#include <signal.h>

/* The kernel empties a pid namespace in a moment; only what takes longer is looked at one by one: reading all of /proc while
 * thousands of processes die would slow them down. */
static const int64_t PATIENCE_NS = 50 * NS_PER_MS;

size_t job_members(struct job *job, struct job_member *members, size_t max)
{
    /* Without a pid namespace the init is reaped last: as long as it is not, its session cannot be another's. */
    if (job->proven || (job->layers.pidns && job_reap(job)))
        return 0;
    struct tree_seed seed = job_seed(job);
    struct tree tree;
    tree_scan(&seed, &tree, NULL);
    size_t count = tree_live(&tree, &seed, members, max);
    tree_fini(&tree);
    return count;
}

static bool leaf_gone(struct job *job)
{
    const char *leaf = job->identity.cgroup;
    if (!leaf)
        return true;
    int populated = cgroup_populated(leaf);
    if (populated == 0) {
        job_usage_keep(job);
        return cgroup_remove(leaf);
    }
    if (populated > 0)
        cgroup_kill(leaf);
    return populated < 0;
}

static size_t init_as_member(const struct job *job, struct job_member *members, size_t max)
{
    AUTO_CLOSE int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct proc_stat stat;
    if (max == 0 || proc < 0 || !proc_stat_read(proc, job->identity.pid, &stat))
        return 0;
    job_member_fill(&stat, members);
    return 1;
}

/* The init is gone, so is the namespace. */
static bool prove_pidns(struct job *job, struct job_member *members, size_t max, size_t *count)
{
    if (job_reap(job)) {
        if (leaf_gone(job))
            return true;
        *count = job_members(job, members, max);
        return false;
    }
    if (job->killed_ns)
        sys_pidfd_signal(job->pidfd, SIGKILL);
    if (!job->killed_ns || clock_monotonic_ns() - job->killed_ns < PATIENCE_NS) {
        *count = init_as_member(job, members, max);
        return false;
    }
    struct tree_seed seed = job_seed(job);
    thaw_tree(&seed);
    *count = job_members(job, members, max);
    return false;
}

/* Everybody but the init first, as orphans go to it; then the init; then one more look for the tag. */
static bool prove_sweep(struct job *job, struct job_member *members, size_t max, size_t *count)
{
    struct tree_seed seed = job_seed(job);
    struct tree tree;
    bool complete = tree_scan(&seed, &tree, NULL);
    *count = tree_live(&tree, &seed, members, max);
    if (*count > 0 && job->killed_ns) {
        tree_signal(&tree, &seed, SIGKILL);
        thaw_tree(&seed);
    }
    tree_fini(&tree);
    if (*count > 0 || !complete || !leaf_gone(job))
        return false;
    if (job->reaped)
        return true;
    if (job_reap(job))
        return false; /* the next step looks once more, now that nobody can be born any more */
    if (job->killed_ns)
        sys_pidfd_signal(job->pidfd, SIGKILL);
    return false;
}

bool job_prove_step(struct job *job, struct job_member *members, size_t max, size_t *count)
{
    *count = 0;
    if (!job->proven)
        job->proven = job->layers.pidns ? prove_pidns(job, members, max, count) : prove_sweep(job, members, max, count);
    return job->proven;
}
