/* clean: what is left of dead runs, and who else has a GPU open; ends it when asked to. */
#include "base/mem.h"
#include "doctor/clean_caller.h"
#include "doctor/clean_end.h"
#include "doctor/clean_table.h"
#include "report/live/width.h"
#include "session/command.h"
#include "session/message.h"
#include "tare_build.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

enum {
    OPTION_KILL,
    OPTION_ALL_USERS,
    OPTION_PID,
    OPTION_START_TIME,
    OPTION_YES,
    OPTION_JSON,
    OPTION_DEV,
    OPTION_COUNT
};

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_KILL] = FLAG_ROW("-k", "--kill", "end what " TARE_NAME " left behind"),
    [OPTION_ALL_USERS] =
        FLAG_ROW(NULL, "--all-users", "with --kill, as root: what the dead runs of all users left"),
    [OPTION_PID] = VALUE_ROW(NULL, "--pid", "PID", CLI_INT,
                             "end this one of the processes listed, after a question", .low = 1,
                             .high = INT_MAX),
    [OPTION_START_TIME] = VALUE_ROW(NULL, "--start-time", "TICKS", CLI_INT,
                                    "with --pid: only if its start time is this, as --json gave it",
                                    .low = 1, .high = 9007199254740991.0),
    [OPTION_YES] = FLAG_ROW("-y", "--yes", "with --pid: do not ask"),
    [OPTION_JSON] = FLAG_ROW(NULL, "--json", "as JSON"),
    /* Where GPUs' device files are looked for; the tests have their own. */
    [OPTION_DEV] =
        VALUE_ROW(NULL, "--dev", "DIR", CLI_FOLDER, "folder of the device files", .hidden = true),
};

/* Without it, dead runs are unknown; tags and GPUs still are known. */
static struct state *open_state_or_warn(void)
{
    struct err err = {0};
    struct state *state = state_open_user(&err);
    if (!state)
        cli_warning("what dead runs left is found by its tag only: %s", err.text);
    return state;
}

/* The vendor of a device that one of them has open; NULL: none has. */
static const struct gpu_vendor *vendor_in_use(const struct leftovers *leftovers)
{
    EACH (item, leftovers->items, leftovers->count)
        EACH (entry, item->process->devices.items, item->process->devices.count) {
            const char *name = strrchr(*entry, '/') + 1;
            const struct gpu_vendor *vendor = gpu_vendor_of_device(name);
            if (!vendor)
                vendor = gpu_vendor_of_control(name);
            if (vendor)
                return vendor;
        }
    return NULL;
}

static void print_clean_limits(const struct clean_view *view)
{
    const struct leftovers *leftovers = &view->leftovers;
    for (size_t i = 0; i < leftovers->foreign_count; i++)
        cli_note("%s (pid %d) carries the tag of a job but belongs to %s: left alone",
                 leftovers->foreign[i].process->stat.comm,
                 (int)leftovers->foreign[i].process->stat.pid, leftovers->foreign[i].owner);
    EACH (item, leftovers->kept.items, leftovers->kept.count)
        cli_note("left alone in the state folder: %s", *item);
    /* To root, who sees what everybody has open, it matters only where there is something. */
    if (view->has_driver && !view->has_memory && (leftovers->count > 0 || geteuid() != 0))
        cli_note("who holds how much GPU memory is not known: %s", view->memory_err.text);
    else if (!view->has_driver && vendor_in_use(leftovers))
        cli_note("who holds how much GPU memory is not known: %s's driver is not there",
                 vendor_in_use(leftovers)->name);
    if (view->memory.failed > 0)
        cli_note("%zu GPU%s did not tell who holds memory", view->memory.failed,
                 view->memory.failed == 1 ? "" : "s");
    if (geteuid() != 0 && leftovers->census.closed > 0)
        cli_note("%zu processes of other users could not be looked into: what they have open, only "
                 "root sees%s",
                 leftovers->census.closed,
                 view->has_memory ? "; memory that they hold is listed" : "");
}

/* The exit code: whether something of ours is left. */
static int list(const struct clean *clean, bool json)
{
    struct err err = {0};
    AUTO(clean_view_fini) struct clean_view view = {0};
    AUTO_TEXT struct text text = {0};
    if (!clean_look(clean, &view, &err))
        return cli_failed(CLI_BROKEN, &err);
    if (json)
        clean_json(&view, &text);
    else
        clean_table(&view, isatty(STDOUT_FILENO) ? width_of_terminal(STDOUT_FILENO) : 0, &text);
    bool written = message_print(&text);
    if (!json)
        print_clean_limits(&view);
    if (!json && view.governor)
        cli_warning("%s; '%s clean --kill' gives it back", view.governor, TARE_NAME);
    int code =
        leftovers_count_ours(&view.leftovers) > 0 || view.governor ? CLI_SOME_FAILED : CLI_OK;
    return written ? code : CLI_BROKEN;
}

static int clean_and_list(const struct cli_value *values, const struct clean *clean)
{
    struct err err = {0};
    int ended = CLI_OK;
    if (values[OPTION_KILL].given && !clean_end_own(clean, &err))
        return cli_failed(CLI_BROKEN, &err);
    if (values[OPTION_PID].given)
        ended =
            clean_end_one(clean, (pid_t)values[OPTION_PID].integer,
                          (uint64_t)values[OPTION_START_TIME].integer, values[OPTION_YES].given);
    if (ended == CLI_USAGE || ended == CLI_BROKEN)
        return ended;
    int left = list(clean, values[OPTION_JSON].given);
    return left == CLI_OK ? ended : left;
}

static int run_clean(const struct cli_call *call)
{
    const struct cli_value *values = call->values;
    if (!values[OPTION_PID].given && (values[OPTION_YES].given || values[OPTION_START_TIME].given))
        return cli_usage_error(call->command, "%s goes with --pid only",
                               values[OPTION_YES].given ? "--yes" : "--start-time");
    if (values[OPTION_ALL_USERS].given && (!values[OPTION_KILL].given || geteuid() != 0))
        return cli_usage_error(call->command, "--all-users goes with --kill only, and as root");
    struct clean clean = {.roots = clean_roots, .all_users = values[OPTION_ALL_USERS].given};
    if (values[OPTION_DEV].given)
        clean.roots.dev = values[OPTION_DEV].text;
    clean.caller = clean_caller_start(&clean.roots); /* before root reads or opens anything */
    clean.state = open_state_or_warn();
    int code = clean_and_list(values, &clean);
    state_close(clean.state);
    clean_caller_end(clean.caller);
    return code;
}

static const char *const usage[] = {"clean [--kill [--all-users]] [--json]",
                                    "clean --pid PID [--yes] [--start-time TICKS]", NULL};

static const char *const description[] = {
    "Lists what dead runs of this user left behind: processes of their jobs that still live, and "
    "processes that carry "
    "the tag of a job (TARE_JOB in the environment) of no live run and are nobody else's; who only "
    "carries it is "
    "named and left alone. Then all other processes that have a GPU open or hold its memory: whose "
    "they are, how old, "
    "who started them, how much they hold.",
    "Nothing is ended without --kill, which ends what is listed first, and nothing else. Any other "
    "process of the "
    "list is ended only by its --pid, after a question: TERM, and KILL after ten seconds.",
    "Commands that run jobs end what dead runs left before they start; this command is there to "
    "look, and for what is "
    "left when nothing more is to be run. Root sees the processes of all users, and ends what "
    "root's own dead runs "
    "and, under sudo, the caller's left; those of others with --all-users.",
    NULL};

static const char *const exits[] = {"0", "nothing of this program's is left",
                                    "1", "something is, or the process of --pid still lives",
                                    "2", "a mistake in the options, or no such process in the list",
                                    "3", "the processes of this machine cannot be read",
                                    NULL};

static const char *const examples[] = {
    "clean",        "list what dead runs left and who has a GPU open; end nothing",
    "clean --kill", "end what dead runs left",
    NULL,
};

const struct cli_command cmd_clean = {
    .name = "clean",
    .group = CLI_GROUP_MACHINE,
    .summary = "list, and end, what dead runs left behind",
    .keeps_root = true,
    COMMAND_TABLES,
    .run = run_clean,
};
