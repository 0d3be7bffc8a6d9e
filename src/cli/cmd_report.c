/* report: a run as one HTML file, for people. */
#include "base/cleanup.h"
#include "cli/caller.h"
#include "cli/command.h"
#include "cli/report_page.h"
#include "store/store.h"
#include "tare_build.h"

#include <stdio.h>

enum { OPTION_OUTPUT, OPTION_LANG, OPTION_AS_ROOT, OPTION_COUNT };

static const char *const languages[] = {"en", "zh", NULL};

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_OUTPUT] = {.short_name = "-o",
                       .long_name = "--output",
                       .argument = "FILE",
                       .type = CLI_FILE,
                       .help = "where the page is written, instead of report.html in the run's folder"},
    [OPTION_LANG] = {.long_name = "--lang",
                     .argument = "LANGUAGE",
                     .type = CLI_CHOICE,
                     .choices = languages,
                     .help = "of the page: en or zh, instead of what LANG asks for"},
    [OPTION_AS_ROOT] = {.long_name = "--as-root", .help = "under sudo, stay root"},
};

static int run(const struct cli_call *call)
{
    struct err err = {0};
    const struct cli_value *values = call->values;
    const char *run_dir = call->operands.items[0], *file = values[OPTION_OUTPUT].text;
    AUTO(caller_fini) struct caller caller = {0};
    if (!caller_become(values[OPTION_AS_ROOT].given, &caller, &err)) {
        cli_error("%s", err.text);
        return CLI_BROKEN;
    }
    const char *language = values[OPTION_LANG].given ? values[OPTION_LANG].text : report_page_language();
    json_t *json = results_read_json(run_dir, &err);
    bool written = json && report_page_write(json, run_dir, file, language, &err);
    json_decref(json);
    if (!written) {
        cli_error("%s", err.text);
        return CLI_BROKEN;
    }
    printf("%s%s\n", file ? file : run_dir, file ? "" : "/report.html");
    return CLI_OK;
}

static const char *const usage[] = {"report RUN_DIR [-o FILE] [options]", NULL};

static const char *const description[] = {
    "Writes a run as one HTML file that needs no network and no other file: what can be believed, the run in time with "
    "its power and memory, a table to sort and filter, the curves, epochs and log's end of each experiment, the spread "
    "among runs of a model, and energy against quality. Reads a live run too, and changes nothing but that file.",
    "'run' writes it when it ends.", NULL};

static const char *const exits[] = {
    "0", "written", "2", "a mistake on the command line", "3", "the run cannot be read, or the page cannot be written",
    NULL};

const struct cli_command cmd_report = {
    .name = "report",
    .summary = "write a run as a page for the browser",
    .usage = usage,
    .description = description,
    .options = options,
    .option_count = OPTION_COUNT,
    .operand_min = 1,
    .operand_max = 1,
    .operand_name = "RUN_DIR",
    .exits = exits,
    .run = run,
};
