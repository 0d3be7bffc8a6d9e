#include "machine/sensors/host_others.h"
#include "base/mem.h"
#include "base/procfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The number of the first pid namespace's file (PROC_PID_INIT_INO of linux/nsfs.h and
 * linux/proc_ns.h). */
static const ino_t FIRST_PID_NAMESPACE = 0xEFFFFFFC;

/* Less than this nobody needs to be asked whose it is. */
static const double NEGLIGIBLE_S = 0.0001;

struct process_time {
    pid_t pid;
    double cpu_s;
};

struct host_others {
    char *sysroot;
    bool seen;  /* /proc shows all of the machine's processes */
    bool begun; /* and those of the beginning are known */
    struct process_time *before;
    size_t count;
    struct group {
        struct host_other sum;
        uid_t uid;
        double most_s; /* of one of its processes */
    } * groups;
    size_t group_count;
};

/* A played /proc is complete. */
static bool sees_all_processes(const char *sysroot)
{
    struct stat status;
    if (*sysroot)
        return true;
    return stat("/proc/self/ns/pid", &status) == 0 && status.st_ino == FIRST_PID_NAMESPACE &&
           stat("/proc/1", &status) == 0;
}

struct host_others *host_others_new(const char *sysroot)
{
    struct host_others *others = mem_alloc(sizeof *others);
    others->sysroot = mem_strdup(sysroot);
    others->seen = sees_all_processes(sysroot);
    return others;
}

void host_others_free(struct host_others *others)
{
    if (!others)
        return;
    free(others->sysroot);
    free(others->before);
    free(others->groups);
    free(others);
}

/* The kernel's clock of a process counts nanoseconds, and anybody may read it. */
static bool cpu_of(const struct host_others *others, pid_t pid, double *out)
{
    struct proc_stat stat;
    struct timespec now;
    clockid_t clock;
    if (*others->sysroot) {
        bool read = host_process_stat(others->sysroot, pid, &stat);
        *out = read ? (double)stat.cpu_ticks / (double)sysconf(_SC_CLK_TCK) : 0;
        return read;
    }
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &now) != 0)
        return false;
    *out = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
    return true;
}

static DIR *open_proc(const struct host_others *others)
{
    AUTO_FREE char *path = mem_printf("%s/proc", others->sysroot);
    return opendir(path);
}

static int compare_pids(const void *a, const void *b)
{
    const struct process_time *left = a, *right = b;
    return ORDER(left->pid, right->pid);
}

void host_others_begin(struct host_others *others)
{
    DIR *proc = others->seen ? open_proc(others) : NULL;
    others->count = 0;
    others->begun = proc != NULL;
    for (pid_t pid; proc && (pid = proc_next_pid(proc));) {
        struct process_time process = {.pid = pid};
        if (!cpu_of(others, process.pid, &process.cpu_s))
            continue;
        MEM_ADD(others->before, others->count) = process;
    }
    if (others->count > 1)
        qsort(others->before, others->count, sizeof *others->before, compare_pids);
    if (proc)
        closedir(proc);
}

static void add_to_group(struct host_others *others, const struct proc_stat *process, double used_s)
{
    AUTO_FREE char *folder = mem_printf("%s/proc/%d", others->sysroot, (int)process->pid);
    struct stat status;
    if (stat(folder, &status) != 0)
        return;
    size_t i = 0;
    while (i < others->group_count && (others->groups[i].uid != status.st_uid ||
                                       strcmp(others->groups[i].sum.command, process->comm) != 0))
        i++;
    if (i == others->group_count) {
        MEM_ADD(others->groups, others->group_count) = (struct group){.uid = status.st_uid};
        snprintf(others->groups[i].sum.command, sizeof others->groups[i].sum.command, "%s",
                 process->comm);
    }
    struct group *group = &others->groups[i];
    group->sum.processes++;
    group->sum.cpu_s += used_s;
    if (used_s > group->most_s) {
        group->most_s = used_s;
        group->sum.pid = process->pid;
    }
}

bool host_others_busiest(const struct host_others *others, struct host_other *out)
{
    const struct group *busiest = NULL;
    EACH (group, others->groups, others->group_count)
        if (!busiest || group->sum.cpu_s > busiest->sum.cpu_s)
            busiest = group;
    if (!busiest)
        return false;
    *out = busiest->sum;
    if (!passwd_user_name("/etc/passwd", busiest->uid, out->user, sizeof out->user))
        snprintf(out->user, sizeof out->user, "%u", (unsigned)busiest->uid);
    return true;
}

/* The runner's jobs, meters and guardian descend from it. first: the process itself. */
static bool is_own_process(const struct host_others *others, pid_t pid, struct proc_stat *first)
{
    enum { DEEPEST = 1000 };
    struct proc_stat stat;
    for (int i = 0; i < DEEPEST && (pid > 1 || i == 0); i++) {
        if (pid == getpid())
            return true;
        if (!host_process_stat(others->sysroot, pid, &stat))
            return true; /* it is gone: nobody knows whose it was, and it did not last */
        if (i == 0)
            *first = stat;
        pid = stat.ppid;
    }
    return false;
}

struct reading host_others_s(struct host_others *others)
{
    struct proc_stat process;
    others->group_count = 0;
    double sum_s = 0;
    DIR *proc = others->begun ? open_proc(others) : NULL;
    if (!proc)
        return (struct reading){0};
    for (pid_t pid; (pid = proc_next_pid(proc));) {
        struct process_time now = {.pid = pid};
        if (!cpu_of(others, now.pid, &now.cpu_s))
            continue;
        const struct process_time *before =
            others->count
                ? bsearch(&now, others->before, others->count, sizeof *others->before, compare_pids)
                : NULL;
        /* Of one that took over the number of another, all is new. */
        double used_s =
            before && before->cpu_s <= now.cpu_s ? now.cpu_s - before->cpu_s : now.cpu_s;
        if (used_s > NEGLIGIBLE_S && !is_own_process(others, now.pid, &process)) {
            sum_s += used_s;
            add_to_group(others, &process, used_s);
        }
    }
    closedir(proc);
    return (struct reading){sum_s, true};
}
