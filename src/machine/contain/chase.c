#include "machine/contain/tree.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/procfs.h"
#include "machine/contain/sys.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

enum { CHILDREN_MAX = 4096 };

/* Whose parent it is is read after its pidfd was opened. */
static bool kill_child(int proc, pid_t pid, pid_t init)
{
    struct proc_stat stat;
    AUTO_CLOSE int pidfd = sys_pidfd_open(pid);
    if (pidfd < 0 || !proc_stat_read(proc, pid, &stat) || stat.ppid != init || !proc_stat_alive(&stat))
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

void chase_children(pid_t init, uint64_t start_time, int64_t for_ns)
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
