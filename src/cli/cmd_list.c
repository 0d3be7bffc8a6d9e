#include "session/command.h"
#include "cli/list.h"
#include "cli/option_rows.h"

enum { OPTION_CONFIG, OPTION_CHECK, OPTION_SECONDS, OPTION_JSON, OPTION_AS_ROOT, OPTION_COUNT };

static const char *const check_choices[] = {"run", NULL};

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_CONFIG] = OPTION_ROW_REGISTRY("the registry to show, instead of the one that is found"),
    [OPTION_CHECK] = FLAG_ROW(NULL, "--check",
        "tell what is still missing on this machine, and how to get it; =run: start each model for a moment as well",
        .type = CLI_FLAG, .choices = check_choices),
    [OPTION_SECONDS] = VALUE_ROW(NULL, "--seconds", "DURATION", CLI_DURATION,
        "with --check=run: how long each model may run before it is ended",
        .low = 1, .high = 3600, .default_text = "20s"),
    [OPTION_JSON] = FLAG_ROW(NULL, "--json", "as JSON"),
    [OPTION_AS_ROOT] = FLAG_ROW(NULL, "--as-root", "under sudo, stay root"),
};

static int run(const struct cli_call *call)
{
    const char *asked = call->operands.count ? call->operands.items[0] : NULL;
    const struct list_check_options check = {
        .asked = asked,
        .config = call->values[OPTION_CONFIG].text,
        .json = call->values[OPTION_JSON].given,
        .starts = call->values[OPTION_CHECK].text,
        .seconds = call->values[OPTION_SECONDS].seconds,
        .caller = call->caller,
    };
    if (call->values[OPTION_SECONDS].given && !check.starts)
        return cli_usage_error(call->command, "--seconds goes with --check=run");
    if (call->values[OPTION_CHECK].given)
        return list_check(&check);
    return list_registry(asked, call->values[OPTION_CONFIG].text, call->values[OPTION_JSON].given);
}

static const char *const usage[] = {"list [REPO | SETTINGS.json | REGISTRY.json] [options]",
                                    "list --check[=run] [SETTINGS.json | REGISTRY.json | REPO] [options]", NULL};

static const char *const description[] = {
    "Shows the repositories of a registry with their models and hyperparameters: flag, type, range, default and "
    "distribution. The registry is found as 'run' finds it; of a settings file, it is the one that 'run' would take.",
    "With --check: what its models need and this machine lacks (the repository's folder, script, interpreter, Python "
    "modules and their versions, data, room on the disk), and the command or place that fixes it. Of a settings file, "
    "only the models that it runs are checked. Modules are imported in a child that sees no GPU; nothing is fetched, "
    "nothing is trained.",
    "With --check=run: then each model that lacks nothing is started for 20 s (--seconds), one after the other, with "
    "the "
    "command line, environment and containment of a run, and ended with all that it started. It trains in its own "
    "folder, as in a run, and what it writes there stays. Hyperparameters have the settings' values or their defaults, "
    "and those of \"smoke\" in the registry. The GPUs are locked meanwhile; where a run holds one, nothing is started.",
    NULL};

static const char *const exits[] = {
    "0",   "shown; with --check: all is there, and every start is good",
    "1",   "with --check: something is missing, or a start failed or ended without a metric",
    "2",   "no registry, a mistake in it, or no such repository",
    "3",   "with --check=run: a run holds a GPU, or something of a start is still alive",
    "130", "interrupted by Ctrl-C (143: by TERM); what was found until then is shown",
    NULL};

static const char *const examples[] = {
    "list --check settings.json",
    "what this machine lacks of what the settings need",
    "list --check=run registry.json",
    "start each model of a registry for some seconds",
    NULL,
};

const struct cli_command cmd_list = {
    .name = "list",
    .group = CLI_GROUP_RUN,
    .summary = "show repositories, models and hyperparameters",
    .operand_max = 1,
    .operand_name = "REPO",
    COMMAND_TABLES,
};
