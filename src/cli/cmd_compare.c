/* compare: two groups of experiments against each other. */
#include "audit/versus.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/option_rows.h"
#include "cli/reading_folders.h"
#include "report/versus_text.h"

#include <string.h>
#include <unistd.h>

enum { OPTION_JSON, OPTION_CARBON, OPTION_AS_ROOT, OPTION_COUNT };

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_JSON] = {.long_name = "--json", .help = "as JSON"},
    [OPTION_CARBON] = OPTION_ROW_CARBON("grams of CO2e per kWh where this ran: adds what the mean energies are worth"),
    [OPTION_AS_ROOT] = {.long_name = "--as-root", .help = "under sudo, stay root"},
};

static int compare(const struct cli_value *values, struct versus *versus, struct reading g_per_kwh)
{
    struct err err = {0};
    AUTO_TEXT struct text text = {0};
    char *const paths[] = {versus->sides[0].path, versus->sides[1].path};
    size_t count = strcmp(paths[0], paths[1]) == 0 ? 1 : 2;
    int code = reading_folders(paths, count, &versus->dataset);
    if (code != CLI_OK)
        return code;
    if (!versus_make(versus, &err))
        return cli_failed(CLI_USAGE, &err);
    if (values[OPTION_JSON].given) {
        json_t *json = versus_json(versus, g_per_kwh);
        json_print_pretty(json, &text);
        json_decref(json);
    } else {
        versus_text(versus, g_per_kwh, message_colour(STDOUT_FILENO), &text);
    }
    return message_print(&text) ? CLI_OK : CLI_BROKEN;
}

static int run(const struct cli_call *call)
{
    struct err err = {0};
    struct versus versus = {0};
    struct reading g_per_kwh = {0};
    if (!reading_carbon(&call->values[OPTION_CARBON], &g_per_kwh, &err))
        return cli_usage_error(call->command, "%s", err.text);
    for (size_t i = 0; i < 2; i++)
        if (!versus_parse(call->operands.items[i], &versus.sides[i], &err)) {
            versus_fini(&versus);
            return cli_usage_error(call->command, "%s", err.text);
        }
    int code = compare(call->values, &versus, g_per_kwh);
    versus_fini(&versus);
    return code;
}

static const char *const usage[] = {"compare A B [options]", NULL};

static const char *const description[] = {
    "Compares two groups of experiments: the ratio of B to A for energy, power and duration, with a 95 % interval. A "
    "and "
    "B are results folders, of this program or in the study's layout; behind a colon, what to take of them: "
    "results:model=resnet20, results:batch_size=32,mode=parallel.",
    "Experiments with the same repository, model, mode and hyperparameters (but those that A and B are chosen by) are "
    "a "
    "block; where both have at least two blocks in common, the comparison is by blocks. Contaminated and failed ones "
    "are "
    "left out.",
    NULL};

static const char *const exits[] = {
    "0", "compared", "2", "a mistake in the options, or nothing to compare", "3", "a folder cannot be read", NULL};

const struct cli_command cmd_compare = {
    .name = "compare",
    .summary = "compare two groups of experiments",
    .usage = usage,
    .description = description,
    .options = options,
    .option_count = OPTION_COUNT,
    .operand_min = 2,
    .operand_max = 2,
    .operand_name = "DIR[:KEY=VALUE]",
    .exits = exits,
    .run = run,
};
