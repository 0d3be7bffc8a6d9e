/* exec: one command under containment: tini, timeout and systemd-run in one. */
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "cli/caller.h"
#include "cli/command.h"
#include "cli/exec_energy.h"
#include "cli/exec_gpu_memory.h"
#include "cli/gpu_hold.h"
#include "cli/meters.h"
#include "cli/registration.h"
#include "contain/contain.h"
#include "contain/guardian.h"
#include "tare_build.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* The codes that env(1) and timeout(1) use too. */
enum { EXIT_TIMEOUT = 124, EXIT_OURS = 125, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

enum {
    OPTION_TIMEOUT,
    OPTION_GRACE,
    OPTION_CONTAINMENT,
    OPTION_GPU_LOCK,
    OPTION_ENERGY,
    OPTION_GPU_MEMORY_LIMIT,
    OPTION_TRACK_GPU_MEMORY,
    OPTION_GPU_MEMORY_TRACE,
    OPTION_JSON,
    OPTION_AS_ROOT,
    OPTION_VERBOSE,
    OPTION_COUNT
};

enum { LEFTOVERS_SHOWN = 20 };

/* What takes longer to die than this is not looked at a thousand times a second. */
static const int64_t QUICK_NS = NS_PER_S / 4;

struct exec {
    struct job *job;
    struct state *state; /* NULL: there is none */
    bool foreground_tty, verbose, timed_out;
    struct exec_energy energy;
    struct exec_gpu_memory gpu_memory;
    int signals;
    int64_t timeout_ns, kill_ns; /* when, on CLOCK_MONOTONIC; 0: never */
    int64_t grace_ns;
};

static const int forwarded[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM};

static bool is_ignored(int signal_number)
{
    struct sigaction action;
    return sigaction(signal_number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

/* Those that whoever started us wants ignored (nohup) stay so. */
static int signals_open(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++)
        if (!is_ignored(forwarded[i]))
            sigaddset(&set, forwarded[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* A second request to end, or the end of the grace, kills. */
static void stop(struct exec *exec, int signal_number)
{
    if (exec->kill_ns) {
        job_kill(exec->job);
        return;
    }
    if (exec->verbose)
        job_usage(exec->job);
    job_signal(exec->job, signal_number);
    job_signal(exec->job, SIGCONT); /* stopped ones hear it too */
    exec->kill_ns = clock_monotonic_ns() + exec->grace_ns;
}

static void take_signals(struct exec *exec)
{
    struct signalfd_siginfo info;
    while (read(exec->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        int signal_number = (int)info.ssi_signo;
        /* What the terminal sends, it sends to the command as well. */
        if (exec->foreground_tty && info.ssi_code == SI_KERNEL)
            continue;
        if (signal_number == SIGTERM)
            stop(exec, SIGTERM);
        else
            job_signal_command(exec->job, signal_number);
    }
}

static int times_wait_ms(const struct exec *exec)
{
    int64_t until = exec->kill_ns ? exec->kill_ns : exec->timeout_ns;
    int64_t left = until - clock_monotonic_ns();
    if (until == 0)
        return -1;
    return left <= 0 ? 0 : left > 1000000 * NS_PER_MS ? 1000000 : (int)(left / NS_PER_MS) + 1;
}

static int wait_ms(const struct exec *exec)
{
    int most = times_wait_ms(exec), tick = exec_energy_wait_ms(&exec->energy);
    return most < 0 || (tick >= 0 && tick < most) ? tick : most;
}

static void check_times(struct exec *exec)
{
    int64_t now = clock_monotonic_ns();
    if (exec->kill_ns && now >= exec->kill_ns) {
        job_kill(exec->job);
        exec->kill_ns = now + NS_PER_S;
    } else if (exec->timeout_ns && !exec->timed_out && now >= exec->timeout_ns) {
        exec->timed_out = true;
        if (!exec->kill_ns)
            stop(exec, SIGTERM);
    }
}

static struct job_exit wait_for_end(struct exec *exec)
{
    struct pollfd wait[] = {{.fd = job_fd(exec->job), .events = POLLIN},
                            {.fd = exec->signals, .events = POLLIN},
                            {.fd = exec_energy_fd(&exec->energy), .events = POLLIN},
                            {.fd = exec_energy_marks_fd(&exec->energy), .events = POLLIN}};
    for (;;) {
        if (poll(wait, sizeof wait / sizeof *wait, wait_ms(exec)) < 0 && errno != EINTR)
            return (struct job_exit){0};
        struct job_exit end = job_take_exit(exec->job);
        if (end.ended)
            return end;
        take_signals(exec);
        check_times(exec);
        exec_energy_step(&exec->energy);
    }
}

static void show_members(const char *what, const struct job_member *members, size_t count)
{
    for (size_t i = 0; i < count && i < LEFTOVERS_SHOWN; i++)
        cli_note("%s: %s (pid %d, state %c%s%s)", what, members[i].command, (int)members[i].pid, members[i].state,
                 members[i].wchan[0] ? ", in " : "", members[i].wchan);
    if (count > LEFTOVERS_SHOWN)
        cli_note("%s: %zu more", what, count - LEFTOVERS_SHOWN);
}

/* Ends what the command left behind, and sees that it is gone. A job that ended by itself has no leftovers and is not
 * killed. */
static bool end_all(struct exec *exec)
{
    struct job_member members[LEFTOVERS_SHOWN];
    struct pollfd end = {.fd = job_end_fd(exec->job), .events = POLLIN};
    /* The init ends with its last child: usually now. */
    bool ended = poll(&end, 1, 2) == 1;
    size_t count = ended ? 0 : job_members(exec->job, members, LEFTOVERS_SHOWN);
    if (exec->verbose) {
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
    cli_note("nobody can end a process that sleeps uninterruptibly in the kernel; '%s clean' shows what is left",
             TARE_NAME);
    return false;
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
    if (usage.has_cpu)
        cli_note("cpu time: %.3f s", usage.cpu_s);
    if (usage.has_peak_memory)
        cli_note("peak memory: %.1f MiB", (double)usage.peak_memory_bytes / 1048576);
    if (usage.has_processes)
        cli_note("processes and threads: %llu", (unsigned long long)usage.processes);
    cli_note("nothing is left (shown in %.1f ms)", (double)proof_ns / 1e6);
}

static int exit_code(const struct exec *exec, const struct job_exit *end, const char *name)
{
    if (end->exec_failed) {
        cli_error("%s: %s", name, strerror(end->exec_errno));
        return end->exec_errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
    }
    const char *hint = end->signalled || end->code != 0 ? setuid_hint(job_layers(exec->job)) : NULL;
    if (hint && setuid_root_program(name))
        cli_note("%s", hint);
    if (exec->timed_out)
        return EXIT_TIMEOUT;
    return end->signalled ? 128 + end->code : end->code;
}

/* The guardian knows the job as well, so the command may start without this. */
static void note_born(struct exec *exec)
{
    struct err err = {0};
    if (exec->state && !state_job_born(exec->state, job_identity(exec->job), &err))
        cli_warning("the job is not registered: %s", err.text);
}

static void note_gone(struct exec *exec)
{
    if (exec->state)
        state_job_gone(exec->state, job_identity(exec->job), NULL);
}

static int run_job(struct exec *exec, struct guardian *guardian, const struct job_request *request)
{
    struct err err = {0};
    exec->job = job_start(request, &err);
    if (!exec->job) {
        cli_error("%s", err.text);
        return EXIT_OURS;
    }
    note_born(exec);
    if (!guardian_watch(guardian, job_identity(exec->job), &err) || !job_open_gate(exec->job, &err)) {
        cli_error("%s", err.text);
        job_free(exec->job);
        return EXIT_OURS;
    }
    exec_energy_begin(&exec->energy, exec->job);
    struct job_exit end = wait_for_end(exec);
    int64_t ended_ns = clock_monotonic_ns();
    exec_energy_end(&exec->energy, exec->job);
    bool gone = end_all(exec);
    if (gone) {
        guardian_release(guardian, job_identity(exec->job));
        note_gone(exec);
    }
    if (exec->verbose && gone)
        show_end(exec, clock_monotonic_ns() - ended_ns);
    int code = gone ? exit_code(exec, &end, request->argv->items[0]) : EXIT_OURS;
    job_free(exec->job);
    return code;
}

/* 0: argv[0] is now the file to execute. */
static int find_program(struct strv *argv)
{
    const char *name = argv->items[0];
    char *path = fs_find_executable(name, NULL, getenv("PATH"));
    if (path) {
        free(argv->items[0]);
        argv->items[0] = path;
        return 0;
    }
    if (strchr(name, '/') && access(name, F_OK) == 0) {
        cli_error("%s: not executable", name);
        return EXIT_NOT_EXECUTABLE;
    }
    cli_error("%s: not found", name);
    return EXIT_NOT_FOUND;
}

/* A descriptor that whoever started us had closed must not become some other file of ours. */
static bool open_closed_stdio(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
            return false;
    return true;
}

static bool has_terminal(void)
{
    AUTO_CLOSE int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    return fd >= 0;
}

/* An interactive job may have made a process group of its own the terminal's; that group is gone now. */
static void take_terminal_back(pid_t group)
{
    AUTO_CLOSE int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    sigset_t set;
    if (fd < 0 || group <= 0 || tcgetpgrp(fd) == group)
        return;
    sigemptyset(&set);
    sigaddset(&set, SIGTTOU);
    sigprocmask(SIG_BLOCK, &set, NULL);
    tcsetpgrp(fd, group);
}

static pid_t terminal_group(void)
{
    AUTO_CLOSE int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    return fd < 0 ? -1 : tcgetpgrp(fd);
}

/* 0, or the exit code. Before anything else is begun: while it waits, a signal simply ends it. */
static int take_gpus(const struct cli_call *call, struct strv *env, struct gpu_hold **out)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigset_t ends;
    sigemptyset(&ends);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        if (!is_ignored(ending[i]))
            sigaddset(&ends, ending[i]);
    struct gpu_hold_wish wish = {
        .mode = gpu_hold_mode_parse(call->values[OPTION_GPU_LOCK].text),
        .asked = call->values[OPTION_GPU_LOCK].given,
        .environment = env,
        .ends = &ends,
        .failed = EXIT_OURS,
    };
    int code = gpu_hold_take(&wish, out, NULL);
    gpu_hold_tell_jobs(*out, env);
    return code;
}

static void fill_times(const struct cli_call *call, struct exec *exec)
{
    exec->grace_ns = (int64_t)(call->values[OPTION_GRACE].seconds * 1e9);
    if (call->values[OPTION_TIMEOUT].given && call->values[OPTION_TIMEOUT].seconds > 0)
        exec->timeout_ns = clock_monotonic_ns() + (int64_t)(call->values[OPTION_TIMEOUT].seconds * 1e9);
}

static struct exec_gpu_memory gpu_memory_wish(const struct cli_call *call)
{
    return (struct exec_gpu_memory){.limit_text = call->values[OPTION_GPU_MEMORY_LIMIT].text,
                                    .track = call->values[OPTION_TRACK_GPU_MEMORY].given,
                                    .trace = call->values[OPTION_GPU_MEMORY_TRACE].text};
}

/* The program is found, root given up. */
static int run_program(const struct cli_call *call, enum containment_wish wish, const struct strv *argv,
                       struct strv *env, const struct gauge_options *gauge)
{
    struct err err = {0};
    struct exec exec = {.verbose = call->values[OPTION_VERBOSE].given,
                        .energy = {.gauge = gauge, .json_path = call->values[OPTION_JSON].text},
                        .gpu_memory = gpu_memory_wish(call)};
    if (!exec_energy_may_write(exec.energy.json_path, &err) || !exec_gpu_memory_prepare(&exec.gpu_memory, env, &err)) {
        cli_error("%s", err.text);
        return EXIT_OURS;
    }
    struct state *state = registration_open();
    struct guardian *guardian = guardian_start(&err);
    if (!guardian) {
        cli_error("%s", err.text);
        registration_end(state);
        exec_gpu_memory_fini(&exec.gpu_memory);
        return EXIT_OURS;
    }
    exec.state = registration_begin(state, STATE_EXEC, NULL);
    exec_energy_prepare(&exec.energy, env);
    /* Who asks for no hangup (nohup) does not want one from the terminal's group either. */
    exec.foreground_tty = !is_ignored(SIGHUP) && has_terminal();
    pid_t group = exec.foreground_tty ? terminal_group() : -1;
    exec.signals = signals_open();
    fill_times(call, &exec);
    struct containment containment;
    containment_assume(wish, &containment);
    struct job_request request = {.containment = &containment,
                                  .argv = argv,
                                  .env = env,
                                  .stdin_fd = STDIN_FILENO,
                                  .stdout_fd = STDOUT_FILENO,
                                  .stderr_fd = STDERR_FILENO,
                                  .shared_fd = exec_gpu_memory_fd(&exec.gpu_memory),
                                  .foreground_tty = exec.foreground_tty};
    int code = run_job(&exec, guardian, &request);
    take_terminal_back(group);
    guardian_stop(guardian);
    registration_end(exec.state);
    exec_energy_show(&exec.energy, exec_gpu_memory_json(&exec.gpu_memory));
    if (!call->values[OPTION_JSON].given)
        exec_gpu_memory_show(&exec.gpu_memory);
    exec_energy_fini(&exec.energy);
    exec_gpu_memory_fini(&exec.gpu_memory);
    close(exec.signals);
    containment_fini(&containment);
    return code;
}

/* A JSON file without more is one of energy, as it was before there was anything else to tell. */
static bool wants_energy(const struct cli_call *call)
{
    struct exec_gpu_memory memory = gpu_memory_wish(call);
    return call->values[OPTION_ENERGY].given || (call->values[OPTION_JSON].given && !exec_gpu_memory_wanted(&memory));
}

/* What moves only under load is proven at the end (measuring_finish): the command does not wait for it. */
static int run_measured(const struct cli_call *call, enum containment_wish wish, const struct strv *argv,
                        struct strv *env, struct host_meter *host)
{
    AUTO(meters_fini) struct meters meters = {0};
    bool energy = wants_energy(call);
    if (energy) {
        struct err err = {0};
        meters_find(env, NULL, NULL, &meters);
        meters.options.host = host;
        if (!meters_scale(&meters, &err)) {
            cli_error("%s", err.text);
            return EXIT_OURS;
        }
    }
    return run_program(call, wish, argv, env, energy ? &meters.options : NULL);
}

static int run_with(const struct cli_call *call, struct host_meter *host)
{
    struct err err = {0};
    struct gpu_hold *gpus = NULL;
    AUTO_STRV struct strv argv = {0};
    AUTO(caller_fini) struct caller caller = {0};
    enum containment_wish wish = CONTAINMENT_AUTO;
    bool as_root = call->values[OPTION_AS_ROOT].given;
    containment_wish_parse(call->values[OPTION_CONTAINMENT].text, &wish);
    bool became = wish == CONTAINMENT_SWEEP ? caller_become(as_root, &caller, &err)
                                            : caller_become_with_cgroup(as_root, &caller, &err);
    if (!became) {
        cli_error("%s", err.text);
        return EXIT_OURS;
    }
    if (caller.became && call->values[OPTION_VERBOSE].given)
        cli_note("under sudo: the command runs as user %u, with %s environment", (unsigned)caller.uid,
                 caller.environment_from);
    strv_add_all(&argv, &call->operands);
    int code = find_program(&argv);
    if (code == 0)
        code = take_gpus(call, &caller.environment, &gpus);
    if (code == 0)
        code = run_measured(call, wish, &argv, &caller.environment, host);
    gpu_hold_end(gpus);
    return code;
}

/* The host's counters may need root's rights, which are given up under sudo. */
static int run(const struct cli_call *call)
{
    if (!open_closed_stdio())
        return EXIT_OURS;
    struct host_meter *host = wants_energy(call) ? meters_open_host() : NULL;
    int code = run_with(call, host);
    host_meter_free(host);
    return code;
}

static const char *const containments[] = {"auto", "pidns", "cgroup", "sweep", NULL};

/* A year bounds both durations. */
static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_TIMEOUT] = {.short_name = "-t",
                        .long_name = "--timeout",
                        .argument = "DURATION",
                        .type = CLI_DURATION,
                        .low = 0,
                        .high = 31536000,
                        .help = "end the command after this time; the exit code is then 124; 0: never"},
    [OPTION_GRACE] = {.short_name = "-g",
                      .long_name = "--grace",
                      .argument = "DURATION",
                      .type = CLI_DURATION,
                      .low = 0,
                      .high = 31536000,
                      .default_text = "10s",
                      .help = "from the request to end (TERM) to the end by force (KILL)"},
    [OPTION_CONTAINMENT] = {.long_name = "--containment",
                            .argument = "MODE",
                            .type = CLI_CHOICE,
                            .choices = containments,
                            .default_text = "auto",
                            .help = "how to hold the processes together"},
    [OPTION_GPU_LOCK] = {.long_name = "--gpu-lock",
                         .argument = "MODE",
                         .type = CLI_CHOICE,
                         .choices = gpu_hold_modes,
                         .default_text = "off",
                         .help = "take the locks of the GPUs that the command will see, as a run does"},
    [OPTION_ENERGY] = {.short_name = "-e",
                       .long_name = "--energy",
                       .type = CLI_FLAG,
                       .help = "say at the end what it drew: GPUs that it can see, CPU packages, DRAM"},
    [OPTION_GPU_MEMORY_LIMIT] = {.long_name = "--gpu-memory-limit",
                                 .argument = "SIZE",
                                 .type = CLI_TEXT,
                                 .help = "how much of each GPU's memory the command may hold (8GiB, 50%): the CUDA "
                                         "driver refuses more, and shows a GPU of that size"},
    [OPTION_TRACK_GPU_MEMORY] = {.long_name = "--track-gpu-memory",
                                 .type = CLI_FLAG,
                                 .help = "count every byte that it allocates on its GPUs through the CUDA driver"},
    [OPTION_GPU_MEMORY_TRACE] = {.long_name = "--gpu-memory-trace",
                                 .argument = "FILE",
                                 .type = CLI_FILE,
                                 .help = "append every allocation and every free to this file"},
    [OPTION_JSON] = {.short_name = "-j",
                     .long_name = "--json",
                     .argument = "FILE",
                     .type = CLI_FILE,
                     .help = "the same (energy, GPU memory) as JSON into this file, and no table"},
    [OPTION_AS_ROOT] = {.long_name = "--as-root", .type = CLI_FLAG, .help = "under sudo, stay root"},
    [OPTION_VERBOSE] = {.short_name = "-v",
                        .long_name = "--verbose",
                        .type = CLI_FLAG,
                        .help = "say at the end which layers held and what was left behind"},
};

static const char *const usage[] = {"exec [options] [--] COMMAND [ARGUMENT ...]", NULL};

static const char *const description[] = {
    "Runs one command so that nothing of it is left when it ends, however it ends: processes that the command leaves "
    "behind are killed, and all of it is killed when this program is. Standard input, output and error are the "
    "command's "
    "own; on a terminal Ctrl-C and Ctrl-Z reach it as without this program.",
    "Processes are held together by a pid namespace and a cgroup where the machine allows them, else by following "
    "parents, sessions and a tag in the environment, which is best effort. -v says what held.",
    "With --gpu-lock wait, the command starts when no run holds a GPU that it will see (CUDA_VISIBLE_DEVICES; all when "
    "that is not set), and runs wait for it.",
    "--energy prints a table on standard error when all is over, as 'measure' does. The command starts at once, beside "
    "the meters; the end is delayed by 2 s at most, for a driver that does not answer. What the command writes to "
    "$TARE_MARKS (see '" TARE_NAME " mark') cuts it into epochs.",
    "--gpu-memory-limit and --track-gpu-memory load libtare-cuda.so into the command's processes (LD_PRELOAD): what "
    "they "
    "allocate through the CUDA driver is counted byte for byte, with their contexts and what their pools keep. The "
    "limit holds for all of them together, on each GPU. docs/gpu-memory.md says what is counted and what is not.",
    "TERM ends all of the command's processes: TERM to each, KILL after the grace, at once by a second TERM. Other "
    "signals (INT, HUP, QUIT, USR1, USR2, WINCH, ALRM) are passed to the command.",
    "Under sudo the command runs as the user who called sudo, with that user's groups and environment, as the jobs of "
    "'run' do. --as-root opts out.",
    NULL};

static const char *const exits[] = {"124",   "the time was over",
                                    "125",   "this program failed, or a GPU is held by another (--gpu-lock refuse)",
                                    "126",   "the command cannot be executed",
                                    "127",   "the command was not found",
                                    "128+n", "the command was ended by signal n",
                                    "else",  "the command's own",
                                    NULL};

const struct cli_command cmd_exec = {
    .name = "exec",
    .summary = "run one command and leave nothing of it behind",
    .usage = usage,
    .description = description,
    .options = options,
    .option_count = OPTION_COUNT,
    .operand_min = 1,
    .operand_max = SIZE_MAX,
    .operand_name = "COMMAND",
    .stops_at_operand = true,
    .exits = exits,
    .run = run,
};
