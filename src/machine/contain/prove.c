#include "machine/contain/prove.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "machine/contain/cgroup_tree.h"
#include "machine/contain/job_private.h"
#include "machine/contain/sys.h"
#include "machine/contain/tag.h"
#include "machine/contain/thaw.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>

/* The kernel empties a pid namespace in a moment; only what takes longer is looked at one by one:
 * reading all of /proc while thousands of processes die would slow them down. */
static const int64_t PATIENCE_NS = 50 * NS_PER_MS, CHASE_NS = 2 * NS_PER_MS,
                     STUCK_NS = 5 * NS_PER_S;

static size_t live_members(struct tree_seed seed, struct job_member *members, size_t max)
{
    struct tree tree;
    tree_scan(&seed, &tree);
    size_t count = tree_live(&tree, &seed, members, max);
    tree_fini(&tree);
    return count;
}

size_t job_members(struct job *job, struct job_member *members, size_t max)
{
    /* Without a pid namespace the init is reaped last: as long as it is not, its session cannot be
     * another's. */
    if (job->proven || (job->layers.pidns && job_reap(job)))
        return 0;
    return live_members(job_seed(job), members, max);
}

enum { MEMBERS_FIRST = 256, MEMBERS_MAX = 65536, CHILDREN_MAX = 4096 };

typedef bool member_fits_fn(const struct job_member *member, pid_t pid);

static bool find_member(struct job *job, member_fits_fn *fits, pid_t pid, struct job_member *out)
{
    for (size_t room = MEMBERS_FIRST; room <= MEMBERS_MAX; room *= 8) {
        AUTO_FREE struct job_member *members = mem_array(room, sizeof *members);
        size_t count = job_members(job, members, room);
        for (size_t i = 0; i < count && i < room; i++)
            if (fits(&members[i], pid)) {
                *out = members[i];
                return true;
            }
        if (count <= room)
            return false;
    }
    return false;
}

static bool is_this(const struct job_member *member, pid_t pid)
{
    return member->pid == pid;
}

static bool is_stopped(const struct job_member *member, pid_t pid)
{
    (void)pid;
    return member->state == 'T' || member->state == 't';
}

/* All processes that were found; those behind the one that is looked at are still to be. */
struct walk {
    pid_t *pids;
    size_t count;
};

/* Its children go to the walk's end. False: the kernel does not list them. */
static bool walk_children(struct walk *walk, int proc, pid_t pid)
{
    char path[40];
    snprintf(path, sizeof path, "%d/task", (int)pid);
    AUTO_DIR DIR *listing = fs_list(proc, path);
    bool listed = true;
    for (struct dirent *entry; listed && listing && (entry = readdir(listing));) {
        pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);
        if (thread <= 0)
            continue;
        walk->pids = mem_resize(walk->pids, walk->count + CHILDREN_MAX, sizeof *walk->pids);
        ssize_t got = proc_children_read(proc, pid, thread, walk->pids + walk->count, CHILDREN_MAX);
        /* threads end meanwhile */
        listed = got >= 0 || faccessat(dirfd(listing), entry->d_name, F_OK, 0) != 0;
        walk->count += got > 0 ? (size_t)got : 0;
    }
    return listed;
}

/* Down from the init, which adopts orphans: what reads nothing of other processes costs the same on
 * every machine. -1: not to be had. */
static int find_live_descendant(pid_t init, struct job_member *out)
{
    AUTO_CLOSE int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct walk walk = {0};
    bool listed = proc >= 0 && walk_children(&walk, proc, init);
    int found = 0;
    for (size_t i = 0; listed && !found && i < walk.count && i < MEMBERS_MAX; i++) {
        struct proc_stat stat;
        if (!proc_stat_read(proc, walk.pids[i], &stat))
            continue;
        job_member_fill(&stat, out);
        found = is_stopped(out, 0);
        listed = walk_children(&walk, proc, walk.pids[i]);
    }
    free(walk.pids);
    return found || listed ? found : -1;
}

bool job_has_member(struct job *job, pid_t pid)
{
    struct job_member found;
    return find_member(job, is_this, pid, &found);
}

bool job_has_stopped_member(struct job *job, struct job_member *out)
{
    if (job->proven || (job->layers.pidns && job_reap(job)))
        return false;
    int found = job->reaped ? -1 : find_live_descendant(job->identity.pid, out);
    return found >= 0 ? found : find_member(job, is_stopped, 0, out);
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
        /* The namespace is gone, and somebody is in the cgroup all the same: put there from
         * outside. */
        *count = live_members((struct tree_seed){.cgroup = job->identity.cgroup}, members, max);
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

/* Without a pid namespace the init ends by itself when it has no child left: as orphans go to it,
 * that is the kernel's word, where a pass over /proc can miss a process that forks and exits all
 * the time. Only one that is stopped or stuck is killed. */
static void wait_for_childless_init(struct job *job)
{
    int64_t waited_ns = job->killed_ns ? clock_monotonic_ns() - job->killed_ns : 0;
    if (!job->killed_ns)
        return;
    tree_chase_children(job->identity.pid, job->identity.start_time, CHASE_NS);
    if (waited_ns > PATIENCE_NS)
        sys_pidfd_signal(job->pidfd, SIGCONT);
    if (waited_ns > STUCK_NS)
        sys_pidfd_signal(job->pidfd, SIGKILL);
}

/* Kept from the proof's own look at /proc: a second one would cost as much as the proof. */
static void foreign_keep(struct job *job, const struct tree *tree)
{
    AUTO_CLOSE int proc = -1;
    job->foreign_count = 0;
    EACH (item, tree->processes, tree->count) {
        const struct proc_stat *stat = &item->stat;
        char owner[TAG_OWNER_MAX];
        if (!item->foreign)
            continue;
        if (proc < 0)
            proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (!tag_is_foreign(proc, stat, job->identity.tag, geteuid(), 0, NULL, owner))
            continue;
        if (job->foreign_count < JOB_FOREIGN_MAX) {
            struct job_foreign *kept = &job->foreign[job->foreign_count];
            job_member_fill(stat, &kept->process);
            snprintf(kept->owner, sizeof kept->owner, "%s", owner);
        }
        job->foreign_count++;
    }
}

static bool prove_sweep(struct job *job, struct job_member *members, size_t max, size_t *count)
{
    struct tree_seed seed = job_seed(job);
    struct tree tree;
    struct pollfd end = {.fd = job->pidfd, .events = POLLIN};
    bool ended_before = poll(&end, 1, 0) == 1;
    bool complete = tree_scan(&seed, &tree);
    foreign_keep(job, &tree);
    *count = tree_live(&tree, &seed, members, max);
    if (*count > 0 && job->killed_ns) {
        tree_signal(&tree, &seed, SIGKILL);
        thaw_tree(&seed);
    }
    tree_fini(&tree);
    bool leaf = leaf_gone(job);
    if (*count == 0 && job->reaped)
        return complete && leaf;
    /* An init that ended for want of children before the scan leaves nobody who could have been
     * missed. Else it was killed: the session is trusted until the reaping, so what is left is
     * looked for once more, by the tag. */
    if (*count == 0 && job_reap(job))
        return ended_before && job->ended_childless && complete && leaf;
    wait_for_childless_init(job);
    if (*count == 0)
        *count = init_as_member(job, members, max);
    return false;
}

bool job_prove_step(struct job *job, struct job_member *members, size_t max, size_t *count)
{
    *count = 0;
    if (!job->proven)
        job->proven = job->layers.pidns ? prove_pidns(job, members, max, count)
                                        : prove_sweep(job, members, max, count);
    return job->proven;
}

size_t job_foreign(struct job *job, struct job_foreign out[JOB_FOREIGN_MAX])
{
    if (job->layers.pidns) {
        struct tree_seed seed = {.start_time = job->identity.start_time, .tag = job->identity.tag};
        struct tree tree;
        tree_scan(&seed, &tree);
        foreign_keep(job, &tree);
        tree_fini(&tree);
    }
    for (size_t i = 0; i < job->foreign_count && i < JOB_FOREIGN_MAX; i++)
        out[i] = job->foreign[i];
    return job->foreign_count;
}
