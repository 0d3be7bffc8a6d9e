/* exec: one command under containment: tini, timeout and systemd-run in one. */
#include "base/clock.h"
#include "base/fs_output.h"
#include "base/fs_path.h"
#include "cli/option_rows.h"
#include "cli/study_call.h"
#include "machine/contain/probe.h"
#include "machine/state/state.h"
#include "session/caller.h"
#include "session/command.h"
#include "session/exec_job.h"
#include "session/gpu_hold.h"
#include "session/measuring.h"
#include "session/run_resources.h"
#include "tare_build.h"

#include <string.h>
#include <unistd.h>

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

/* 0: argv[0] is the file to execute; else the exit code. */
static int find_exec_program(struct strv *argv)
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
        return EXEC_NOT_EXECUTABLE;
    }
    cli_error("%s: not found", name);
    return EXEC_NOT_FOUND;
}

/* 0, or the exit code. Comes first: while it waits, a signal just ends the program. */
static int hold_exec_gpus(const struct cli_call *call, struct strv *env, struct gpu_hold **out)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigset_t ends;
    exec_signals_not_ignored(ending, sizeof ending / sizeof *ending, &ends);
    struct gpu_hold_options how = {
        .mode = gpu_hold_mode_parse(call->values[OPTION_GPU_LOCK].text),
        .asked = call->values[OPTION_GPU_LOCK].given,
        .environment = env,
        .ends = &ends,
        .failed = EXEC_OURS,
    };
    int code = gpu_hold_take(&how, out, NULL);
    gpu_hold_tell_jobs(*out, env);
    return code;
}

static struct exec_gpu_memory gpu_memory_options(const struct cli_call *call)
{
    return (struct exec_gpu_memory){.limit_text = call->values[OPTION_GPU_MEMORY_LIMIT].text,
                                    .track = call->values[OPTION_TRACK_GPU_MEMORY].given,
                                    .trace = call->values[OPTION_GPU_MEMORY_TRACE].text};
}

/* From here on signals, and the terminal, are the command's. */
static int run_job(const struct cli_call *call, struct exec_options *how, struct guardian *guardian,
                   struct job_request *request)
{
    how->foreground_tty = request->foreground_tty = exec_terminal_is_ours();
    pid_t group = how->foreground_tty ? exec_terminal_group() : -1;
    how->signals = exec_signals_open();
    how->grace_ns = (int64_t)(call->values[OPTION_GRACE].seconds * 1e9);
    if (call->values[OPTION_TIMEOUT].given && call->values[OPTION_TIMEOUT].seconds > 0)
        how->timeout_ns =
            clock_monotonic_ns() + (int64_t)(call->values[OPTION_TIMEOUT].seconds * 1e9);
    int code = exec_job_run(how, guardian, request);
    exec_terminal_take_back(group);
    close(how->signals);
    return code;
}

static int run_guarded(const struct cli_call *call, struct job_request *request, struct strv *env,
                       struct exec_energy *energy, struct exec_gpu_memory *gpu_memory)
{
    struct err err = {0};
    struct state *state = registration_open();
    struct guardian *guardian = guardian_start(&err);
    if (!guardian) {
        cli_error("%s", err.text);
        registration_end(state);
        return EXEC_OURS;
    }
    struct exec_options how = {
        .state = registration_begin(state, STATE_EXEC, NULL),
        .energy = energy,
        .verbose = call->values[OPTION_VERBOSE].given,
    };
    exec_energy_prepare(energy, env);
    int code = run_job(call, &how, guardian, request);
    guardian_stop(guardian);
    registration_end(how.state);
    exec_energy_show(energy, exec_gpu_memory_json(gpu_memory));
    if (!call->values[OPTION_JSON].given)
        exec_gpu_memory_show(gpu_memory);
    return code;
}

/* The program is found, root given up. */
static int run_program(const struct cli_call *call, enum containment_mode how,
                       const struct strv *argv, struct strv *env,
                       const struct energy_meters_options *energy_meters)
{
    struct err err = {0};
    AUTO(exec_energy_fini)
    struct exec_energy energy = {.energy_meters = energy_meters,
                                 .json_path = call->values[OPTION_JSON].text};
    AUTO(exec_gpu_memory_fini) struct exec_gpu_memory gpu_memory = gpu_memory_options(call);
    /* What is there already may be a device or a pipe, which is written in place. */
    if (energy.json_path && !fs_may_write_output(energy.json_path, &err))
        err_wrap(&err, "nothing was run, as the figures could not be kept");
    if (err.text[0] || !exec_gpu_memory_prepare(&gpu_memory, env, &err))
        return cli_failed(EXEC_OURS, &err);
    AUTO(containment_fini) struct containment containment;
    containment_assume(how, &containment);
    caller_hide_folders(env, &containment);
    struct job_request request = {.containment = &containment,
                                  .argv = argv,
                                  .env = env,
                                  .stdin_fd = STDIN_FILENO,
                                  .stdout_fd = STDOUT_FILENO,
                                  .stderr_fd = STDERR_FILENO,
                                  .shared_fd = exec_gpu_memory_fd(&gpu_memory)};
    return run_guarded(call, &request, env, &energy, &gpu_memory);
}

/* A JSON file without more is one of energy, as it was before there was anything else to tell. */
static bool wants_energy(const struct cli_call *call)
{
    struct exec_gpu_memory memory = gpu_memory_options(call);
    return call->values[OPTION_ENERGY].given ||
           (call->values[OPTION_JSON].given && !exec_gpu_memory_wanted(&memory));
}

/* What moves only under load is proven at the end (measuring_finish): the command does not wait for
 * it. */
static int run_measured(const struct cli_call *call, enum containment_mode how,
                        const struct strv *argv, struct strv *env, struct host_meter *host)
{
    AUTO(meters_fini) struct meters meters = {0};
    bool energy = wants_energy(call);
    if (energy) {
        struct err err = {0};
        meters_find(env, NULL, NULL, &meters);
        meters_distrust_jobs(&meters, how == CONTAINMENT_AUTO || how == CONTAINMENT_PIDNS);
        meters_say_refused(&meters);
        meters.options.host = host;
        if (!meters_scale(&meters, &err))
            return cli_failed(EXEC_OURS, &err);
    }
    return run_program(call, how, argv, env, energy ? &meters.options : NULL);
}

static int run_exec_with_host(const struct cli_call *call, struct host_meter *host)
{
    struct err err = {0};
    struct gpu_hold *gpus = NULL;
    AUTO_STRV struct strv argv = {0};
    AUTO(caller_fini) struct caller caller = {0};
    enum containment_mode how = CONTAINMENT_AUTO;
    bool as_root = call->values[OPTION_AS_ROOT].given;
    containment_mode_parse(call->values[OPTION_CONTAINMENT].text, &how);
    if (!caller_become_for_jobs(as_root, how, &caller, &err))
        return cli_failed(EXEC_OURS, &err);
    if (caller.became && call->values[OPTION_VERBOSE].given)
        cli_note("under sudo: the command runs as user %u, with %s environment",
                 (unsigned)caller.uid, caller.environment_from);
    strv_add_all(&argv, &call->operands);
    AUTO_FREE char *study_call = study_call_translate(argv.items, argv.count, true);
    if (study_call)
        cli_note("mutation.py is the study's script; to run its experiments with checks: %s",
                 study_call);
    int code = find_exec_program(&argv);
    if (code == 0)
        code = hold_exec_gpus(call, &caller.environment, &gpus);
    if (code == 0)
        code = run_measured(call, how, &argv, &caller.environment, host);
    gpu_hold_end(gpus);
    return code;
}

/* The host's counters may need root's rights, which are dropped under sudo. */
static int run_exec(const struct cli_call *call)
{
    struct host_meter *host = wants_energy(call) ? meters_open_host() : NULL;
    int code = run_exec_with_host(call, host);
    host_meter_free(host);
    return code;
}

/* A year bounds both durations. */
static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_TIMEOUT] =
        VALUE_ROW("-t", "--timeout", "DURATION", CLI_DURATION,
                  "end the command after this time; the exit code is then 124; 0: never", .low = 0,
                  .high = 31536000),
    [OPTION_GRACE] = VALUE_ROW("-g", "--grace", "DURATION", CLI_DURATION,
                               "from the request to end (TERM) to the end by force (KILL)",
                               .low = 0, .high = 31536000, .default_text = "10s"),
    [OPTION_CONTAINMENT] = OPTION_ROW_CONTAINMENT("MODE", "how to hold the processes together"),
    [OPTION_GPU_LOCK] = OPTION_ROW_GPU_LOCK(
        "off", "take the locks of the GPUs that the command will see, as a run does"),
    [OPTION_ENERGY] =
        FLAG_ROW("-e", "--energy",
                 "print at the end the energy it used: GPUs that it can see, CPU packages, DRAM",
                 .type = CLI_FLAG),
    [OPTION_GPU_MEMORY_LIMIT] = VALUE_ROW(NULL, "--gpu-memory-limit", "SIZE", CLI_TEXT,
                                          "how much of each GPU's memory the command may hold "
                                          "(8GiB, 50%): the CUDA driver refuses more, and shows a "
                                          "GPU of that size"),
    [OPTION_TRACK_GPU_MEMORY] = FLAG_ROW(
        NULL, "--track-gpu-memory",
        "count every byte that it allocates on its GPUs through the CUDA driver", .type = CLI_FLAG),
    [OPTION_GPU_MEMORY_TRACE] = VALUE_ROW(NULL, "--gpu-memory-trace", "FILE", CLI_FILE,
                                          "append every allocation and every free to this file"),
    [OPTION_JSON] = VALUE_ROW("-j", "--json", "FILE", CLI_FILE,
                              "the same (energy, GPU memory) as JSON into this file, and no table"),
    [OPTION_AS_ROOT] = FLAG_ROW(NULL, "--as-root", "under sudo, stay root", .type = CLI_FLAG),
    [OPTION_VERBOSE] =
        FLAG_ROW("-v", "--verbose", "say at the end which layers held and what was left behind",
                 .type = CLI_FLAG),
};

static const char *const usage[] = {"exec [options] [--] COMMAND [ARGUMENT ...]", NULL};

static const char *const description[] = {
    "Runs one command so that nothing of it is left when it ends, however it ends: processes that "
    "the command leaves "
    "behind are killed, and all of it is killed when this program is. Standard input, output and "
    "error are the "
    "command's "
    "own; on a terminal Ctrl-C and Ctrl-Z reach it as without this program.",
    "Processes are held together by a pid namespace and a cgroup where the machine allows them, "
    "else by following "
    "parents, sessions and a tag in the environment, which is best effort. -v says what held.",
    "With --gpu-lock wait, the command starts when no run holds a GPU that it will see "
    "(CUDA_VISIBLE_DEVICES; all when "
    "that is not set), and runs wait for it.",
    "--energy prints a table on standard error when all is over, as 'measure' does. The command "
    "starts at once, beside "
    "the meters; the end is delayed by 2 s at most, for a driver that does not answer. What the "
    "command writes to "
    "$TARE_MARKS (see '" TARE_NAME " mark') cuts it into epochs.",
    "--gpu-memory-limit and --track-gpu-memory load libtare-cuda.so into the command's processes "
    "(LD_PRELOAD): what "
    "they "
    "allocate through the CUDA driver is counted byte for byte, with their contexts and what their "
    "pools keep. The "
    "limit holds for all of them together, on each GPU. docs/reference/memory.md says what is "
    "counted and what is not.",
    "TERM ends all of the command's processes: TERM to each, KILL after the grace, at once by a "
    "second TERM. Other "
    "signals (INT, HUP, QUIT, USR1, USR2, WINCH, ALRM) are passed to the command.",
    "Under sudo the command runs as the user who called sudo, with that user's groups and "
    "environment, as the jobs of "
    "'run' do. --as-root opts out.",
    NULL};

static const char *const exits[] = {
    "124",
    "the time was over",
    "125",
    "this program failed: a mistake in its options, a GPU held by another "
    "(--gpu-lock refuse), something of the command still alive",
    "126",
    "the command cannot be executed",
    "127",
    "the command was not found",
    "128+n",
    "the command was ended by signal n",
    "else",
    "the command's own",
    NULL};

static const char *const examples[] = {
    "exec --energy -- python3 train.py --epochs 1",
    "run a command and print the energy it used",
    "exec --timeout 2h --gpu-memory-limit 8GiB -- python3 train.py",
    "end it after 2 hours, and let it allocate at most 8 GiB on each GPU",
    NULL,
};

const struct cli_command cmd_exec = {
    .name = "exec",
    .group = CLI_GROUP_RUN,
    .summary = "run one command and leave nothing of it behind",
    .operand_min = 1,
    .operand_max = SIZE_MAX,
    .operand_name = "COMMAND",
    .stops_at_operand = true,
    .usage_code = EXEC_OURS,
    .keeps_root = true,
    COMMAND_TABLES,
    .run = run_exec,
};
