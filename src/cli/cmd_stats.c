/* stats: what the experiments of results folders say, with intervals. */
#include "base/json_print.h"
#include "base/mem.h"
#include "cli/expectations.h"
#include "cli/option_rows.h"
#include "report/live/width.h"
#include "report/summary_stats_text.h"
#include "results/judge/criteria.h"
#include "results/judge/identical.h"
#include "results/judge/plain_table.h"
#include "results/judge/rows.h"
#include "results/judge/summary_stats_json.h"
#include "session/command.h"
#include "session/message.h"
#include "session/run_folder.h"

#include <string.h>
#include <unistd.h>

enum {
    OPTION_JSON,
    OPTION_CSV,
    OPTION_ONLY,
    OPTION_PRECISION,
    OPTION_INTERACTIONS,
    OPTION_SEED,
    OPTION_OF,
    OPTION_COLUMNS,
    OPTION_EXPECT,
    OPTION_AS_ROOT,
    OPTION_COUNT
};

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_JSON] = FLAG_ROW(NULL, "--json", "as JSON"),
    [OPTION_CSV] =
        FLAG_ROW(NULL, "--csv", "as CSV, a row for each quantity of each model and mode"),
    [OPTION_ONLY] = OPTION_ROW_ONLY("consistent", OPTION_ONLY_HELP),
    [OPTION_PRECISION] =
        VALUE_ROW(NULL, "--precision", "PERCENT", CLI_INT,
                  "half-width wanted of the mean energy, for the number of repeats", .low = 1,
                  .high = 100, .default_text = "5"),
    [OPTION_INTERACTIONS] =
        FLAG_ROW(NULL, "--interactions",
                 "whether the effect of a hyperparameter depends on another, of each two"),
    [OPTION_SEED] = VALUE_ROW(NULL, "--seed", "N", CLI_INT,
                              "of the random orders that p values above 9 runs are of", .low = 0,
                              .high = 9007199254740991.0, .default_text = "1"),
    [OPTION_OF] = OPTION_ROW_OF,
    [OPTION_COLUMNS] = OPTION_ROW_COLUMNS,
    [OPTION_EXPECT] = OPTION_ROW_EXPECT,
    [OPTION_AS_ROOT] = FLAG_ROW(NULL, "--as-root", "under sudo, stay root"),
};

static bool has_stats_quantity(const struct summary_stats *figures, const char *name)
{
    EACH (group, figures->groups, figures->count)
        EACH (figure, group->figures, group->figure_count)
            if (strcmp(figure->name, name) == 0)
                return true;
    return false;
}

static int run_stats(const struct cli_call *call)
{
    const struct cli_value *values = call->values;
    AUTO(dataset_fini) struct dataset dataset = {0};
    AUTO(summary_stats_fini) struct summary_stats figures = {0};
    AUTO_TEXT struct text text = {0};
    struct summary_stats_options how = {.rows = audit_rows_named(values[OPTION_ONLY].text),
                                        .interactions = values[OPTION_INTERACTIONS].given,
                                        .seed = (uint64_t)values[OPTION_SEED].integer,
                                        .precision =
                                            (double)values[OPTION_PRECISION].integer / 100};
    struct summary_stats_text_options shown = {
        .width = isatty(STDOUT_FILENO) ? width_of_terminal(STDOUT_FILENO) : 0,
        .colour = message_colour(STDOUT_FILENO),
        .precision = how.precision,
        .rows = how.rows};
    AUTO(criteria_fini) struct criteria expectations = {0};
    struct err err = {0};
    AUTO_STRV struct strv only = {0};
    option_names(values[OPTION_OF].text, &only);
    how.only = &only;
    if (values[OPTION_EXPECT].given &&
        !criteria_parse(values[OPTION_EXPECT].text, &expectations, &err))
        return cli_usage_error(call->command, "%s", err.text);
    expectations.rows = how.rows;
    if (values[OPTION_JSON].given && values[OPTION_CSV].given)
        return cli_usage_error(call->command, "--json and --csv exclude each other");
    AUTO_STRV struct strv columns = {0};
    option_names(values[OPTION_COLUMNS].text, &columns);
    if (!plain_table_check_columns(&columns, &err))
        return cli_usage_error(call->command, "%s", err.text);
    dataset.columns = &columns;
    int code = reading_rows(call->operands.items, call->operands.count, &dataset);
    if (code != CLI_OK)
        return code;
    if (!criteria_match(&expectations, &dataset, &err))
        return cli_usage_error(call->command, "%s", err.text);
    audit_join_names(&dataset);
    summary_stats_make(&dataset, &how, &figures);
    EACH (name, only.items, only.count)
        if (!has_stats_quantity(&figures, *name))
            return cli_usage_error(call->command, "--of: no experiment that counts has a '%s'",
                                   *name);
    json_t *held = json_array();
    code = expectations_check(&expectations, &dataset, held);
    if (values[OPTION_JSON].given) {
        json_t *json = summary_stats_json(&dataset, &figures, &how);
        json_object_set(json, "expectations", held);
        json_print_taken(json, &text);
    } else if (values[OPTION_CSV].given)
        summary_stats_csv(&figures, &text);
    else
        summary_stats_text(&dataset, &figures, &shown, &text);
    json_decref(held);
    return message_print(&text) ? code : CLI_BROKEN;
}

static const char *const usage[] = {"stats [DIR]... [options]", NULL};

static const char *const description[] = {
    "For each model and mode of results folders, of this program or in the study's layout: mean "
    "and median of energy, "
    "power, duration and each metric with 95 % intervals, for each setting over its seeds; how far "
    "identical runs "
    "differ; which hyperparameter moves energy, duration or a metric, with the median and its "
    "interval at each of its "
    "values; the runs that no other beats in both; how many repeats would do. Defaults, chosen "
    "values and random draws "
    "are kept apart.",
    "Only successful trainings count that are clean, or unverified and consistent with comparable "
    "ones ('audit' says which); where there is nothing to check, as in a lone table, all that are "
    "not contaminated. "
    "docs/reference/judging.md "
    "says how each figure is made.",
    CRITERIA_HELP, NULL};

static const char *const exits[] = {"0", "printed",
                                    "1", "a criterion of --expect does not hold",
                                    "2", "a mistake in the options",
                                    "3", "a folder cannot be read",
                                    NULL};

static const char *const examples[] = {
    "stats results/run_20261121_093000",
    "means, medians and intervals of a run",
    "stats results/run_20261121_093000 --interactions --json",
    "which hyperparameters depend on each other, as JSON",
    "stats results/run_20261121_093000 --expect 'power_cv_between[hrnet18]<5%'",
    "end with 1 when the mean power of hrnet18's identical runs spreads by 5 % or more",
    NULL,
};

const struct cli_command cmd_stats = {
    .name = "stats",
    .group = CLI_GROUP_JUDGE,
    .summary = "figures of a results folder, with intervals",
    .operand_max = SIZE_MAX,
    .operand_name = "DIR",
    .operand_default = "latest",
    .reads_runs = true,
    COMMAND_TABLES,
    .run = run_stats,
};
