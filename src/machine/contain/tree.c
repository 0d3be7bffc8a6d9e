#include "machine/contain/cgroup_tree.h"
#include "machine/contain/job.h"
#include "machine/contain/tag.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "machine/contain/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>

static const int64_t CHASE_NS = 2 * NS_PER_MS;

void tree_fini(struct tree *tree)
{
    free(tree->processes);
    *tree = (struct tree){0};
}

static int compare_tree_pids(const void *a, const void *b)
{
    const struct tree_process *left = a, *right = b;
    return ORDER(left->stat.pid, right->stat.pid);
}

static struct tree_process *tree_find(const struct tree *tree, pid_t pid)
{
    struct tree_process key = {.stat.pid = pid};
    return tree->count ? bsearch(&key, tree->processes, tree->count, sizeof key, compare_tree_pids)
                       : NULL;
}

bool tree_has_foreign(const struct tree *tree)
{
    EACH (process, tree->processes, tree->count)
        if (process->foreign)
            return true;
    return false;
}

struct tree_seed tree_seed_doubted(const struct job_identity *identity,
                                   const struct live_runners *runners)
{
    struct tree_seed seed = {.doubt = true, .start_time = identity->start_time, .runners = runners};
    AUTO_CLOSE int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (identity->tag && tag_is_formed(identity->tag))
        seed.tag = identity->tag;
    if (seed.tag && identity->cgroup && cgroup_is_leaf_of(identity->cgroup, seed.tag))
        seed.cgroup = identity->cgroup;
    if (proc >= 0 && job_init_is_left(proc, identity->pid, identity->start_time))
        seed.root = identity->pid;
    return seed;
}

/* Every process that can be seen; those older than the root are left out, except the root's own
 * pid. */
static bool tree_list(DIR *listing, const struct tree_seed *seed, struct tree *out)
{
    int proc = dirfd(listing);
    for (pid_t pid; (pid = proc_next_pid(listing));) {
        struct proc_stat stat;
        if (!proc_stat_read(proc, pid, &stat))
            continue;
        if (stat.start_time < seed->start_time && stat.pid != seed->root)
            continue;
        MEM_ADD(out->processes, out->count) = (struct tree_process){.stat = stat};
    }
    int error = errno;
    if (out->count)
        qsort(out->processes, out->count, sizeof *out->processes, compare_tree_pids);
    errno = error;
    return error == 0;
}

static void member_by_pid(void *context, pid_t pid)
{
    struct tree_process *process = tree_find(context, pid);
    if (process)
        process->member = true;
}

static void carrier_by_pid(void *context, pid_t pid)
{
    struct tree_process *process = tree_find(context, pid);
    if (process)
        process->carrier = true;
}

static bool is_root(const struct tree_process *process, const struct tree_seed *seed)
{
    return process->stat.pid == seed->root && process->stat.start_time == seed->start_time;
}

static void mark_known(struct tree *tree, const struct tree *known)
{
    for (size_t i = 0; known && i < known->count; i++) {
        const struct tree_process *old = &known->processes[i];
        struct tree_process *process = old->member ? tree_find(tree, old->stat.pid) : NULL;
        if (process && process->stat.start_time == old->stat.start_time)
            process->member = true;
    }
}

/* Starts of the closure that cost nothing more to see. */
static void mark_seeds(struct tree *tree, const struct tree_seed *seed)
{
    struct tree_process *root = seed->root ? tree_find(tree, seed->root) : NULL;
    if (root && is_root(root, seed)) {
        root->member = true;
        tree->root_alive = proc_stat_alive(&root->stat);
    }
    if (seed->cgroup)
        cgroup_each_pid(seed->cgroup, seed->doubt ? carrier_by_pid : member_by_pid, tree);
    mark_known(tree, seed->known);
    for (size_t i = 0; seed->session && seed->root && i < tree->count; i++)
        tree->processes[i].member |= tree->processes[i].stat.session == seed->root;
}

static bool joined_through(const struct tree *tree, const struct tree_process *process, pid_t pid)
{
    const struct tree_process *other =
        pid > 0 && pid != process->stat.pid ? tree_find(tree, pid) : NULL;
    return other && other->member && other->stat.start_time <= process->stat.start_time;
}

static void mark_closure(struct tree *tree)
{
    for (bool grown = true; grown;) {
        grown = false;
        for (size_t i = 0; i < tree->count; i++) {
            struct tree_process *process = &tree->processes[i];
            if (process->member || (!joined_through(tree, process, process->stat.ppid) &&
                                    !joined_through(tree, process, process->stat.session)))
                continue;
            process->member = grown = true;
        }
    }
}

static void mark_tagged(struct tree *tree, int proc, const struct tree_seed *seed)
{
    EACH (process, tree->processes, tree->count) {
        char owner[TAG_OWNER_MAX];
        if (process->member || !proc_stat_alive(&process->stat) ||
            (!process->carrier && !tag_is_carried(proc, &process->stat, seed->tag)))
            continue;
        process->foreign = tag_is_foreign(proc, &process->stat, seed->tag, geteuid(),
                                          tree->root_alive ? seed->root : 0, seed->runners, owner);
        process->member = !process->foreign;
    }
}

bool tree_scan(const struct tree_seed *seed, struct tree *out)
{
    *out = (struct tree){0};
    AUTO_DIR DIR *listing = fs_list(AT_FDCWD, "/proc");
    if (!listing)
        return false;
    bool complete = tree_list(listing, seed, out);
    mark_seeds(out, seed);
    mark_closure(out);
    if (seed->tag) {
        mark_tagged(out, dirfd(listing), seed);
        mark_closure(out);
    }
    return complete;
}

static bool is_target(const struct tree_process *process, const struct tree_seed *seed)
{
    return process->member && !is_root(process, seed) && process->stat.pid != getpid() &&
           proc_stat_alive(&process->stat);
}

void job_member_fill(const struct proc_stat *stat, struct job_member *out)
{
    *out =
        (struct job_member){.pid = stat->pid, .start_time = stat->start_time, .state = stat->state};
    snprintf(out->command, sizeof out->command, "%s", stat->comm);
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/wchan", (int)stat->pid);
    if (proc_read_at(AT_FDCWD, path, out->wchan, sizeof out->wchan) <= 0 ||
        strcmp(out->wchan, "0") == 0)
        out->wchan[0] = '\0';
}

size_t tree_live(const struct tree *tree, const struct tree_seed *seed, struct job_member *members,
                 size_t max)
{
    size_t count = 0;
    EACH (process, tree->processes, tree->count) {
        if (!is_target(process, seed))
            continue;
        if (count < max)
            job_member_fill(&process->stat, &members[count]);
        count++;
    }
    return count;
}

bool process_signal(pid_t pid, uint64_t start_time, int signal)
{
    AUTO_CLOSE int pidfd = sys_pidfd_open(pid);
    uint64_t now = 0;
    return pidfd >= 0 && process_start_time(pid, &now) && now == start_time &&
           sys_pidfd_signal(pidfd, signal);
}

size_t tree_signal(const struct tree *tree, const struct tree_seed *seed, int signal)
{
    size_t sent = 0;
    EACH (process, tree->processes, tree->count)
        if (is_target(process, seed))
            sent += process_signal(process->stat.pid, process->stat.start_time, signal);
    return sent;
}

/* How many targets of now were no target of the pass before: each process is counted once. */
static size_t newly_seen(const struct tree *now, const struct tree *before,
                         const struct tree_seed *seed)
{
    size_t count = 0;
    EACH (process, now->processes, now->count) {
        if (!is_target(process, seed))
            continue;
        const struct tree_process *old = tree_find(before, process->stat.pid);
        count += !old || old->stat.start_time != process->stat.start_time || !is_target(old, seed);
    }
    return count;
}

/* Who forks is looked for as soon as can be; what was killed before and is still there takes its
 * time, and all of /proc is much to read. */
static int64_t next_pause(int64_t pause_ns, bool fresh)
{
    if (pause_ns < NS_PER_MS)
        return pause_ns == 0 ? 100000 : NS_PER_MS;
    return fresh ? NS_PER_MS : pause_ns < 16 * NS_PER_MS ? pause_ns * 2 : pause_ns;
}

size_t tree_kill(const struct tree_seed *given, double timeout_s, size_t *left, struct tree *last)
{
    struct tree_seed with_known = *given;
    const struct tree_seed *seed = &with_known;
    int64_t deadline = clock_monotonic_ns() + (int64_t)(timeout_s * 1e9);
    struct tree before = {0};
    size_t killed = 0;
    for (int64_t pause_ns = 0;;) {
        struct tree now;
        bool complete = tree_scan(seed, &now);
        size_t fresh = newly_seen(&now, &before, seed);
        killed += fresh;
        tree_signal(&now, seed, SIGKILL);
        *left = tree_live(&now, seed, NULL, 0);
        tree_fini(&before);
        before = now;
        with_known.known = &before;
        if ((complete && *left == 0) || clock_monotonic_ns() >= deadline)
            break;
        if (*left > 0 && now.root_alive)
            tree_chase_children(seed->root, seed->start_time, CHASE_NS);
        nanosleep(&(struct timespec){.tv_nsec = pause_ns}, NULL);
        pause_ns = next_pause(pause_ns, fresh > 0);
    }
    if (last) {
        tree_fini(last);
        *last = before;
    } else {
        tree_fini(&before);
    }
    return killed;
}

enum { CHILDREN_MAX = 4096 };

/* Whose parent it is is read after its pidfd was opened. */
static bool kill_child(int proc, pid_t pid, pid_t init)
{
    struct proc_stat stat;
    AUTO_CLOSE int pidfd = sys_pidfd_open(pid);
    if (pidfd < 0 || !proc_stat_read(proc, pid, &stat) || stat.ppid != init ||
        !proc_stat_alive(&stat))
        return false;
    sys_pidfd_signal(pidfd, SIGKILL);
    return true;
}

/* How many children that lived were killed; a zombie is no work. */
static size_t kill_children(int proc, pid_t init)
{
    pid_t children[CHILDREN_MAX];
    size_t killed = 0;
    ssize_t count = proc_children_read(proc, init, init, children, CHILDREN_MAX);
    for (ssize_t i = 0; i < count; i++)
        killed += kill_child(proc, children[i], init);
    return killed;
}

void tree_chase_children(pid_t init, uint64_t start_time, int64_t for_ns)
{
    AUTO_CLOSE int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct proc_stat stat;
    int64_t deadline = clock_monotonic_ns() + for_ns;
    int idle = 0;
    if (proc < 0 || !proc_stat_read(proc, init, &stat) || stat.start_time != start_time)
        return;
    /* Between two hops the list can be empty for a moment. */
    while (idle < 20 && clock_monotonic_ns() < deadline)
        idle = kill_children(proc, init) > 0 ? 0 : idle + 1;
}
