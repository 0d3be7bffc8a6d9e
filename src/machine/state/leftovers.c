#include "machine/state/leftovers.h"
#include "machine/contain/job.h"
#include "machine/contain/tag.h"
#include "machine/state/folder.h"
#include "machine/state/recover.h"

#include "base/mem.h"
#include "machine/contain/sys.h"
#include "tare_build.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

enum { ANCESTORS_MAX = 1000 };

struct finder {
    struct leftovers *out;
    int proc;
    const struct gpu_memory_users *memory; /* NULL: unknown */
    struct state_live live;                /* its tags also of what this process belongs to */
    /* of these jobs; borrows nothing: pid and start time only */
    struct job_identity *inits;
    size_t init_count;
    struct stat program; /* this one's file; st_ino 0: unknown */
};

const struct leftover *leftovers_by_pid(const struct leftovers *leftovers, pid_t pid)
{
    EACH (item, leftovers->items, leftovers->count)
        if (item->process->stat.pid == pid)
            return item;
    return NULL;
}

static void add_leftover(struct leftovers *leftovers, struct leftover leftover)
{
    MEM_ADD(leftovers->items, leftovers->count) = leftover;
}

static void add_of_dead_run(struct leftovers *out, const struct record_header *run, pid_t pid,
                            uint64_t start_time)
{
    const struct census_process *process = census_find(&out->census, pid);
    if (!process || process->stat.start_time != start_time || leftovers_by_pid(out, pid))
        return;
    add_leftover(out, (struct leftover){.process = process,
                                        .kind = LEFTOVER_OF_DEAD_RUN,
                                        .run = run->kind,
                                        .run_dir = mem_strdup(run->run_dir),
                                        .run_age_s = census_age_s(run->start_time)});
}

static void add_job_leftovers(const struct finder *finder, const struct record_header *run,
                              const struct job_identity *job)
{
    struct leftovers *out = finder->out;
    AUTO(members_fini) struct members members = {0};
    members_take(job, &finder->live.runners, &members);
    if (members.init_alive)
        add_of_dead_run(out, run, job->pid, job->start_time);
    EACH (item, members.items, members.count)
        add_of_dead_run(out, run, item->pid, item->start_time);
}

static void add_live(struct finder *finder, const struct job_identity *job)
{
    MEM_ADD(finder->inits, finder->init_count) =
        (struct job_identity){.pid = job->pid, .start_time = job->start_time};
}

static void ask_live(void *context, int runs, const struct entry *entry)
{
    struct finder *finder = context;
    entry_add_live(&finder->live, runs, entry);
    for (size_t i = 0; entry->life == ENTRY_LIVE && i < entry->record.count; i++)
        add_live(finder, &entry->record.jobs[i]);
}

static void ask_dead(void *context, int runs, const struct entry *entry)
{
    struct finder *finder = context;
    (void)runs;
    for (size_t i = 0; entry->life == ENTRY_DEAD && i < entry->record.count; i++) {
        const struct job_identity *job = &entry->record.jobs[i];
        struct job_member unproven;
        if (strv_has(&finder->live.tags, job->tag))
            continue;
        add_job_leftovers(finder, &entry->record.header, job);
        if (job_is_unproven(job, &unproven))
            strv_add_owned(&finder->out->kept,
                           mem_printf("%s: names process %d (%s), and " STATE_UNPROVEN, entry->name,
                                      (int)unproven.pid, unproven.command));
    }
    if (entry->life == ENTRY_KEPT)
        strv_add_owned(&finder->out->kept, mem_printf("%s: %s", entry->name, entry->reason));
}

/* Anybody can take the name. So a live run of ours has written down who it is, or it is this very
 * program under that name, and is no part of the same job as who is asked about. */
static bool is_init(const struct finder *finder, const struct census_process *process,
                    const char *tag)
{
    char path[40];
    struct stat program;
    EACH (init, finder->inits, finder->init_count)
        if (init->pid == process->stat.pid && init->start_time == process->stat.start_time)
            return true;
    if (strcmp(process->stat.comm, TARE_NAME "-init") != 0 || !finder->program.st_ino ||
        (tag && process->tag && strcmp(tag, process->tag) == 0))
        return false;
    snprintf(path, sizeof path, "%d/exe", (int)process->stat.pid);
    return fstatat(finder->proc, path, &program, 0) == 0 &&
           program.st_ino == finder->program.st_ino && program.st_dev == finder->program.st_dev;
}

/* While a job's runner lives, so does its init, and all that is of the job is below it: also of
 * runs that no file of ours knows (another user's, or one that could not register). */
static bool is_below_init(const struct finder *finder, const struct census_process *process)
{
    const char *tag = process->tag;
    const struct census *census = &finder->out->census;
    for (int i = 0; i < ANCESTORS_MAX && process; i++) {
        if (is_init(finder, process, tag))
            return true;
        process = process->stat.ppid > 0 ? census_find(census, process->stat.ppid) : NULL;
    }
    return false;
}

/* The driver's numbers may be of another pid namespace: a process that is seen to have no GPU open
 * is not meant. */
static bool holds_memory(const struct finder *finder, const struct census_process *process)
{
    if (!finder->memory || (process->looked_into && process->devices.count == 0))
        return false;
    EACH (item, finder->memory->items, finder->memory->count)
        if (item->pid == process->stat.pid)
            return true;
    return false;
}

static bool add_if_foreign(const struct finder *finder, const struct census_process *process)
{
    struct leftovers *out = finder->out;
    char owner[TAG_OWNER_MAX];
    if (!tag_is_foreign(finder->proc, &process->stat, process->tag, process->uid, 0,
                        &finder->live.runners, owner))
        return false;
    MEM_ADD(out->foreign, out->foreign_count) =
        (struct leftover_foreign){process, mem_strdup(owner)};
    return true;
}

static void judge_process(struct finder *finder, const struct census_process *process)
{
    struct leftovers *out = finder->out;
    bool mine = process->uid == geteuid() || geteuid() == 0;
    bool has_gpu = process->devices.count > 0 || holds_memory(finder, process);
    if (leftovers_by_pid(out, process->stat.pid) || process->stat.pid == getpid())
        return;
    if (!(process->tag && mine) && !has_gpu)
        return;
    bool live = is_below_init(finder, process) ||
                (process->tag && strv_has(&finder->live.tags, process->tag));
    if (process->tag && mine && !live && !add_if_foreign(finder, process))
        add_leftover(out, (struct leftover){.process = process, .kind = LEFTOVER_TAGGED});
    else if (has_gpu)
        add_leftover(out, (struct leftover){.process = process,
                                            .kind = live ? LEFTOVER_LIVE_GPU : LEFTOVER_NONE_GPU});
}

static void add_unseen(struct leftovers *out, const struct gpu_memory_users *memory, size_t i)
{
    const struct gpu_memory_use *use = &memory->items[i];
    const struct census_process *process = census_find(&out->census, use->pid);
    if (process && !(process->looked_into && process->devices.count == 0))
        return;
    out->unseen_bytes += use->has_bytes ? use->bytes : 0;
    if (i > 0 && memory->items[i - 1].pid == use->pid)
        return;
    text_addf(&out->unseen_pids, "%s%d", out->unseen ? " " : "", (int)use->pid);
    out->unseen++;
}

static void fill_memory(struct leftover *leftover, const struct gpu_memory_users *memory)
{
    const struct census_process *process = leftover->process;
    if (!process->looked_into || process->devices.count > 0)
        leftover->has_memory =
            gpu_memory_users_of(memory, process->stat.pid, &leftover->memory_bytes);
}

static void add_memory(struct leftovers *out, const struct gpu_memory_users *memory)
{
    EACH (item, out->items, out->count)
        fill_memory(item, memory);
    for (size_t i = 0; i < memory->count; i++)
        add_unseen(out, memory, i);
}

static int compare_leftover_pids(const void *a, const void *b)
{
    const struct leftover *left = a, *right = b;
    return ORDER(left->process->stat.pid, right->process->stat.pid);
}

static void sort_leftovers(struct leftovers *leftovers)
{
    if (leftovers->count)
        qsort(leftovers->items, leftovers->count, sizeof *leftovers->items, compare_leftover_pids);
}

bool leftovers_find(struct state *state, const struct census_roots *roots, struct leftovers *out,
                    struct err *err)
{
    return leftovers_find_holding(state, roots, NULL, out, err);
}

bool leftovers_find_holding(struct state *state, const struct census_roots *roots,
                            const struct gpu_memory_users *memory, struct leftovers *out,
                            struct err *err)
{
    AUTO_CLOSE int proc = open(roots->proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct finder finder = {.out = out, .proc = proc, .memory = memory};
    *out = (struct leftovers){0};
    if (stat("/proc/self/exe", &finder.program) != 0)
        finder.program.st_ino = 0;
    census_own_tags(roots, &finder.live.tags);
    bool found = census_take(roots, &out->census, err) &&
                 (!state || (entries_each(state, ask_live, &finder, err) &&
                             entries_each(state, ask_dead, &finder, err)));
    for (size_t i = 0; found && i < out->census.count; i++)
        judge_process(&finder, &out->census.items[i]);
    if (found && memory)
        add_memory(out, memory);
    sort_leftovers(out);
    state_live_fini(&finder.live);
    free(finder.inits);
    if (!found)
        leftovers_fini(out);
    return found;
}

void leftovers_claim(struct leftovers *leftovers, const struct leftover_claim *claim,
                     const struct gpu_memory_users *memory)
{
    const struct census_process *process = census_find(&leftovers->census, claim->pid);
    if (!process || process->uid != claim->uid || process->stat.start_time != claim->start_time)
        return;
    struct leftover *known = NULL;
    for (size_t i = 0; i < leftovers->count && !known; i++)
        if (leftovers->items[i].process == process)
            known = &leftovers->items[i];
    if (!known) {
        add_leftover(leftovers, (struct leftover){.process = process});
        known = &leftovers->items[leftovers->count - 1];
        if (memory)
            fill_memory(known, memory);
    }
    known->kind = LEFTOVER_OF_DEAD_RUN;
    known->run = claim->run;
    known->run_age_s = claim->run_age_s;
    free(known->run_dir);
    known->run_dir =
        claim->run_dir ? census_command_text(claim->run_dir, strlen(claim->run_dir)) : NULL;
    sort_leftovers(leftovers);
}

void leftovers_fini(struct leftovers *leftovers)
{
    EACH (item, leftovers->items, leftovers->count)
        free(item->run_dir);
    free(leftovers->items);
    EACH (entry, leftovers->foreign, leftovers->foreign_count)
        free(entry->owner);
    free(leftovers->foreign);
    strv_fini(&leftovers->kept);
    text_fini(&leftovers->unseen_pids);
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
    EACH (item, leftovers->items, leftovers->count)
        count += leftover_is_ours(item);
    return count;
}

bool leftover_kill(const struct census_roots *roots, const struct leftover *leftover)
{
    AUTO_CLOSE int pidfd = census_hold(roots, leftover->process, NULL);
    return pidfd >= 0 && sys_pidfd_signal(pidfd, SIGKILL);
}
