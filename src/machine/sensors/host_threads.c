#include "machine/sensors/host_threads.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/procfs.h"
#include "machine/sensors/sysfs.h"

#include <stdio.h>
#include <stdlib.h>

/* Some 15 µs each. */
enum { THREADS_MAX = 4096 };

void host_threads_begin(struct host_threads *threads)
{
    threads->next_count = 0;
}

void host_threads_add(struct host_threads *threads, const char *sysroot, pid_t pid, bool command)
{
    AUTO_FREE char *folder = mem_printf("%s/proc/%d/task", sysroot, (int)pid);
    AUTO_DIR DIR *list = opendir(folder);
    struct host_thread thread;
    if (command && threads->first.tid == 0)
        threads->first.tid = pid;
    while (list && threads->next_count < THREADS_MAX && (thread.tid = proc_next_pid(list)) > 0) {
        char path[64], bytes[128];
        snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)pid, (int)thread.tid);
        ssize_t length = sysfs_read(sysroot, path, bytes, sizeof bytes);
        if (length > 0 &&
            proc_schedstat_parse(bytes, (size_t)length, &thread.run_ns, &thread.waited_ns))
            *(thread.tid == threads->first.tid ? &threads->first
                                               : &MEM_ADD(threads->next, threads->next_count)) =
                thread;
    }
}

static int by_tid(const void *a, const void *b)
{
    const struct host_thread *left = a, *right = b;
    return ORDER(left->tid, right->tid);
}

static const struct host_thread *find(const struct host_threads *threads, pid_t tid)
{
    return threads->next_count ? bsearch(&(struct host_thread){.tid = tid}, threads->next,
                                         threads->next_count, sizeof *threads->next, by_tid)
                               : NULL;
}

/* A number whose time has fallen belongs to another thread now. */
void host_threads_end(struct host_threads *threads)
{
    if (threads->next_count > 1)
        qsort(threads->next, threads->next_count, sizeof *threads->next, by_tid);
    EACH (old, threads->now, threads->count) {
        const struct host_thread *same = find(threads, old->tid);
        if (same && same->run_ns >= old->run_ns)
            continue;
        threads->gone_run_ns += old->run_ns;
        threads->gone_waited_ns += old->waited_ns;
    }
    free(threads->now);
    threads->now = threads->next;
    threads->count = threads->next_count;
    threads->next = NULL;
    threads->next_count = 0;
}

struct host_thread host_threads_sum(const struct host_threads *threads)
{
    struct host_thread sum = {.run_ns = threads->gone_run_ns + threads->first.run_ns,
                              .waited_ns = threads->gone_waited_ns + threads->first.waited_ns};
    EACH (thread, threads->now, threads->count) {
        sum.run_ns += thread->run_ns;
        sum.waited_ns += thread->waited_ns;
    }
    return sum;
}

void host_threads_fini(struct host_threads *threads)
{
    free(threads->now);
    free(threads->next);
}
