#include "machine/contain/job.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "machine/contain/cgroup_tree.h"
#include "machine/contain/job_private.h"
#include "machine/contain/probe.h"
#include "machine/contain/prove.h"
#include "machine/contain/sys.h"
#include "machine/contain/tag.h"
#include "machine/contain/thaw.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

/* How long one call of job_kill may sweep (without a pid namespace), and job_free wait for the end
 * of what it killed. */
static const double SWEEP_S = 0.05;
static const int64_t FREE_NS = 5 * NS_PER_S;

void job_identity_fini(struct job_identity *identity)
{
    free(identity->cgroup);
    free(identity->tag);
    *identity = (struct job_identity){0};
}

void job_identity_copy(const struct job_identity *from, struct job_identity *to)
{
    *to = *from;
    to->cgroup = mem_strdup(from->cgroup);
    to->tag = mem_strdup(from->tag);
}

bool boot_id_read(char out[40], struct err *err)
{
    ssize_t length = proc_read_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", out, 40);
    if (length < 0)
        return err_sys(err, "read /proc/sys/kernel/random/boot_id");
    out[strcspn(out, "\n")] = '\0';
    return out[0] != '\0' || err_set(err, "/proc/sys/kernel/random/boot_id is empty");
}

bool process_start_time(pid_t pid, uint64_t *out)
{
    AUTO_CLOSE int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct proc_stat stat;
    if (proc < 0 || pid <= 0 || !proc_stat_read(proc, pid, &stat))
        return false;
    *out = stat.start_time;
    return true;
}

const struct job_identity *job_identity(const struct job *job)
{
    return &job->identity;
}

const struct containment *job_layers(const struct job *job)
{
    return &job->layers;
}

enum job_cpus job_cpus(const struct job *job, int *refused_errno)
{
    *refused_errno = job->cpus_errno;
    return job->cpus;
}

int job_typing_errno(const struct job *job)
{
    return job->typing_errno;
}

int job_records_errno(const struct job *job)
{
    return job->records_errno;
}

struct tree_seed job_seed(const struct job *job)
{
    /* With a pid namespace everything descends from the init: no environment needs to be read. */
    return (struct tree_seed){.root = job->identity.pid,
                              .start_time = job->identity.start_time,
                              .cgroup = job->identity.cgroup,
                              .tag = job->layers.pidns ? NULL : job->identity.tag,
                              .session = !job->foreground_tty && !job->reaped};
}

static bool job_order(struct job *job, int kind, int signal)
{
    struct init_order order = {.kind = kind, .signal = signal};
    return sys_send(job->control, &order, sizeof order);
}

bool job_open_gate(struct job *job, struct err *err)
{
    if (!job_order(job, INIT_OPEN_GATE, 0))
        return err_sys(err, "open the job's gate");
    job->started = true;
    return true;
}

int job_fd(const struct job *job)
{
    return job->control;
}

int job_end_fd(const struct job *job)
{
    return job->pidfd;
}

static void exit_from_report(struct job *job, const struct init_report *report)
{
    job->exit = (struct job_exit){.ended = true,
                                  .exec_failed = report->exec_errno != 0,
                                  .exec_errno = report->exec_errno,
                                  .end_ns = report->end_ns,
                                  .stopped_ns = report->stopped_ns,
                                  .orphans = report->orphans,
                                  .orphan_signal = report->orphan_signal,
                                  .init_stopped = report->continued};
    job->exit.signalled = WIFSIGNALED(report->status);
    job->exit.code = job->exit.signalled ? WTERMSIG(report->status) : WEXITSTATUS(report->status);
    job_peak_keep(job, report->max_rss_kib * 1024);
    job->usage.command_cpu_s = (double)report->command_cpu_us / 1e6;
    job->usage.thread_run_s = (double)report->thread_run_ns / 1e9;
    job->usage.thread_waited_s = (double)report->thread_waited_ns / 1e9;
    job->usage.has_thread = report->thread_run_ns > 0;
    if (report->last_pid > 1) {
        job->usage.processes = report->last_pid - 1;
        job->usage.has_processes = true;
    }
}

struct job_exit job_take_exit(struct job *job)
{
    struct init_report report;
    if (job->exit.ended)
        return job->exit;
    /* An init that ends with an order unread resets the connection: that is told first, its report
     * after it (unix(7)). */
    ssize_t got;
    do
        got = recv(job->control, &report, sizeof report, MSG_DONTWAIT);
    while (got < 0 && (errno == EINTR || errno == ECONNRESET));
    if (got == (ssize_t)sizeof report && report.kind == INIT_ENDED)
        exit_from_report(job, &report);
    else if (got == 0 || (got < 0 && errno != EAGAIN))
        /* The init died with its report unsaid: somebody killed it, and with it the command. */
        job->exit = (struct job_exit){
            .ended = true, .signalled = true, .code = SIGKILL, .init_killed = true};
    return job->exit;
}

void job_signal(struct job *job, int signal)
{
    if (job->reaped || job->proven)
        return;
    if (job->layers.pidns) {
        job_order(job, INIT_SIGNAL_ALL, signal);
        return;
    }
    struct tree_seed seed = job_seed(job);
    struct tree tree;
    tree_scan(&seed, &tree);
    tree_signal(&tree, &seed, signal);
    tree_fini(&tree);
}

void job_signal_command(struct job *job, int signal)
{
    job_order(job, INIT_SIGNAL_COMMAND, signal);
}

void job_kill(struct job *job)
{
    if (job->proven)
        return;
    if (!job->killed_ns)
        job->killed_ns = clock_monotonic_ns();
    if (job->layers.pidns)
        job_reap(job);
    if (!job->reaped && !job->layers.cgroup)
        job_usage_keep(job);
    if (job->identity.cgroup)
        cgroup_kill(job->identity.cgroup);
    if (job->layers.pidns) {
        /* The kernel kills everybody with the init; what is frozen, job_prove_step thaws. */
        if (!job->reaped)
            sys_pidfd_signal(job->pidfd, SIGKILL);
        return;
    }
    struct tree_seed seed = job_seed(job);
    size_t left = 0;
    thaw_tree(&seed);
    tree_kill(&seed, SWEEP_S, &left, NULL);
}

bool job_reap(struct job *job)
{
    siginfo_t info = {0};
    struct rusage usage;
    if (job->reaped)
        return true;
    /* The system call itself also gives the resources used; P_PIDFD is 3. */
    long result = syscall(SYS_waitid, 3, job->pidfd, &info, WEXITED | WNOHANG, &usage);
    if (result != 0 && errno == ECHILD) {
        /* The program reaps all its children itself, or lets the kernel do it: then the pidfd
         * tells. */
        struct pollfd wait = {.fd = job->pidfd, .events = POLLIN};
        job->reaped = poll(&wait, 1, 0) == 1;
        return job->reaped;
    }
    if (result != 0 || info.si_pid == 0)
        return false;
    job->reaped = true;
    job->ended_childless = info.si_code == CLD_EXITED && info.si_status == 0;
    double cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                   (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    if (!job->layers.cgroup && (!job->usage.has_cpu || cpu_s > job->usage.cpu_s)) {
        job->usage.cpu_s = cpu_s;
        job->usage.has_cpu = true;
    }
    return true;
}

/* What does not end soon is looked for less often: a look reads all of /proc. */
static int longer(int pause_ms)
{
    return pause_ms < 64 ? pause_ms * 2 : pause_ms;
}

void job_free(struct job *job)
{
    if (!job)
        return;
    if (!job->proven) {
        job_kill(job);
        int64_t deadline = clock_monotonic_ns() + FREE_NS;
        struct job_member member;
        size_t count = 0;
        for (int pause_ms = 1;
             !job_prove_step(job, &member, 1, &count) && clock_monotonic_ns() < deadline;
             pause_ms = longer(pause_ms))
            poll(NULL, 0, pause_ms);
    }
    cleanup_close(&job->control);
    cleanup_close(&job->pidfd);
    job_identity_fini(&job->identity);
    containment_fini(&job->layers);
    free(job);
}

/* The init of a pid namespace: killing it alone ends all. */
static bool is_namespace_init(pid_t pid)
{
    char path[40], status[8192];
    size_t depth = 0;
    pid_t innermost = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    ssize_t length = proc_read_at(AT_FDCWD, path, status, sizeof status);
    return length > 0 && proc_status_nspid(status, (size_t)length, &depth, &innermost) &&
           depth > 1 && innermost == 1;
}

/* Every kind of end at once; how many processes are left after it, the init too. */
static size_t end_once(const struct tree_seed *seed, bool patient, struct tree *known,
                       size_t *killed, struct job_member *survivor)
{
    struct tree tree;
    bool complete = tree_scan(seed, &tree);
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
    struct tree_seed own = *seed;
    if (seed->doubt && tree_has_foreign(known))
        own.cgroup = NULL; /* not as a whole: it also has foreign processes */
    thaw_tree(&own);
    if (own.cgroup)
        cgroup_kill(own.cgroup);
    size_t more = tree_kill(seed, 0.2, &left, known);
    if (*killed < more)
        *killed = more;
    /* Orphans go to it, and it ends by itself when there are no more: only one that does not is
     * killed, and last. */
    if (root_alive && left == 0 && !patient)
        process_signal(seed->root, seed->start_time, SIGKILL);
    return left + root_alive + !complete;
}

static bool this_process_is_of(const char *tag)
{
    AUTO_CLOSE int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return proc < 0 || tag_holds_this_process(proc, tag);
}

bool job_end_orphaned(const struct job_identity *identity, bool witnessed,
                      const struct live_runners *runners, double timeout_s, size_t *killed,
                      struct err *err)
{
    char boot_id[40];
    *killed = 0;
    if (!boot_id_read(boot_id, err))
        return false;
    if (strcmp(boot_id, identity->boot_id) != 0)
        return true;
    struct tree_seed seed = {.root = identity->pid,
                             .start_time = identity->start_time,
                             .cgroup = identity->cgroup,
                             .tag = identity->tag,
                             .session = true};
    if (!witnessed)
        seed = tree_seed_doubted(identity, runners);
    if (!witnessed && seed.tag && this_process_is_of(seed.tag))
        return err_set(err, "this very command runs in what is left");
    int64_t deadline = clock_monotonic_ns() + (int64_t)(timeout_s * 1e9);
    int64_t impatient_ns = clock_monotonic_ns() + (int64_t)(timeout_s * 0.5e9);
    struct job_member survivor = {0};
    AUTO(tree_fini) struct tree known = {0};
    seed.known = &known;
    for (int pause_ms = 2;; pause_ms = longer(pause_ms)) {
        bool patient = clock_monotonic_ns() < impatient_ns;
        size_t left = end_once(&seed, patient, &known, killed, &survivor);
        bool shared = seed.doubt && tree_has_foreign(&known);
        if (left == 0 && (!seed.cgroup || cgroup_remove(seed.cgroup) || shared))
            return true;
        if (clock_monotonic_ns() >= deadline)
            break;
        poll(NULL, 0, pause_ms);
    }
    if (survivor.pid)
        return err_set(err, "process %d (%s, state %c%s%s) of a former job cannot be ended",
                       (int)survivor.pid, survivor.command, survivor.state,
                       survivor.wchan[0] ? ", in " : "", survivor.wchan);
    return err_set(err, "the cgroup or the init of a former job is still alive after SIGKILL");
}

bool job_recover(const struct job_identity *identity, const struct live_runners *runners,
                 double timeout_s, size_t *killed, struct err *err)
{
    return job_end_orphaned(identity, false, runners, timeout_s, killed, err);
}

bool job_is_unproven(const struct job_identity *identity, struct job_member *out)
{
    char boot_id[40];
    struct proc_stat stat;
    AUTO_CLOSE int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (proc < 0 || !boot_id_read(boot_id, NULL) || strcmp(boot_id, identity->boot_id) != 0 ||
        !proc_stat_read(proc, identity->pid, &stat) || stat.start_time != identity->start_time ||
        !proc_stat_alive(&stat) || job_init_is_left(proc, identity->pid, identity->start_time))
        return false;
    job_member_fill(&stat, out);
    return true;
}
