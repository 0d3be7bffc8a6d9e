/* bench: a few commands against each other: time and energy, in random blocks, under the guard. */
#include "base/fs_output.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/shell_words.h"
#include "base/value.h"
#include "cli/option_rows.h"
#include "results/judge/bench.h"
#include "session/bench_input.h"
#include "session/command.h"
#include "session/message.h"
#include "session/run_resources.h"
#include "session/run_session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --of, and what each is called in bench_quantities. */
static const char *const until_quantities[] = {"time", "gpu-energy", "cpu-energy", NULL};
static const char *const until_names[] = {"duration_s", "gpu_energy_j", "cpu_energy_j"};

enum { RUNS_UNTIL = 1000 }; /* the most runs of a bench that goes on until something is known */

enum {
    OPTION_RUNS,
    OPTION_UNTIL,
    OPTION_UNTIL_DECIDED,
    OPTION_OF,
    OPTION_WARMUP,
    OPTION_PREPARE,
    OPTION_CONCLUDE,
    OPTION_NAME,
    OPTION_REFERENCE,
    OPTION_IGNORE_FAILURE,
    OPTION_PAUSE,
    OPTION_COOLDOWN,
    OPTION_PREFLIGHT,
    OPTION_TIMEOUT,
    OPTION_GOVERNOR,
    OPTION_SEED,
    OPTION_VERDICTS,
    OPTION_OUTPUT,
    OPTION_EXPORT_JSON,
    OPTION_EXPORT_CSV,
    OPTION_EXPORT_MARKDOWN,
    OPTION_QUIET,
    OPTION_JSON,
    OPTION_CONTAINMENT,
    OPTION_GPU_LOCK,
    OPTION_NO_CALIBRATE,
    OPTION_AS_ROOT,
    OPTION_COUNT
};

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_RUNS] = VALUE_ROW("-n", "--runs", "RUNS", CLI_INT,
                              "how often each command runs: once in each block", .low = 1,
                              .high = 100000, .default_text = "10"),
    [OPTION_UNTIL] = VALUE_ROW(NULL, "--until", "PERCENT", CLI_TEXT,
                               "more blocks until each ratio (of times; --of) is known to ± so "
                               "much: 1%; --runs is then the most, 1000 "
                               "where it is not given"),
    [OPTION_UNTIL_DECIDED] = FLAG_ROW(NULL, "--until-decided",
                                      "more blocks until it is known which command is faster; with "
                                      "--until: whichever comes first"),
    [OPTION_OF] = VALUE_ROW(NULL, "--of", "QUANTITY", CLI_CHOICE,
                            "whose ratios --until and --until-decided go by",
                            .choices = until_quantities, .default_text = "time"),
    [OPTION_WARMUP] = VALUE_ROW("-w", "--warmup", "RUNS", CLI_INT,
                                "runs of each command before all others, which do not count",
                                .low = 0, .high = 100000, .default_text = "0"),
    [OPTION_PREPARE] = VALUE_ROW(
        "-p", "--prepare", "COMMAND", CLI_TEXT,
        "run before each run, and not counted: given once for all commands, or once for each",
        .repeats = true),
    [OPTION_CONCLUDE] = VALUE_ROW(NULL, "--conclude", "COMMAND", CLI_TEXT,
                                  "the same behind each run", .repeats = true),
    [OPTION_NAME] = VALUE_ROW(
        NULL, "--command-name", "NAME", CLI_TEXT,
        "a name for the first command, given again for the second, ...; else they are A, B, C",
        .repeats = true),
    [OPTION_REFERENCE] =
        VALUE_ROW(NULL, "--reference", "NAME", CLI_TEXT,
                  "what the others are compared with: a command's name, first or fastest",
                  .default_text = "first"),
    [OPTION_IGNORE_FAILURE] = FLAG_ROW("-i", "--ignore-failure",
                                       "go on when a command fails; runs with any exit code count"),
    [OPTION_PAUSE] = VALUE_ROW(NULL, "--pause", "TIME", CLI_DURATION, "the pause between two runs",
                               .low = 0, .high = 86400, .default_text = "1", .unit = "seconds"),
    [OPTION_COOLDOWN] = VALUE_ROW(
        NULL, "--cooldown", "MODE", CLI_CHOICE,
        "adaptive: on GPUs the pause lasts until they are idle and cool, 5 seconds to 5 minutes",
        .choices = cooldown_modes, .default_text = "fixed"),
    [OPTION_PREFLIGHT] = VALUE_ROW(NULL, "--preflight", "POLICY", CLI_CHOICE,
                                   "when a GPU is not free, empty, idle and cool before a run",
                                   .choices = preflight_policies, .default_text = "wait"),
    [OPTION_TIMEOUT] =
        VALUE_ROW(NULL, "--timeout", "TIME", CLI_DURATION,
                  "the longest time of one run, which then has failed; 0: no limit", .low = 0,
                  .high = 31622400, .default_text = "0", .unit = "seconds"),
    [OPTION_GOVERNOR] = VALUE_ROW("-g", "--governor", "GOVERNOR", CLI_TEXT,
                                  "the CPU frequency governor that is set meanwhile"),
    [OPTION_SEED] = OPTION_ROW_SEED(
        "the seed of the order within the blocks; not given: a fresh one, which is said"),
    [OPTION_VERDICTS] = OPTION_ROW_VERDICTS(
        "which runs count: those with a clean verdict, those not contaminated, or all"),
    [OPTION_OUTPUT] = OPTION_ROW_RESULTS("the folder in which the bench gets its own"),
    [OPTION_EXPORT_JSON] =
        VALUE_ROW(NULL, "--export-json", "FILE", CLI_FILE, "what --json prints, into a file"),
    [OPTION_EXPORT_CSV] = VALUE_ROW(NULL, "--export-csv", "FILE", CLI_FILE,
                                    "a row for each quantity of each command, into a file"),
    [OPTION_EXPORT_MARKDOWN] =
        VALUE_ROW(NULL, "--export-markdown", "FILE", CLI_FILE,
                  "a table of the commands, as a README or a comment takes it, into a file"),
    [OPTION_QUIET] = FLAG_ROW("-q", "--quiet", "only the tables at the end, and errors"),
    [OPTION_JSON] =
        FLAG_ROW(NULL, "--json", "all of it as JSON on standard output, and nothing else there"),
    [OPTION_CONTAINMENT] =
        OPTION_ROW_CONTAINMENT("LAYER", "what holds a command's processes together"),
    [OPTION_GPU_LOCK] =
        OPTION_ROW_GPU_LOCK("wait", "when another run holds a GPU that the commands will see"),
    [OPTION_NO_CALIBRATE] = OPTION_ROW_NO_CALIBRATE,
    [OPTION_AS_ROOT] =
        FLAG_ROW(NULL, "--as-root", "under sudo: stay root instead of becoming the caller"),
};

static bool is_until(const struct cli_value *values)
{
    return values[OPTION_UNTIL].given || values[OPTION_UNTIL_DECIDED].given;
}

static size_t find_quantity(const char *choice)
{
    size_t at = 0, quantity = 0;
    while (until_quantities[at] && strcmp(until_quantities[at], choice) != 0)
        at++;
    while (until_quantities[at] && strcmp(bench_quantities[quantity], until_names[at]) != 0)
        quantity++;
    return quantity;
}

/* "1%", "0.5%". */
static bool parse_until(const struct cli_value *values, size_t commands,
                        struct bench_until_options *out, struct err *err)
{
    const char *text = values[OPTION_UNTIL].text;
    *out = (struct bench_until_options){.decided = values[OPTION_UNTIL_DECIDED].given};
    if (is_until(values) && commands < 2)
        return err_set(
            err,
            "--until and --until-decided are about one command against another: name two or more");
    if (values[OPTION_OF].given && !is_until(values))
        return err_set(err,
                       "--of is what --until and --until-decided go by: give one of them, too");
    out->quantity = find_quantity(values[OPTION_OF].text);
    if (out->quantity && strcmp(values[OPTION_REFERENCE].text, "fastest") == 0)
        return err_set(err, "--reference fastest is by time: with --of %s name a command",
                       values[OPTION_OF].text);
    if (!text)
        return true;
    size_t length = strlen(text);
    AUTO_FREE char *number = mem_strndup(text, length ? length - 1 : 0);
    double percent;
    if (length < 2 || text[length - 1] != '%' || !number_parse(number, &percent) ||
        !(percent >= 0.01 && percent <= 100))
        return err_set(err, "--until takes 0.01%% to 100%%, as in 1%%: '%s'", text);
    out->share = percent / 100;
    return true;
}

static struct bench_input_options make_bench_options(const struct cli_call *call)
{
    const struct cli_value *values = call->values;
    return (struct bench_input_options){
        .commands = &call->operands,
        .names = &values[OPTION_NAME].all,
        .prepare = &values[OPTION_PREPARE].all,
        .conclude = &values[OPTION_CONCLUDE].all,
        .runs = is_until(values) && !values[OPTION_RUNS].given ? RUNS_UNTIL
                                                               : values[OPTION_RUNS].integer,
        .warmup = values[OPTION_WARMUP].integer,
        .seed =
            values[OPTION_SEED].given ? (uint64_t)values[OPTION_SEED].integer : rng_fresh_seed(),
        .pause_s = values[OPTION_PAUSE].seconds,
        .timeout_s = values[OPTION_TIMEOUT].seconds,
        .preflight = values[OPTION_PREFLIGHT].text,
        .cooldown = values[OPTION_COOLDOWN].text,
        .governor = values[OPTION_GOVERNOR].text,
        .ignore_failure = values[OPTION_IGNORE_FAILURE].given,
    };
}

/* Finds before the first run what would fail after the last one. */
static bool check_bench_input(const struct cli_value *values, const struct bench_input *input,
                              struct err *err)
{
    const char *reference = values[OPTION_REFERENCE].text;
    if (strcmp(reference, "first") != 0 && strcmp(reference, "fastest") != 0 &&
        !strv_has(&input->names, reference))
        return err_set(err, "--reference: there is no command '%s'", reference);
    static const int files[] = {OPTION_EXPORT_JSON, OPTION_EXPORT_CSV, OPTION_EXPORT_MARKDOWN};
    EACH_OF (file, files)
        if (values[*file].given && !fs_may_write_output(values[*file].text, err))
            return false;
    return true;
}

static void print_bench_start(const struct cli_call *call, const struct bench_input_options *how)
{
    if (call->values[OPTION_QUIET].given || call->values[OPTION_JSON].given)
        return;
    AUTO_TEXT struct text text = {0};
    text_addf(&text, "%zu command%s, %s%" PRId64 " run%s each", how->commands->count,
              how->commands->count == 1 ? "" : "s", is_until(call->values) ? "at most " : "",
              how->runs, how->runs == 1 ? "" : "s");
    if (how->warmup)
        text_addf(&text, " after %" PRId64 " to warm up", how->warmup);
    text_addf(&text, "%s; seed %" PRIu64 "\n", how->commands->count > 1 ? ", in random blocks" : "",
              how->seed);
    message_print(&text);
}

static int run_bench_session(const struct cli_call *call, struct run_resources *means,
                             const struct bench_input_options *how, const struct bench_input *input,
                             const struct run_listener *watch, char **run_dir)
{
    const struct cli_value *values = call->values;
    struct session_options session = {
        .input = &input->run,
        .output = values[OPTION_OUTPUT].text,
        .caller = &means->caller,
        .host = means->host,
        .governing = &means->governing,
        .quiet = values[OPTION_QUIET].given || values[OPTION_JSON].given,
        .kind = "bench",
        .watch = watch,
        .stop_at_failure = !how->ignore_failure,
        .leaves_closing = true,
        .no_calibrate = values[OPTION_NO_CALIBRATE].given,
        .run_dir = run_dir,
    };
    run_session_take_options(&session, &values[OPTION_CONTAINMENT], &values[OPTION_GPU_LOCK]);
    return run_session(&session);
}

static int run_and_show(const struct cli_call *call, struct run_resources *means,
                        const struct bench_input_options *how, const struct bench_input *input,
                        const struct bench_until_options *until)
{
    const struct cli_value *values = call->values;
    AUTO_FREE char *dir = NULL;
    print_bench_start(call, how);
    AUTO(bench_watch_fini) struct bench_watch watch = {0};
    if (until)
        bench_watch_init(&watch, input, values[OPTION_REFERENCE].text, values[OPTION_VERDICTS].text,
                         until);
    int code = run_bench_session(call, means, how, input, until ? &watch.listener : NULL, &dir);
    struct bench_end end = {
        .options = how,
        .input = input,
        .dir = dir,
        .reference = values[OPTION_REFERENCE].text,
        .verdicts = values[OPTION_VERDICTS].text,
        .until = until,
        .json_file = values[OPTION_EXPORT_JSON].text,
        .csv_file = values[OPTION_EXPORT_CSV].text,
        .markdown_file = values[OPTION_EXPORT_MARKDOWN].text,
        .json = values[OPTION_JSON].given,
        .quiet = values[OPTION_QUIET].given,
    };
    if (!dir || code == CLI_BROKEN)
        return code;
    int shown = bench_end(&end);
    if (watch.unmeasured) {
        cli_error(
            "--of %s: it was not measured in any run of the first block, so the bench broke off",
            values[OPTION_OF].text);
        return CLI_BROKEN;
    }
    return code == CLI_OK ? shown : code;
}

static int run_bench(const struct cli_call *call)
{
    struct err err = {0};
    AUTO(run_resources_fini) struct run_resources means = {0};
    AUTO(bench_input_fini) struct bench_input input = {0};
    int code = run_resources_begin(true, call->values[OPTION_CONTAINMENT].text,
                                   call->values[OPTION_AS_ROOT].given,
                                   call->values[OPTION_QUIET].given, &means);
    if (code != 0)
        return code;
    struct bench_input_options how = make_bench_options(call);
    struct bench_until_options until;
    if (!parse_until(call->values, call->operands.count, &until, &err) ||
        !bench_input_make(&how, &input, &err) || !check_bench_input(call->values, &input, &err))
        return cli_usage_error(call->command, "%s", err.text);
    return run_and_show(call, &means, &how, &input, is_until(call->values) ? &until : NULL);
}

static const char *const usage[] = {"bench COMMAND [COMMAND...] [options]", NULL};

static const char *const description[] = {
    "Runs each command so many times and says how long it takes and how much energy it uses: mean, "
    "deviation, 95 % "
    "interval of the mean, median and range of time, GPU energy, GPU power and CPU energy; of "
    "several commands also "
    "the ratio of each to the first (--reference), with its interval, or that there is no "
    "significant difference. No "
    "settings file is needed.",
    "The runs are made in blocks: each block runs every command once, in an order drawn by the "
    "seed, and the commands "
    "are compared block by block. What warms up or slows down meanwhile then meets all of them "
    "alike.",
    "A command is one operand, in quotes, split into words as a shell does; but no shell is run, "
    "so that none is "
    "measured. Pipes, redirections, variables and patterns for file names are refused; where they "
    "are needed, write "
    "sh -c '...' around the command.",
    "Each run is held together, measured and judged as an experiment of 'run' is: before it the "
    "GPUs are checked, "
    "after it nothing of it is alive. Contaminated runs do not count, nor do failed ones; they are "
    "named. A command "
    "that fails ends the bench, unless --ignore-failure is given.",
    "All of it is in DIR/bench_YYYYMMDD_HHMMSS, for audit, stats, compare, report and export.",
    NULL};

static const char *const exits[] = {
    "0",
    "every run succeeded",
    "1",
    "a command failed",
    "2",
    "a mistake in the options or a command: nothing was run",
    "3",
    "the bench broke off: journal, disk, processes not ended, --of not measured; or a GPU is held",
    "4",
    "no run counts: each was contaminated, or --verdicts left it out",
    "130",
    "interrupted by Ctrl-C (143: by TERM); what was measured until then is shown",
    NULL,
};

static const char *const examples[] = {
    "bench 'python3 train.py' 'python3 train.py --amp' -n 10",
    "compare two commands in 10 runs of each",
    "bench 'python3 train.py --batch 16' 'python3 train.py --batch 32'",
    "compare two values of one argument",
    NULL,
};

const struct cli_command cmd_bench = {
    .name = "bench",
    .group = CLI_GROUP_MEASURE,
    .summary = "time and energy of commands, side by side",
    .operand_min = 1,
    .operand_max = SIZE_MAX,
    .operand_name = "COMMAND",
    .unknown_option_hint = "a command is one operand: quote it with its own options, as in "
                           "'python3 train.py --lr 0.1'",
    .keeps_root = true,
    COMMAND_TABLES,
    .run = run_bench,
};
