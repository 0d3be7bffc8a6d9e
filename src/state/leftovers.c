#include "state/leftovers.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "contain/cgroup.h"
#include "contain/sys.h"
#include "contain/tree.h"
#include "state/folder.h"
#include "state/state_private.h"
#include "tare_build.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ANCESTORS_MAX = 1000, MEMBERS_MAX = 65536 };

struct finder {
    struct leftovers *out;
    struct strv live; /* tags of jobs that live runs know, and of what this process belongs to */
};

static const struct leftover *find(const struct leftovers *leftovers, pid_t pid)
{
    for (size_t i = 0; i < leftovers->count; i++)
        if (leftovers->items[i].process->stat.pid == pid)
            return &leftovers->items[i];
    return NULL;
}

static void add(struct leftovers *leftovers, struct leftover leftover)
{
    leftovers->items = mem_room(leftovers->items, leftovers->count, &leftovers->capacity, sizeof *leftovers->items);
    leftovers->items[leftovers->count++] = leftover;
}

static void add_of_dead_run(struct leftovers *out, const struct record_header *run, pid_t pid, uint64_t start_time)
{
    const struct census_process *process = census_find(&out->census, pid);
    if (!process || process->stat.start_time != start_time || find(out, pid))
        return;
    add(out,
        (struct leftover){
            .process = process, .kind = LEFTOVER_OF_DEAD_RUN, .run = run->kind, .run_dir = mem_strdup(run->run_dir)});
}

/* The members that job_recover would end, and the init. */
static void add_job(struct leftovers *out, const struct record_header *run, const struct job_identity *job)
{
    bool has_leaf = job->cgroup && cgroup_is_leaf_of(job->cgroup, job->tag);
    struct tree_seed seed = {
        .root = job->pid, .start_time = job->start_time, .cgroup = has_leaf ? job->cgroup : NULL, .tag = job->tag};
    struct tree tree;
    tree_scan(&seed, &tree, NULL);
    size_t count = tree_live(&tree, &seed, NULL, 0);
    count = count < MEMBERS_MAX ? count : MEMBERS_MAX;
    struct job_member *members = mem_array(count + 1, sizeof *members);
    tree_live(&tree, &seed, members, count);
    if (tree.root_alive)
        add_of_dead_run(out, run, job->pid, job->start_time);
    for (size_t i = 0; i < count; i++)
        add_of_dead_run(out, run, members[i].pid, members[i].start_time);
    free(members);
    tree_fini(&tree);
}

static bool ask_runs(struct finder *finder, struct state *state, struct err *err)
{
    AUTO(record_header_fini) struct record_header own = {0};
    AUTO_STRV struct strv names = {0};
    if (!record_header_own(STATE_RUN, NULL, &own, err) || !folder_list(state->runs, &names, err))
        return false;
    for (size_t i = 0; i < names.count; i++) {
        struct entry entry;
        entry_open(state->runs, names.items[i], &own, &entry);
        for (size_t k = 0; k < entry.record.count; k++) {
            const struct job_identity *job = &entry.record.jobs[k];
            if (entry.life == ENTRY_LIVE)
                strv_add(&finder->live, job->tag);
            else if (entry.life == ENTRY_DEAD && !strv_has(&finder->live, job->tag))
                add_job(finder->out, &entry.record.header, job);
        }
        if (entry.life == ENTRY_KEPT)
            strv_add_owned(&finder->out->kept, mem_printf("%s: %s", entry.name, entry.reason));
        entry_fini(&entry);
    }
    return true;
}

/* While a job's runner lives, so does its init, and all that is of the job is below it: also of runs that no file of ours knows
 * (another user's, or one that could not register). */
static bool is_below_init(const struct census *census, const struct census_process *process)
{
    for (int i = 0; i < ANCESTORS_MAX && process; i++) {
        if (strcmp(process->stat.comm, TARE_NAME "-init") == 0)
            return true;
        process = process->stat.ppid > 0 ? census_find(census, process->stat.ppid) : NULL;
    }
    return false;
}

static void judge(struct finder *finder, const struct census_process *process)
{
    struct leftovers *out = finder->out;
    bool mine = process->uid == geteuid() || geteuid() == 0;
    if (find(out, process->stat.pid) || process->stat.pid == getpid())
        return;
    if (!(process->tag && mine) && process->devices.count == 0)
        return;
    bool live = is_below_init(&out->census, process) || (process->tag && strv_has(&finder->live, process->tag));
    if (process->tag && mine && !live)
        add(out, (struct leftover){.process = process, .kind = LEFTOVER_TAGGED});
    else if (process->devices.count > 0)
        add(out, (struct leftover){.process = process, .kind = live ? LEFTOVER_LIVE_GPU : LEFTOVER_NONE_GPU});
}

static int by_pid(const void *a, const void *b)
{
    const struct leftover *left = a, *right = b;
    return (left->process->stat.pid > right->process->stat.pid) - (left->process->stat.pid < right->process->stat.pid);
}

bool leftovers_find(struct state *state, const struct census_roots *roots, struct leftovers *out, struct err *err)
{
    struct finder finder = {.out = out};
    *out = (struct leftovers){0};
    census_own_tags(roots, &finder.live);
    bool found = census_take(roots, &out->census, err) && (!state || ask_runs(&finder, state, err));
    for (size_t i = 0; found && i < out->census.count; i++)
        judge(&finder, &out->census.items[i]);
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, by_pid);
    strv_fini(&finder.live);
    if (!found)
        leftovers_fini(out);
    return found;
}

void leftovers_fini(struct leftovers *leftovers)
{
    for (size_t i = 0; i < leftovers->count; i++)
        free(leftovers->items[i].run_dir);
    free(leftovers->items);
    strv_fini(&leftovers->kept);
    census_fini(&leftovers->census);
    *leftovers = (struct leftovers){0};
}

bool leftover_is_ours(const struct leftover *leftover)
{
    return leftover->kind == LEFTOVER_OF_DEAD_RUN || leftover->kind == LEFTOVER_TAGGED;
}

size_t leftovers_count_ours(const struct leftovers *leftovers)
{
    size_t count = 0;
    for (size_t i = 0; i < leftovers->count; i++)
        count += leftover_is_ours(&leftovers->items[i]);
    return count;
}

bool leftover_kill(const struct census_roots *roots, const struct leftover *leftover, struct err *err)
{
    AUTO_CLOSE int pidfd = census_hold(roots, leftover->process, err);
    if (pidfd < 0)
        return false;
    return sys_pidfd_signal(pidfd, SIGKILL) || err_sys(err, "kill process %d", (int)leftover->process->stat.pid);
}
