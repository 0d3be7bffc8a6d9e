#include "session/exec_job.h"
#include "machine/contain/job.h"
#include "machine/contain/probe.h"
#include "machine/contain/prove.h"
#include "machine/contain/start.h"
#include "machine/contain/usage.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "session/command.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { LEFTOVERS_SHOWN = 20, GUARDIAN_MS = 1000 };

/* What takes longer to die than this is not looked at a thousand times a second. */
static const int64_t QUICK_NS = NS_PER_S / 4;
/* A command that was stopped for less did not feel it. */
static const int64_t STOPPED_NS = NS_PER_S / 10;

struct exec {
    const struct exec_options *options;
    struct job *job;
    struct guardian *guardian;
    int64_t guardian_ns; /* when it is looked at again, on CLOCK_MONOTONIC */
    bool unguarded;
    bool timed_out;
    int64_t kill_ns; /* when, on CLOCK_MONOTONIC; 0: never */
};

/* The second request, or the end of the grace period, kills. */
static void stop_exec_job(struct exec *exec, int signal_number)
{
    if (exec->kill_ns) {
        job_kill(exec->job);
        return;
    }
    if (exec->options->verbose)
        job_usage(exec->job);
    job_signal(exec->job, signal_number);
    job_signal(exec->job, SIGCONT); /* stopped ones hear it too */
    exec->kill_ns = clock_monotonic_ns() + exec->options->grace_ns;
}

static void forward_signals(struct exec *exec)
{
    struct signalfd_siginfo info;
    while (read(exec->options->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        int signal_number = (int)info.ssi_signo;
        /* What the terminal sends, it sends to the command as well; but that it is lost, to the
         * leader of its session alone (ssh -t, a terminal window that was opened for this
         * command). */
        bool alone = signal_number == SIGHUP && getsid(0) == getpid();
        if (exec->options->foreground_tty && info.ssi_code == SI_KERNEL && !alone)
            continue;
        if (signal_number == SIGTERM)
            stop_exec_job(exec, SIGTERM);
        else
            job_signal_command(exec->job, signal_number);
    }
}

static int times_wait_ms(const struct exec *exec)
{
    int64_t until = exec->kill_ns ? exec->kill_ns : exec->options->timeout_ns;
    int64_t left = until - clock_monotonic_ns();
    if (until == 0)
        return -1;
    return left <= 0 ? 0 : left > 1000000 * NS_PER_MS ? 1000000 : (int)(left / NS_PER_MS) + 1;
}

static int exec_wait_ms(const struct exec *exec)
{
    const struct measuring *measuring = exec->options->energy->measuring;
    int most = times_wait_ms(exec), tick = measuring ? measuring_wait_ms(measuring) : -1;
    if (most < 0 || most > GUARDIAN_MS)
        most = GUARDIAN_MS;
    return tick >= 0 && tick < most ? tick : most;
}

static void check_times(struct exec *exec)
{
    int64_t now = clock_monotonic_ns();
    if (exec->kill_ns && now >= exec->kill_ns) {
        job_kill(exec->job);
        exec->kill_ns = now + NS_PER_S;
    } else if (exec->options->timeout_ns && !exec->timed_out && now >= exec->options->timeout_ns) {
        exec->timed_out = true;
        if (!exec->kill_ns)
            stop_exec_job(exec, SIGTERM);
    }
}

/* A command of less than a second never asks. */
static void check_guardian(struct exec *exec, bool dead)
{
    struct err err = {0};
    int64_t since_ns, now_ns = clock_monotonic_ns();
    if (!dead && now_ns < exec->guardian_ns)
        return;
    exec->guardian_ns = now_ns + NS_PER_S;
    enum guardian_state state = guardian_check(exec->guardian, &since_ns, &err);
    double gone_s = (double)(clock_monotonic_ns() - since_ns) / (double)NS_PER_S;
    if (state == GUARDIAN_REPLACED)
        cli_warning("there was no guardian for up to %.1f s, and now there is another", gone_s);
    else if (state == GUARDIAN_ABSENT && !exec->unguarded)
        cli_warning("the guardian is gone, and there is no other yet: %s", err.text);
    exec->unguarded = state == GUARDIAN_ABSENT;
}

static struct job_exit wait_for_end(struct exec *exec)
{
    const struct exec_energy *energy = exec->options->energy;
    struct pollfd wait[] = {
        {.fd = job_fd(exec->job), .events = POLLIN},
        {.fd = exec->options->signals, .events = POLLIN},
        {.fd = energy->measuring ? measuring_fd(energy->measuring) : -1, .events = POLLIN},
        {.fd = energy->measuring ? exec_marks_fd(energy->marks) : -1, .events = POLLIN},
        {.events = POLLIN}};
    struct pollfd *guardian = &wait[sizeof wait / sizeof *wait - 1];
    exec->guardian_ns = clock_monotonic_ns() + NS_PER_S;
    for (;;) {
        guardian->fd = guardian_fd(exec->guardian);
        guardian->revents = 0;
        if (poll(wait, sizeof wait / sizeof *wait, exec_wait_ms(exec)) < 0 && errno != EINTR)
            return (struct job_exit){0};
        struct job_exit end = job_take_exit(exec->job);
        if (end.ended)
            return end;
        forward_signals(exec);
        check_times(exec);
        check_guardian(exec, guardian->revents != 0);
        exec_energy_step(exec->options->energy);
    }
}

static void show_members(const char *what, const struct job_member *members, size_t count)
{
    for (size_t i = 0; i < count && i < LEFTOVERS_SHOWN; i++)
        cli_note("%s: %s (pid %d, state %c%s%s)", what, members[i].command, (int)members[i].pid,
                 members[i].state, members[i].wchan[0] ? ", in " : "", members[i].wchan);
    if (count > LEFTOVERS_SHOWN)
        cli_note("%s: %zu more", what, count - LEFTOVERS_SHOWN);
}

/* Ends what the command left behind, and sees that it is gone. A job that ended by itself has no
 * leftovers and is not killed. */
static bool end_all(struct exec *exec)
{
    struct job_member members[LEFTOVERS_SHOWN];
    struct pollfd end = {.fd = job_end_fd(exec->job), .events = POLLIN};
    /* The init ends with its last child: usually now. */
    bool ended = poll(&end, 1, 2) == 1;
    size_t count = ended ? 0 : job_members(exec->job, members, LEFTOVERS_SHOWN);
    if (exec->options->verbose) {
        show_members("left behind and ended", members, count);
        job_usage(exec->job);
    }
    int64_t start = clock_monotonic_ns(), took = 0;
    if (!ended)
        job_kill(exec->job);
    for (int pause_ms = 0; took < JOB_PROOF_MAX_S * NS_PER_S; pause_ms = took < QUICK_NS ? 1 : 20) {
        poll(&end, end.fd >= 0, pause_ms);
        if (job_prove_step(exec->job, members, LEFTOVERS_SHOWN, &count))
            return true;
        job_kill(exec->job);
        if (poll(&end, 1, 0) == 1)
            poll(NULL, 0, pause_ms); /* only a cgroup or a sweep is waited for */
        took = clock_monotonic_ns() - start;
    }
    cli_error("not everything of the command could be ended");
    show_members("still there", members, count);
    cli_note("nobody can end a process that sleeps uninterruptibly in the kernel; '%s clean' shows "
             "what is left",
             TARE_NAME);
    return false;
}

/* With a pid namespace nobody's environment needed to be read: it is for -v only. */
static void show_foreign(const struct exec *exec)
{
    struct job_foreign foreign[JOB_FOREIGN_MAX];
    if (job_layers(exec->job)->pidns && !exec->options->verbose)
        return;
    size_t count = job_foreign(exec->job, foreign);
    for (size_t i = 0; i < count && i < JOB_FOREIGN_MAX; i++)
        cli_note("%s (pid %d) carries the tag of this job but belongs to %s: left alone",
                 foreign[i].process.command, (int)foreign[i].process.pid, foreign[i].owner);
    if (count > JOB_FOREIGN_MAX)
        cli_note("%zu more carry the tag of this job but belong to others: left alone",
                 count - JOB_FOREIGN_MAX);
}

static void show_layers(const struct containment *layers)
{
    AUTO_FREE char *layers_text = containment_describe(layers);
    cli_note("containment: %s: %s", layers_text,
             containment_kernel_backed(layers) ? "kernel-backed" : "best effort, not guaranteed");
    if (!layers->pidns && layers->pidns_reason)
        cli_note("no pid namespace: %s", layers->pidns_reason);
    if (!layers->cgroup && layers->cgroup_reason)
        cli_note("no cgroup: %s", layers->cgroup_reason);
}

static void show_end(const struct exec *exec, int64_t proof_ns)
{
    struct job_usage usage = job_usage(exec->job);
    show_layers(job_layers(exec->job));
    int typing = exec->options->foreground_tty ? job_typing_errno(exec->job) : 0;
    if (typing)
        cli_note("the command could type into this terminal (TIOCSTI): no filter against it "
                 "without a namespace: %s",
                 strerror(typing));
    if (usage.has_cpu)
        cli_note("cpu time: %.3f s", usage.cpu_s);
    if (usage.has_peak_memory)
        cli_note("peak memory: %.1f MiB, %s", (double)usage.peak_memory_bytes / 1048576,
                 usage.peak_of_cgroup ? "with its share of the file cache"
                                      : "of its largest process");
    if (usage.has_processes)
        cli_note("processes and threads: %llu", (unsigned long long)usage.processes);
    if (geteuid() == 0 && !job_layers(exec->job)->userns)
        cli_note("root's command can have services outside (systemd, docker, cron) start "
                 "processes: these are not seen");
    cli_note("nothing is left (shown in %.1f ms)", (double)proof_ns / 1e6);
}

static int exec_exit_code(const struct exec *exec, const struct job_exit *end, const char *name)
{
    if (end->exec_failed) {
        cli_error("%s: %s", name, strerror(end->exec_errno));
        return end->exec_errno == ENOENT ? EXEC_NOT_FOUND : EXEC_NOT_EXECUTABLE;
    }
    const char *hint = end->signalled || end->code != 0 ? setuid_hint(job_layers(exec->job)) : NULL;
    if (hint && setuid_root_program(name))
        cli_note("%s", hint);
    if (exec->timed_out)
        return EXEC_TIMEOUT;
    return end->signalled ? 128 + end->code : end->code;
}

/* The guardian knows the job as well, so the command may start without this. */
static void note_born(struct exec *exec)
{
    struct err err = {0};
    if (exec->options->state &&
        !state_job_born(exec->options->state, job_identity(exec->job), &err))
        cli_warning("the job is not registered: %s", err.text);
}

int exec_job_run(const struct exec_options *options, struct guardian *guardian,
                 const struct job_request *request)
{
    struct err err = {0};
    struct exec exec = {.options = options, .guardian = guardian, .job = job_start(request, &err)};
    if (!exec.job)
        return cli_failed(EXEC_OURS, &err);
    note_born(&exec);
    bool watched = guardian_watch(guardian, job_identity(exec.job), &err);
    /* before the command can run: whoever is stopped just behind its gate would begin late */
    if (watched)
        exec_energy_begin(options->energy, exec.job);
    if (!watched || !job_open_gate(exec.job, &err)) {
        cli_error("%s", err.text);
        exec_energy_end(options->energy, exec.job, clock_monotonic_ns());
        job_free(exec.job);
        return EXEC_OURS;
    }
    struct job_exit end = wait_for_end(&exec);
    int64_t ended_ns = clock_monotonic_ns();
    exec_energy_end(options->energy, exec.job, end.end_ns);
    if (end.init_killed)
        cli_warning("the command's init was killed, and the command with it: how it would have "
                    "ended is not known");
    if (end.stopped_ns >= STOPPED_NS && options->energy->measuring)
        cli_note("the command was stopped for %.1f s of its time",
                 (double)end.stopped_ns / (double)NS_PER_S);
    bool gone = end_all(&exec);
    int64_t proof_ns = clock_monotonic_ns() - ended_ns;
    if (gone) {
        guardian_release(guardian, job_identity(exec.job));
        if (exec.options->state)
            state_job_gone(exec.options->state, job_identity(exec.job));
        show_foreign(&exec);
    }
    if (options->verbose && gone)
        show_end(&exec, proof_ns);
    int code = gone ? exec_exit_code(&exec, &end, request->argv->items[0]) : EXEC_OURS;
    job_free(exec.job);
    return code;
}

static bool is_ignored(int signal_number)
{
    struct sigaction action;
    return sigaction(signal_number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

void exec_signals_not_ignored(const int *signals, size_t count, sigset_t *out)
{
    sigemptyset(out);
    EACH (signal, signals, count)
        if (!is_ignored(*signal))
            sigaddset(out, *signal);
}

int exec_signals_open(void)
{
    static const int forwarded[] = {SIGTERM, SIGINT,  SIGHUP,   SIGQUIT,
                                    SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM};
    sigset_t set;
    exec_signals_not_ignored(forwarded, sizeof forwarded / sizeof *forwarded, &set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int terminal_open(void)
{
    return open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
}

bool exec_terminal_is_ours(void)
{
    AUTO_CLOSE int fd = terminal_open();
    /* Who asks for no hangup (nohup) does not want one from the terminal's group either. */
    return fd >= 0 && !is_ignored(SIGHUP);
}

pid_t exec_terminal_group(void)
{
    AUTO_CLOSE int fd = terminal_open();
    return fd < 0 ? -1 : tcgetpgrp(fd);
}

void exec_terminal_take_back(pid_t group)
{
    AUTO_CLOSE int fd = terminal_open();
    sigset_t set;
    if (fd < 0 || group <= 0 || tcgetpgrp(fd) == group)
        return;
    sigemptyset(&set);
    sigaddset(&set, SIGTTOU);
    sigprocmask(SIG_BLOCK, &set, NULL);
    tcsetpgrp(fd, group);
}
