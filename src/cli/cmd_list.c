#include "cli/command.h"
#include "cli/list.h"
#include "cli/option_rows.h"

enum { OPTION_CONFIG, OPTION_CHECK, OPTION_JSON, OPTION_AS_ROOT, OPTION_COUNT };

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_CONFIG] = OPTION_ROW_REGISTRY("the registry to show, instead of the one that is found"),
    [OPTION_CHECK] = {.long_name = "--check", .help = "tell what is still missing on this machine, and how to get it"},
    [OPTION_JSON] = {.long_name = "--json", .help = "as JSON"},
    [OPTION_AS_ROOT] = {.long_name = "--as-root", .help = "under sudo, stay root"},
};

static int run(const struct cli_call *call)
{
    const char *asked = call->operands.count ? call->operands.items[0] : NULL;
    if (call->values[OPTION_CHECK].given)
        return list_check(asked, call->values[OPTION_CONFIG].text, call->values[OPTION_JSON].given);
    return list_registry(asked, call->values[OPTION_CONFIG].text, call->values[OPTION_JSON].given);
}

static const char *const usage[] = {"list [REPO | SETTINGS.json | REGISTRY.json] [options]",
                                    "list --check [SETTINGS.json | REGISTRY.json | REPO] [options]", NULL};

static const char *const description[] = {
    "Shows the repositories of a registry with their models and hyperparameters: flag, type, range, default and "
    "distribution. The registry is found as 'run' finds it; of a settings file, it is the one that 'run' would take.",
    "With --check: what its models need and this machine lacks (the repository's folder, script, interpreter, Python "
    "modules and their versions, data, room on the disk), and the command or place that mends it. Of a settings file, "
    "only the models "
    "that "
    "it runs are looked at. Modules are imported in a child that sees no GPU; nothing is fetched, nothing is trained.",
    NULL};

static const char *const exits[] = {"0", "shown; with --check: all is there",
                                    "1", "with --check: something is missing",
                                    "2", "no registry, a mistake in it, or no such repository",
                                    NULL};

const struct cli_command cmd_list = {
    .name = "list",
    .summary = "show repositories, models and hyperparameters",
    .usage = usage,
    .description = description,
    .options = options,
    .option_count = OPTION_COUNT,
    .operand_max = 1,
    .operand_name = "REPO",
    .exits = exits,
    .run = run,
};
