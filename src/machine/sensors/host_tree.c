/* CPU time, memory and I/O of a process tree, read from /proc. */
#include "machine/sensors/host_job.h"

#include "base/mem.h"
#include "machine/contain/tree.h"
#include "machine/sensors/host_parse.h"
#include "machine/sensors/sysfs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What only grows. Of a process: itself and the children that it has waited for. */
struct use {
    uint64_t cpu_ticks, read_bytes, written_bytes;
};

struct member {
    pid_t pid, ppid;
    uint64_t start_time;
    struct use use;
};

struct host_tree {
    const char *sysroot;
    pid_t root;
    uint64_t start_time;
    struct tree known; /* the last pass: what lost its parents since is still known by it */
    struct member *members;
    size_t count;
    struct use gone; /* of those that ended and were nobody's children here */
    struct use base; /* at the first sample */
    struct use most; /* since then */
    bool begun;
    bool io_seen, io_refused; /* of one at least; of one at least that was ever seen */
};

struct host_tree *host_tree_new(const char *sysroot, pid_t pid, uint64_t start_time)
{
    struct host_tree *tree = mem_alloc(sizeof *tree);
    *tree = (struct host_tree){.sysroot = sysroot, .root = pid, .start_time = start_time};
    return tree;
}

void host_tree_free(struct host_tree *tree)
{
    if (!tree)
        return;
    tree_fini(&tree->known);
    free(tree->members);
    free(tree);
}

static ssize_t process_read(const char *sysroot, pid_t pid, const char *file, char *out,
                            size_t size)
{
    AUTO_FREE char *path = mem_printf("/proc/%d/%s", (int)pid, file);
    return sysfs_read(sysroot, path, out, size);
}

bool host_process_stat(const char *sysroot, pid_t pid, struct proc_stat *out)
{
    char bytes[2048];
    ssize_t length = process_read(sysroot, pid, "stat", bytes, sizeof bytes);
    return length > 0 && proc_stat_parse(bytes, (size_t)length, out);
}

void host_process_add_memory(const char *sysroot, pid_t pid, struct reading *pages)
{
    char bytes[256];
    uint64_t resident = 0;
    ssize_t length = process_read(sysroot, pid, "statm", bytes, sizeof bytes);
    if (length > 0 && host_statm_parse(bytes, (size_t)length, &resident))
        *pages = (struct reading){pages->value + (double)resident, true};
}

bool host_process_io(const char *sysroot, pid_t pid, uint64_t *read_bytes, uint64_t *written_bytes,
                     size_t *refused)
{
    char bytes[1024];
    ssize_t length = process_read(sysroot, pid, "io", bytes, sizeof bytes);
    if (length > 0 && host_io_parse(bytes, (size_t)length, read_bytes, written_bytes))
        return true;
    *refused += length >= 0 || (errno != ENOENT && errno != ESRCH);
    return false;
}

static int compare_member_pids(const void *a, const void *b)
{
    const struct member *left = a, *right = b;
    return ORDER(left->pid, right->pid);
}

static const struct member *find_tree_member(const struct member *members, size_t count, pid_t pid)
{
    return count ? bsearch(&(struct member){.pid = pid}, members, count, sizeof *members,
                           compare_member_pids)
                 : NULL;
}

static bool is_there(const struct member *members, size_t count, const struct member *wanted)
{
    const struct member *found = find_tree_member(members, count, wanted->pid);
    return found && found->start_time == wanted->start_time;
}

static void add_member_use(struct use *to, const struct use *more)
{
    to->cpu_ticks += more->cpu_ticks;
    to->read_bytes += more->read_bytes;
    to->written_bytes += more->written_bytes;
}

/* What one that ended had used is in its parent's figures when that lives and has waited for it;
 * else nowhere. */
static void keep_gone(struct host_tree *tree, const struct member *now, size_t count)
{
    EACH (old, tree->members, tree->count) {
        const struct member *parent = find_tree_member(tree->members, tree->count, old->ppid);
        bool inherited = parent && is_there(now, count, parent);
        if (!is_there(now, count, old) && !inherited)
            add_member_use(&tree->gone, &old->use);
    }
}

/* A zombie uses nothing, but what it used is not yet in its parent's figures. */
static void update_member(struct host_tree *tree, const struct proc_stat *stat, struct member *to,
                          struct host_job_figures *out)
{
    const struct member *before = find_tree_member(tree->members, tree->count, stat->pid);
    *to = (struct member){.pid = stat->pid, .ppid = stat->ppid, .start_time = stat->start_time};
    if (before && before->start_time == stat->start_time)
        *to = *before;
    to->ppid = stat->ppid;
    to->use.cpu_ticks = stat->cpu_ticks;
    if (!proc_stat_alive(stat))
        return;
    out->processes.value++;
    host_process_add_memory(tree->sysroot, stat->pid, &out->memory_bytes);
    tree->io_seen |= host_process_io(tree->sysroot, stat->pid, &to->use.read_bytes,
                                     &to->use.written_bytes, &out->io_refused);
}

static struct use sum_of(const struct host_tree *tree)
{
    struct use sum = tree->gone;
    EACH (member, tree->members, tree->count)
        add_member_use(&sum, &member->use);
    return sum;
}

/* A child that is not waited for (SIGCHLD ignored) takes its figures with it; the sum must not fall
 * then. */
static void raise_most(uint64_t *so_far, uint64_t sum, uint64_t base)
{
    if (sum > base && sum - base > *so_far)
        *so_far = sum - base;
}

static void report_tree_figures(struct host_tree *tree, struct host_job_figures *out)
{
    struct use sum = sum_of(tree);
    if (!tree->begun)
        tree->base = sum;
    tree->begun = true;
    raise_most(&tree->most.cpu_ticks, sum.cpu_ticks, tree->base.cpu_ticks);
    raise_most(&tree->most.read_bytes, sum.read_bytes, tree->base.read_bytes);
    raise_most(&tree->most.written_bytes, sum.written_bytes, tree->base.written_bytes);
    tree->io_refused |= out->io_refused > 0;
    bool io_known = tree->io_seen && !tree->io_refused;
    out->cpu_s =
        (struct reading){(double)tree->most.cpu_ticks / (double)sysconf(_SC_CLK_TCK), true};
    out->read_bytes = (struct reading){(double)tree->most.read_bytes, io_known};
    out->written_bytes = (struct reading){(double)tree->most.written_bytes, io_known};
    out->memory_bytes.value *= (double)sysconf(_SC_PAGESIZE);
}

void host_tree_sample(struct host_tree *tree, struct host_job_figures *out)
{
    struct tree_seed seed = {
        .root = tree->root, .start_time = tree->start_time, .known = &tree->known};
    struct tree now;
    *out = (struct host_job_figures){0};
    if (!tree_scan(&seed, &now)) {
        tree_fini(&now);
        return;
    }
    struct member *members = mem_array(now.count + 1, sizeof *members);
    size_t count = 0;
    EACH (process, now.processes, now.count)
        if (process->member)
            update_member(tree, &process->stat, &members[count++], out);
    out->processes.valid = out->processes.value > 0;
    keep_gone(tree, members, count);
    tree_fini(&tree->known);
    free(tree->members);
    tree->known = now;
    tree->members = members;
    tree->count = count;
    if (tree->begun || count > 0)
        report_tree_figures(tree, out);
}
