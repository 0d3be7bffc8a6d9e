/* measure: the energy of what runs here already, without touching it. */
#include "base/clock.h"
#include "base/json_print.h"
#include "base/mem.h"
#include "base/procfs.h"
#include "machine/contain/sys.h"
#include "session/caller.h"
#include "session/command.h"
#include "session/energy_text.h"
#include "session/measuring.h"
#include "session/message.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { OPTION_GPUS, OPTION_PID, OPTION_FOR, OPTION_JSON, OPTION_COUNT };

enum ending { GOES_ON, ENDED_BY_TIME, ENDED_BY_PROCESS, ENDED_BY_SIGNAL };

struct watch {
    struct measuring *measuring;
    int signals;
    int pidfd;                /* -1: no process is watched, or this kernel has none */
    struct proc_stat process; /* pid 0: none */
    int64_t for_ns, until_ns; /* how long, and until when; 0: not bounded */
};

static bool read_process(pid_t pid, struct proc_stat *out)
{
    AUTO_CLOSE int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return proc >= 0 && proc_stat_read(proc, pid, out) && proc_stat_alive(out);
}

static bool process_is_gone(const struct watch *watch)
{
    struct proc_stat now;
    if (watch->process.pid == 0)
        return false;
    if (watch->pidfd >= 0)
        return poll(&(struct pollfd){.fd = watch->pidfd, .events = POLLIN}, 1, 0) == 1;
    return !read_process(watch->process.pid, &now) || now.start_time != watch->process.start_time;
}

/* No right over it is needed; where others' processes are hidden (hidepid) it just has no name.
 * Without pidfds (old kernels, seccomp) its start time tells that it is still the same. */
static bool watch_process(struct watch *watch, pid_t pid)
{
    watch->pidfd = sys_pidfd_open(pid);
    bool readable = read_process(pid, &watch->process);
    if (!readable)
        watch->process = (struct proc_stat){.comm = "?"};
    watch->process.pid = pid;
    if ((watch->pidfd < 0 && !readable) || process_is_gone(watch)) {
        cli_error("there is no process %d", (int)pid);
        return false;
    }
    return true;
}

static enum ending ending(const struct watch *watch)
{
    struct signalfd_siginfo info;
    if (read(watch->signals, &info, sizeof info) == (ssize_t)sizeof info)
        return ENDED_BY_SIGNAL;
    if (process_is_gone(watch))
        return ENDED_BY_PROCESS;
    return watch->until_ns && clock_monotonic_ns() >= watch->until_ns ? ENDED_BY_TIME : GOES_ON;
}

/* One turn: what came is taken. */
static enum ending turn(const struct watch *watch)
{
    struct pollfd fds[] = {{.fd = measuring_fd(watch->measuring), .events = POLLIN},
                           {.fd = watch->signals, .events = POLLIN},
                           {.fd = watch->pidfd, .events = POLLIN}};
    int most = measuring_wait_ms(watch->measuring);
    int64_t left_ms =
        watch->until_ns ? (watch->until_ns - clock_monotonic_ns()) / NS_PER_MS + 1 : most;
    poll(fds, sizeof fds / sizeof *fds, left_ms < 0 ? 0 : left_ms < most ? (int)left_ms : most);
    measuring_step(watch->measuring);
    return ending(watch);
}

static int open_signals(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigset_t set;
    sigemptyset(&set);
    EACH_OF (end, ends)
        sigaddset(&set, *end);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static char *until_text(const struct watch *watch, enum ending by)
{
    switch (by) {
    case ENDED_BY_PROCESS:
        return mem_printf("until process %d (%s) ended", (int)watch->process.pid,
                          watch->process.comm);
    case ENDED_BY_SIGNAL:
        return mem_strdup("until it was interrupted");
    default:
        return mem_strdup("as long as was asked for");
    }
}

static json_t *page_json(const struct watch *watch, enum ending by, const struct energy_page *page)
{
    static const char *const names[] = {"", "time", "process", "signal"};
    json_t *json = energy_text_json(page);
    json_object_set_new(json, "ended_by", json_string(names[by]));
    json_object_set_new(json, "process",
                        watch->process.pid == 0
                            ? json_null()
                            : json_pack("{s:i, s:o}", "pid", (int)watch->process.pid, "name",
                                        json_text_or_null(watch->process.comm)));
    return json;
}

static int show_measured(const struct watch *watch, enum ending by, const struct energy_page *page,
                         bool as_json)
{
    AUTO_TEXT struct text text = {0};
    if (as_json)
        json_print_taken(page_json(watch, by, page), &text);
    else
        energy_text(page, &text);
    if (!message_print(&text))
        return CLI_BROKEN;
    return energy_text_any(page->measured) || page->measured->result.job.cpu_s.valid ? CLI_OK
                                                                                     : CLI_BROKEN;
}

/* The reason, of sensors that were tried. */
static int nothing_answers(const struct watch *watch, const struct meters *meters)
{
    AUTO(measured_fini) struct measured measured = {0};
    measuring_begin(watch->measuring, &(struct measuring_subject){0});
    measuring_end(watch->measuring, NULL, 0);
    measuring_finish(watch->measuring, &measured);
    AUTO_FREE char *missing = energy_text_missing(
        &(struct energy_page){.measured = &measured, .options = &meters->options});
    cli_error("nothing can be measured here: %s", missing ? missing : "no sensor answers");
    return CLI_BROKEN;
}

/* What it uses of the host can be told whatever sensors there are. */
static bool sees_process(const struct watch *watch)
{
    return watch->process.start_time != 0;
}

static int measure_until_end(struct watch *watch, const struct meters *meters, bool as_json)
{
    enum ending by = GOES_ON;
    AUTO(measured_fini) struct measured measured = {0};
    while (by == GOES_ON && measuring_starting(watch->measuring))
        by = turn(watch);
    if (by != GOES_ON) {
        cli_error("nothing was measured: it was over before the meters were ready");
        return CLI_BROKEN;
    }
    if (!measuring_useful(watch->measuring) && !sees_process(watch))
        return nothing_answers(watch, meters);
    /* Where it is hidden (no start time), what it uses is as well. */
    struct measuring_subject subject = {.pid = sees_process(watch) ? watch->process.pid : 0,
                                        .start_time = watch->process.start_time};
    measuring_begin(watch->measuring, &subject);
    watch->until_ns = watch->for_ns ? clock_monotonic_ns() + watch->for_ns : 0;
    if (isatty(STDERR_FILENO))
        cli_note("measuring; Ctrl-C ends it");
    while (by == GOES_ON)
        by = turn(watch);
    measuring_end(watch->measuring, NULL, 0);
    measuring_finish(watch->measuring, &measured);
    AUTO_FREE char *until = until_text(watch, by);
    return show_measured(
        watch, by,
        &(struct energy_page){.measured = &measured, .options = &meters->options, .until = until},
        as_json);
}

static int measure_here(const struct cli_call *call, struct watch *watch, struct meters *meters)
{
    struct err err = {0};
    if (!energy_meters_useful(&meters->options) && !sees_process(watch)) {
        AUTO_FREE char *missing = energy_meters_missing_text(&meters->options);
        cli_error("%s", missing ? missing : "there is nothing to measure");
        return CLI_BROKEN;
    }
    if (meters_scale(meters, &err))
        watch->measuring = measuring_new(&meters->options, &err);
    if (!watch->measuring)
        return cli_failed(CLI_BROKEN, &err);
    watch->signals = open_signals();
    watch->for_ns = (int64_t)(call->values[OPTION_FOR].seconds * 1e9);
    int code = measure_until_end(watch, meters, call->values[OPTION_JSON].given);
    measuring_free(watch->measuring);
    close(watch->signals);
    return code;
}

static int run_measure_with_host(const struct cli_call *call, struct host_meter *host)
{
    struct err err = {0};
    AUTO(caller_fini) struct caller caller = {0};
    AUTO(meters_fini) struct meters meters = {0};
    struct watch watch = {.pidfd = -1, .signals = -1};
    if (!caller_become(false, &caller, &err))
        return cli_failed(CLI_BROKEN, &err);
    if (call->values[OPTION_PID].given &&
        !watch_process(&watch, (pid_t)call->values[OPTION_PID].integer))
        return CLI_USAGE;
    int code = CLI_OK;
    if (!call->values[OPTION_GPUS].given)
        meters_find(&caller.environment, NULL, host, &meters);
    else if (!meters_choose(call->values[OPTION_GPUS].text, host, &meters, &err))
        code = cli_usage_error(call->command, "--gpus: %s", err.text);
    meters_say_refused(&meters);
    if (code == CLI_OK)
        code = measure_here(call, &watch, &meters);
    if (watch.pidfd >= 0)
        close(watch.pidfd);
    return code;
}

/* The host's counters may need root's rights, which are dropped under sudo. */
static int run_measure(const struct cli_call *call)
{
    struct host_meter *host = meters_open_host();
    int code = run_measure_with_host(call, host);
    host_meter_free(host);
    return code;
}

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_GPUS] = VALUE_ROW(
        NULL, "--gpus", "LIST", CLI_TEXT,
        "these: numbers or UUIDs, by commas, or all; else those that CUDA_VISIBLE_DEVICES shows"),
    [OPTION_PID] =
        VALUE_ROW("-p", "--pid", "PID", CLI_INT,
                  "until this process has ended; it may be anybody's, and is not touched", .low = 1,
                  .high = INT_MAX),
    [OPTION_FOR] = VALUE_ROW(NULL, "--for", "DURATION", CLI_DURATION,
                             "so long at most: 60s, 10m, 2h", .low = 0.1, .high = 31536000),
    [OPTION_JSON] = FLAG_ROW(NULL, "--json", "as JSON"),
};

static const char *const usage[] = {"measure [--gpus LIST] [--pid PID] [--for DURATION] [--json]",
                                    NULL};

static const char *const description[] = {
    "Measures the energy of what runs here already, a notebook or somebody's service, without "
    "containing or touching "
    "it: of GPUs, CPU packages and DRAM, until the time is over, the process has ended, or Ctrl-C "
    "(or TERM); then "
    "prints a table. Without --for and --pid, until Ctrl-C.",
    "What is measured is the whole device, whoever uses it. --pid says until when, and adds what "
    "the process and its "
    "descendants use of the host meanwhile: CPU time, memory, storage, how many they are. Energies "
    "have a "
    "± (95 %) of all but the sensor's gain. What cannot be measured here is named with the reason. "
    "No file is "
    "written.",
    "Under sudo the CPU's counters are opened as root, everything else is done as the user who "
    "called sudo.",
    NULL};

static const char *const exits[] = {"0", "measured, also when Ctrl-C or TERM ended it",
                                    "2", "a mistake in the options, no such GPU, no such process",
                                    "3", "nothing can be measured here, or nothing was",
                                    NULL};

static const char *const examples[] = {
    "measure --for 10m",
    "measure all GPUs and the host for 10 minutes",
    "measure --gpus 0 --pid 4711 --json",
    "measure GPU 0 until process 4711 has ended, and print JSON",
    NULL,
};

const struct cli_command cmd_measure = {
    .name = "measure",
    .group = CLI_GROUP_MEASURE,
    .summary = "the energy of what runs here already",
    .keeps_root = true,
    COMMAND_TABLES,
    .run = run_measure,
};
