#include "machine/contain/job_private.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "machine/contain/cgroup.h"
#include "machine/contain/tree.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The init of a pid namespace: killing it alone ends all. */
static bool is_namespace_init(pid_t pid)
{
    char path[40], status[8192];
    size_t depth = 0;
    pid_t innermost = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    ssize_t length = proc_read_at(AT_FDCWD, path, status, sizeof status);
    return length > 0 && proc_status_nspid(status, (size_t)length, &depth, &innermost) && depth > 1 && innermost == 1;
}

/* Every kind of end at once; how many processes are left after it, the init too. */
static size_t end_once(const struct tree_seed *seed, bool patient, struct tree *known, size_t *killed,
                       struct job_member *survivor)
{
    struct tree tree;
    bool complete = tree_scan(seed, &tree, NULL);
    size_t live = tree_live(&tree, seed, survivor, 1), left = 0;
    if (*killed < live)
        *killed = live;
    bool root_alive = tree.root_alive;
    tree_fini(known);
    *known = tree;
    if (complete && live == 0 && !root_alive)
        return 0;
    if (root_alive && is_namespace_init(seed->root))
        process_signal(seed->root, seed->start_time, SIGKILL);
    thaw_tree(seed);
    if (seed->cgroup)
        cgroup_kill(seed->cgroup);
    size_t more = tree_kill(seed, 0.2, &left, known);
    if (*killed < more)
        *killed = more;
    /* Orphans go to it, and it ends by itself when there are no more: only one that does not is killed, and last. */
    if (root_alive && left == 0 && !patient)
        process_signal(seed->root, seed->start_time, SIGKILL);
    return left + root_alive + !complete;
}

bool recover_job(const struct job_identity *identity, bool fresh, double timeout_s, size_t *killed, struct err *err)
{
    char boot_id[40];
    *killed = 0;
    if (!boot_id_read(boot_id, err))
        return false;
    if (strcmp(boot_id, identity->boot_id) != 0)
        return true;
    const char *leaf = identity->cgroup;
    if (leaf && !cgroup_is_leaf_of(leaf, identity->tag ? identity->tag : ""))
        leaf = NULL;
    struct tree_seed seed = {.root = identity->pid,
                             .start_time = identity->start_time,
                             .cgroup = leaf,
                             .tag = identity->tag && identity->tag[0] ? identity->tag : NULL,
                             .session = fresh};
    int64_t deadline = clock_monotonic_ns() + (int64_t)(timeout_s * 1e9);
    int64_t impatient_ns = clock_monotonic_ns() + (int64_t)(timeout_s * 0.5e9);
    struct job_member survivor = {0};
    AUTO(tree_fini) struct tree known = {0};
    seed.known = &known;
    for (;;) {
        bool patient = clock_monotonic_ns() < impatient_ns;
        size_t left = end_once(&seed, patient, &known, killed, &survivor);
        if (left == 0 && (!leaf || cgroup_remove(leaf)))
            return true;
        if (clock_monotonic_ns() >= deadline)
            break;
        nanosleep(&(struct timespec){.tv_nsec = 2 * NS_PER_MS}, NULL);
    }
    if (survivor.pid)
        return err_set(err, "process %d (%s, state %c%s%s) of a former job cannot be ended", (int)survivor.pid,
                       survivor.command, survivor.state, survivor.wchan[0] ? ", in " : "", survivor.wchan);
    return err_set(err, "the cgroup or the init of a former job is still alive after SIGKILL");
}

bool job_recover(const struct job_identity *identity, double timeout_s, size_t *killed, struct err *err)
{
    return recover_job(identity, false, timeout_s, killed, err);
}
