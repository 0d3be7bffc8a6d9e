#include "machine/contain/cgroup_tree.h"
#include "machine/contain/command.h"
#include "machine/contain/job.h"
#include "machine/contain/mounts.h"
#include "machine/contain/thaw.h"

#include "base/clock.h"
#include "machine/contain/sys.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* How long a tree without a pid namespace is fought when the runner has died; the guardian fights
 * it too. */
static const int64_t END_TREE_NS = 60 * NS_PER_S, CHASE_NS = 5 * NS_PER_MS;
static const double END_PASS_S = 0.1;

struct init {
    const struct init_plan *plan;
    int signals, gate, failure;
    pid_t command;
    bool ended, childless;
    bool continued; /* by SIGCONT: it had been stopped */
    int status;
    uint64_t max_rss_kib;
    uint64_t command_cpu_us, thread_run_ns, thread_waited_ns; /* as in the report */
    uint32_t orphans; /* that a crash or SIGKILL ended while the command ran */
    int32_t orphan_signal;
    int64_t end_ns, stopped_ns;
    int64_t stop_began_ns; /* 0: the command is not stopped */
};

const char *init_step_text(int step)
{
    switch (step) {
    case INIT_STEP_USER_MAP:
        return "map the user into a user namespace";
    case INIT_STEP_PRIVATE_MOUNTS:
        return "make the mounts private";
    case INIT_STEP_MOUNT_PROC:
        return "mount /proc";
    case INIT_STEP_OWN_SHM:
        return "mount a /dev/shm of its own (\"private\": {\"shm\"})";
    case INIT_STEP_OWN_TMP:
        return "mount a /tmp of its own (\"private\": {\"tmp\"}), below which neither the run nor "
               "the training may be";
    case INIT_STEP_FORK:
        return "fork the command";
    default:
        return "start the job's init";
    }
}

static bool write_once(const char *path, const char *value)
{
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value);
}

/* What the runner has mapped: root's job then still reads the files of other users. */
static struct init_order mapped_by_runner(const struct init_plan *plan)
{
    struct init_order order;
    ssize_t got = TEMP_FAILURE_RETRY(recv(plan->control, &order, sizeof order, 0));
    if (got != (ssize_t)sizeof order || order.kind != INIT_MAPPED)
        _exit(1);
    return order;
}

/* user_namespaces(7): an ordinary user may map itself, once setgroups is denied. */
static bool map_user(const struct init_plan *plan)
{
    struct init_order mapped = {0};
    if (plan->map_by_runner)
        mapped = mapped_by_runner(plan);
    /* A runner that has changed its user is not dumpable, and then its /proc files belong to
     * root. */
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    if (!mapped.users_mapped && !write_once("/proc/self/uid_map", plan->uid_map))
        return false;
    return mapped.groups_mapped || (write_once("/proc/self/setgroups", "deny") &&
                                    write_once("/proc/self/gid_map", plan->gid_map));
}

static int enter_namespaces(const struct init_plan *plan, struct init_report *ready)
{
    if (plan->userns && !map_user(plan))
        return INIT_STEP_USER_MAP;
    return plan->pidns ? mounts_settle(plan, &ready->records_error) : INIT_STEP_NONE;
}

static void sort_descriptors(int *fds, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k > 0 && fds[k] < fds[k - 1]; k--) {
            int swap = fds[k];
            fds[k] = fds[k - 1];
            fds[k - 1] = swap;
        }
}

/* Whatever else the runner has open: its journal, other jobs' pipes, the ends of their control
 * sockets. */
static void close_others(const struct init_plan *plan)
{
    int keep[] = {0,
                  1,
                  2,
                  plan->stdio[0],
                  plan->stdio[1],
                  plan->stdio[2],
                  plan->null,
                  plan->control,
                  plan->runner,
                  plan->cgroup,
                  plan->shared};
    size_t count = sizeof keep / sizeof keep[0];
    sort_descriptors(keep, count);
    unsigned next = 0;
    for (size_t i = 0; i < count; i++) {
        if (keep[i] < 0)
            continue;
        if ((unsigned)keep[i] > next)
            sys_close_range(next, (unsigned)keep[i] - 1);
        next = (unsigned)keep[i] + 1;
    }
    sys_close_range(next, UINT_MAX);
}

static bool readable(int fd)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    return poll(&wait, 1, 0) == 1;
}

/* In a pid namespace the kernel does it all when this process dies with the runner. Both namespaces
 * and user are as they will stay, so nothing clears the setting again; had the runner died before
 * it, the pidfd shows it. */
static void bind_to_runner(const struct init_plan *plan)
{
    if (plan->pidns)
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    else
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (readable(plan->runner))
        _exit(0);
}

static void send_init_report(const struct init *init, const struct init_report *message)
{
    while (send(init->plan->control, message, sizeof *message, MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
}

static int enter_cgroup(const struct init_plan *plan, pid_t pid)
{
    char number[16];
    int length = snprintf(number, sizeof number, "%d", (int)pid);
    AUTO_CLOSE int procs = openat(plan->cgroup, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    return procs >= 0 && write(procs, number, (size_t)length) == length ? 0 : errno;
}

/* Forks the command's process, born in the leaf; it waits at its gate. False: errno. */
static bool fork_command(struct init *init, int *cgroup_error)
{
    int gate[2], failure[2];
    if (pipe2(gate, O_CLOEXEC) != 0 || pipe2(failure, O_CLOEXEC | O_NONBLOCK) != 0)
        return false;
    const struct init_plan *plan = init->plan;
    bool born_inside = true;
    pid_t pid = plan->cgroup >= 0 ? sys_clone_into(plan->cgroup) : -1;
    if (pid < 0) {
        born_inside = false;
        pid = sys_clone(0, NULL);
    }
    if (pid < 0)
        return false;
    if (pid == 0) {
        close(gate[1]);
        init_command(plan, gate[0], failure[1]);
    }
    close(gate[0]);
    close(failure[1]);
    init->gate = gate[1];
    init->failure = failure[0];
    init->command = pid;
    *cgroup_error = plan->cgroup >= 0 && !born_inside ? enter_cgroup(plan, pid) : 0;
    return true;
}

/* Nobody but the job may hold the pipes of the job's output. */
static void let_go_of_stdio(const struct init_plan *plan)
{
    for (int i = 0; i < 3; i++)
        dup2(plan->null, i);
    for (int i = 0; i < 3; i++)
        if (plan->stdio[i] > 2)
            close(plan->stdio[i]);
    cleanup_close(&plan->cgroup);
}

/* The last field of /proc/loadavg is the newest pid of the reader's namespace. */
static uint64_t newest_pid(const struct init_plan *plan)
{
    char text[256];
    ssize_t length = plan->pidns ? proc_read_at(AT_FDCWD, "/proc/loadavg", text, sizeof text) : -1;
    const char *blank = length > 1 ? memrchr(text, ' ', (size_t)length) : NULL;
    uint64_t pid = 0;
    if (blank)
        proc_number_parse(blank + 1, (size_t)(text + length - blank) - 2, INT_MAX, &pid);
    return pid;
}

/* What is sent to the init is meant for the command. What a terminal sends reaches the command
 * without help. */
static void forward(struct init *init)
{
    struct signalfd_siginfo info;
    while (read(init->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        int signal = (int)info.ssi_signo;
        bool by_terminal = info.ssi_code == SI_KERNEL;
        init->continued |= signal == SIGCONT;
        if (signal != SIGCHLD && !by_terminal && !init->ended)
            kill(init->command, signal); /* not reaped */
    }
}

static void report_end(struct init *init)
{
    forward(init); /* the SIGCONT that woke it may not have been read yet */
    struct init_report message = {.kind = INIT_ENDED,
                                  .status = init->status,
                                  .max_rss_kib = init->max_rss_kib,
                                  .command_cpu_us = init->command_cpu_us,
                                  .thread_run_ns = init->thread_run_ns,
                                  .thread_waited_ns = init->thread_waited_ns,
                                  .last_pid = newest_pid(init->plan),
                                  .end_ns = init->end_ns,
                                  .stopped_ns = init->stopped_ns,
                                  .orphans = init->orphans,
                                  .orphan_signal = init->orphan_signal,
                                  .continued = init->continued};
    int error = 0;
    if (read(init->failure, &error, sizeof error) == (ssize_t)sizeof error)
        message.exec_errno = error;
    send_init_report(init, &message);
}

static void note_stop(struct init *init, bool stopped)
{
    int64_t now_ns = clock_monotonic_ns();
    if (init->stop_began_ns)
        init->stopped_ns += now_ns - init->stop_began_ns;
    init->stop_began_ns = stopped ? now_ns : 0;
}

/* Other signals are how programs end their helpers. */
static bool is_crash(int status)
{
    static const int signals[] = {SIGKILL, SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE};
    for (size_t i = 0; WIFSIGNALED(status) && i < sizeof signals / sizeof *signals; i++)
        if (WTERMSIG(status) == signals[i])
            return true;
    return false;
}

/* A zombie still has its first thread's figures (Documentation/scheduler/sched-stats.rst); its
 * other threads are gone. Reads nothing where /proc is another pid namespace's. */
static void read_zombie(struct init *init)
{
    char stat_path[40], path[40], bytes[2048];
    siginfo_t info = {0};
    struct proc_stat stat;
    snprintf(stat_path, sizeof stat_path, "/proc/%d/stat", (int)init->command);
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)init->command);
    if (waitid(P_PID, (id_t)init->command, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid != init->command)
        return;
    ssize_t length = proc_read_at(AT_FDCWD, stat_path, bytes, sizeof bytes);
    if (length <= 0 || !proc_stat_parse(bytes, (size_t)length, &stat) || stat.ppid != getpid())
        return;
    length = proc_read_at(AT_FDCWD, path, bytes, sizeof bytes);
    if (length > 0)
        proc_schedstat_parse(bytes, (size_t)length, &init->thread_run_ns, &init->thread_waited_ns);
}

static uint64_t cpu_us(const struct rusage *usage)
{
    return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000 +
           (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

static void reap_children(struct init *init)
{
    bool ended_before = init->ended;
    if (!init->ended && !init->plan->leaf) /* a cgroup says more */
        read_zombie(init);
    for (;;) {
        struct rusage usage;
        int status = 0;
        pid_t pid = wait4(-1, &status, WNOHANG | WUNTRACED | WCONTINUED, &usage);
        if (pid < 0 && errno == EINTR)
            continue;
        init->childless = pid < 0 && errno == ECHILD;
        if (pid <= 0)
            break;
        if (WIFSTOPPED(status) || WIFCONTINUED(status)) {
            if (pid == init->command)
                note_stop(init, WIFSTOPPED(status));
            continue;
        }
        if ((uint64_t)usage.ru_maxrss > init->max_rss_kib)
            init->max_rss_kib = (uint64_t)usage.ru_maxrss;
        if (pid == init->command) {
            note_stop(init, false);
            init->end_ns = clock_monotonic_ns();
            init->ended = true;
            init->status = status;
            init->command_cpu_us = cpu_us(&usage);
        } else if (!init->ended && is_crash(status)) {
            init->orphans++;
            init->orphan_signal = WTERMSIG(status);
        }
    }
    if (init->ended && !ended_before)
        report_end(init);
}

/* Without a pid namespace nobody else ends the tree of a dead runner as fast. (This init was made
 * by fork(), so it may allocate.) It ends when the kernel says that it has no child left. */
static _Noreturn void end_tree(const struct init_plan *plan)
{
    if (plan->pidns)
        _exit(0);
    struct tree_seed seed = {
        .root = getpid(), .cgroup = plan->leaf, .tag = plan->tag, .session = !plan->foreground_tty};
    process_start_time(seed.root, &seed.start_time);
    /* From now on the kernel reaps: zombies would only be in the way. */
    signal(SIGCHLD, SIG_IGN);
    int64_t give_up = clock_monotonic_ns() + END_TREE_NS;
    while (clock_monotonic_ns() < give_up) {
        size_t left = 0;
        if (plan->leaf)
            cgroup_kill(plan->leaf);
        thaw_tree(&seed);
        tree_kill(&seed, END_PASS_S, &left, NULL);
        if (waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD && left == 0)
            break;
        tree_chase_children(seed.root, seed.start_time, CHASE_NS);
    }
    if (plan->leaf)
        cgroup_remove(plan->leaf);
    _exit(0);
}

static void handle_init_order(struct init *init)
{
    struct init_order order;
    ssize_t got = recv(init->plan->control, &order, sizeof order, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got != (ssize_t)sizeof order)
        end_tree(init->plan);
    if (order.kind == INIT_OPEN_GATE && init->gate >= 0) {
        ssize_t written = write(init->gate, "", 1);
        (void)written;
        close(init->gate);
        init->gate = -1;
    } else if (order.kind == INIT_SIGNAL_ALL && init->plan->pidns) {
        kill(-1, order.signal); /* everybody in the namespace but its init */
    } else if (order.kind == INIT_SIGNAL_COMMAND && !init->ended) {
        kill(init->command, order.signal); /* our own child, not reaped: it has not ended */
    }
}

static _Noreturn void run_init_loop(struct init *init)
{
    struct pollfd wait[] = {{.fd = init->signals, .events = POLLIN},
                            {.fd = init->plan->control, .events = POLLIN},
                            {.fd = init->plan->runner, .events = POLLIN}};
    for (;;) {
        reap_children(init);
        if (init->ended && init->childless)
            _exit(0);
        if (poll(wait, 3, -1) < 0)
            continue;
        if (wait[0].revents)
            forward(init);
        if (wait[2].revents)
            end_tree(init->plan);
        if (wait[1].revents)
            handle_init_order(init);
    }
}

/* Where the filter is not to be had, nobody but the owner of CAP_SYS_ADMIN types if the kernel says
 * so (Linux 6.2). */
static int refuse_typing(void)
{
    char legacy[8];
    if (sys_typing_refuse())
        return 0;
    int error = errno;
    ssize_t length =
        proc_read_at(AT_FDCWD, "/proc/sys/dev/tty/legacy_tiocsti", legacy, sizeof legacy);
    return error == EACCES && length > 0 && legacy[0] == '0' ? 0 : error;
}

/* The bare call, for machines with more processors than a cpu_set_t has room for. All that is
 * forked from here inherits it. */
static int settle_on(const struct cpus *cpus)
{
    return !cpus || syscall(SYS_sched_setaffinity, 0, sizeof cpus->bits, cpus->bits) == 0 ? 0
                                                                                          : errno;
}

_Noreturn void init_main(const struct init_plan *plan)
{
    struct init init = {.plan = plan, .gate = -1, .failure = -1};
    struct init_report ready = {.kind = INIT_READY, .records_error = ENOSYS};
    sys_signals_block_all();
    sys_signals_default();
    prctl(PR_SET_NAME, TARE_NAME "-init", 0, 0, 0);
    close_others(plan);
    if (!plan->foreground_tty)
        setsid();
    else if (!plan->pidns)
        setpgid(0, 0);
    ready.step = enter_namespaces(plan, &ready);
    if (ready.step == INIT_STEP_NONE) {
        bind_to_runner(plan);
        sigset_t all;
        sigfillset(&all);
        init.signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
        ready.cpus_error = settle_on(plan->cpus);
        ready.typing_error = refuse_typing();
        if (init.signals < 0 || !fork_command(&init, &ready.cgroup_error))
            ready.step = INIT_STEP_FORK;
    }
    if (ready.step != INIT_STEP_NONE) {
        ready.error = errno;
        send_init_report(&init, &ready);
        _exit(1);
    }
    if (plan->pidns && plan->shared)
        init_rights_lower();
    let_go_of_stdio(plan);
    ready.command = (int32_t)init.command;
    send_init_report(&init, &ready);
    run_init_loop(&init);
}
