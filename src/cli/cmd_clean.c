/* clean: what is left of dead runs, and who else has a GPU open; ends it when asked to. */
#include "base/cleanup.h"
#include "cli/clean.h"
#include "cli/command.h"
#include "tare_build.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

enum { OPTION_KILL, OPTION_PID, OPTION_START_TIME, OPTION_YES, OPTION_JSON, OPTION_COUNT };

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_KILL] = {.short_name = "-k", .long_name = "--kill", .help = "end what " TARE_NAME " left behind"},
    [OPTION_PID] = {.long_name = "--pid",
                    .argument = "PID",
                    .type = CLI_INT,
                    .low = 1,
                    .high = INT_MAX,
                    .help = "end this one of the processes listed, after a question"},
    [OPTION_START_TIME] = {.long_name = "--start-time",
                           .argument = "TICKS",
                           .type = CLI_INT,
                           .low = 1,
                           .high = 9007199254740991.0,
                           .help = "with --pid: only if its start time is this, as --json gave it"},
    [OPTION_YES] = {.short_name = "-y", .long_name = "--yes", .help = "with --pid: do not ask"},
    [OPTION_JSON] = {.long_name = "--json", .help = "as JSON"},
};

/* Without it, dead runs are not known, but tags and GPUs are. */
static struct state *open_state(void)
{
    struct err err = {0};
    AUTO_FREE char *path = state_path(&err);
    struct state *state = path ? state_open(path, &err) : NULL;
    if (!state)
        cli_warning("what dead runs left is found by its tag only: %s", err.text);
    return state;
}

static void say_limits(const struct leftovers *leftovers)
{
    for (size_t i = 0; i < leftovers->kept.count; i++)
        cli_note("left alone in the state folder: %s", leftovers->kept.items[i]);
    if (geteuid() != 0 && leftovers->census.closed > 0)
        cli_note("%zu processes of other users could not be looked into: only root sees what they have open",
                 leftovers->census.closed);
}

/* The exit code: whether something of ours is left. */
static int list(struct state *state, bool json)
{
    struct err err = {0};
    struct leftovers leftovers;
    AUTO_TEXT struct text text = {0};
    if (!leftovers_find(state, &clean_roots, &leftovers, &err)) {
        cli_error("%s", err.text);
        return CLI_BROKEN;
    }
    if (json)
        clean_json(&leftovers, &text);
    else
        clean_table(&leftovers, &text);
    fwrite(text_get(&text), 1, text.length, stdout);
    bool written = fflush(stdout) == 0;
    if (!written)
        cli_error("cannot write to standard output");
    if (!json)
        say_limits(&leftovers);
    int code = leftovers_count_ours(&leftovers) > 0 ? CLI_SOME_FAILED : CLI_OK;
    leftovers_fini(&leftovers);
    return written ? code : CLI_BROKEN;
}

static int clean(const struct cli_call *call, struct state *state)
{
    const struct cli_value *values = call->values;
    struct err err = {0};
    int ended = CLI_OK;
    if (values[OPTION_KILL].given && !clean_end_own(state, &err)) {
        cli_error("%s", err.text);
        return CLI_BROKEN;
    }
    if (values[OPTION_PID].given)
        ended = clean_end_one(state, (pid_t)values[OPTION_PID].integer, (uint64_t)values[OPTION_START_TIME].integer,
                              values[OPTION_YES].given);
    if (ended == CLI_USAGE || ended == CLI_BROKEN)
        return ended;
    int left = list(state, values[OPTION_JSON].given);
    return left == CLI_OK ? ended : left;
}

static int run(const struct cli_call *call)
{
    const struct cli_value *values = call->values;
    if (!values[OPTION_PID].given && (values[OPTION_YES].given || values[OPTION_START_TIME].given))
        return cli_usage_error(call->command, "%s goes with --pid only",
                               values[OPTION_YES].given ? "--yes" : "--start-time");
    struct state *state = open_state();
    int code = clean(call, state);
    state_close(state);
    return code;
}

static const char *const usage[] = {"clean [--kill] [--json]", "clean --pid PID [--yes] [--start-time TICKS]", NULL};

static const char *const description[] = {
    "Lists what dead runs of this user left behind: processes of their jobs that still live, and processes that carry "
    "the tag of a job (TARE_JOB in the environment) of no live run. Then all other processes that have a GPU open.",
    "Nothing is ended without --kill, which ends what is listed first, and nothing else. Any other process of the "
    "list is ended only by its --pid, after a question: TERM, and KILL after ten seconds.",
    "Commands that run jobs end what dead runs left before they start; this command is there to look, and for what is "
    "left when nothing more is to be run. Root sees the processes of all users, but only root's own dead runs.",
    NULL};

static const char *const exits[] = {"0", "nothing of this program's is left",
                                    "1", "something is, or the process of --pid still lives",
                                    "2", "a mistake in the options, or no such process in the list",
                                    "3", "the processes of this machine cannot be read",
                                    NULL};

const struct cli_command cmd_clean = {
    .name = "clean",
    .summary = "list, and end, what dead runs left behind",
    .usage = usage,
    .description = description,
    .options = options,
    .option_count = OPTION_COUNT,
    .exits = exits,
    .run = run,
};
