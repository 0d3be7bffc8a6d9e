/* watch: runs under way on the terminal, from any node that sees their folders. */
#include "session/command.h"
#include "session/watch.h"

#include <stdint.h>

enum { OPTION_ONCE, OPTION_JSON, OPTION_EVERY, OPTION_AS_ROOT, OPTION_COUNT };

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_ONCE] = FLAG_ROW("-1", "--once", "print one view as plain text and return"),
    [OPTION_JSON] = FLAG_ROW(NULL, "--json", "with --once: as JSON, a line for each run"),
    [OPTION_EVERY] = VALUE_ROW(NULL, "--every", "DURATION", CLI_DURATION,
                               "how long between two readings of the run's folder", .low = 0.2,
                               .high = 3600, .default_text = "1s"),
    [OPTION_AS_ROOT] = FLAG_ROW(NULL, "--as-root", "under sudo, stay root"),
};

static int run_watch(const struct cli_call *call)
{
    const struct cli_value *values = call->values;
    const struct watch_options how = {
        .operands = &call->operands,
        .every_s = values[OPTION_EVERY].seconds,
        .once = values[OPTION_ONCE].given,
        .json = values[OPTION_JSON].given,
    };
    if (how.json && !how.once)
        return cli_usage_error(call->command, "--json goes with --once");
    if (values[OPTION_EVERY].given && how.once)
        return cli_usage_error(call->command, "--every does not go with --once");
    return watch_show_runs(&how);
}

static const char *const usage[] = {"watch [RUN | latest | DIR]... [options]", NULL};

static const char *const description[] = {
    "Shows runs on the terminal: each GPU slot with its experiment, epoch, "
    "power, memory, temperature and verdict so far; curves of the power "
    "and of a metric; the plan with what is done; the end of the chosen "
    "experiment's log. It reads the run's folder only, so it works from "
    "another terminal, over ssh and on any node that sees the folder. DIR is a "
    "folder of runs; with no operand it is results. Of several "
    "runs the one under way is shown first; [ and ] switch.",
    "Keys: arrows or j and k choose, Tab goes to the next pane, m shows the next "
    "metric, / finds, ? tells all keys, q quits and leaves the "
    "run alone. The owner of the run's folder can ask its program, each after a "
    "question: p to pause (what runs goes on to its end, "
    "nothing more begins) and to go on, s to skip the chosen experiment, S to "
    "stop as Ctrl-C does. What was skipped or stopped, 'run "
    "--resume' runs.",
    "While an experiment is under way its verdict is not known: 'no evidence' "
    "says that nothing was seen so far. What was not read is shown "
    "as a dash.",
    NULL};

static const char *const exits[] = {
    "0",   "shown",
    "1",   "with --once: a run is not finished, and its program has died",
    "2",   "a mistake on the command line, or no terminal",
    "3",   "a run cannot be read, or the terminal cannot be drawn on",
    "129", "the terminal is gone; the run goes on",
    "130", "Ctrl-C (143: TERM); the run goes on",
    NULL};

static const char *const examples[] = {
    "watch latest",
    "show the newest run in results until q is pressed",
    "watch --once --json results/run_20261121_093000",
    "print all that is known of a run now, for a script",
    NULL,
};

const struct cli_command cmd_watch = {
    .name = "watch",
    .group = CLI_GROUP_RUN,
    .summary = "show runs under way on the terminal",
    .operand_max = SIZE_MAX,
    .operand_name = "RUN",
    .reads_runs = true,
    COMMAND_TABLES,
    .run = run_watch,
};
