/* report: a run, or a folder in the study's layout, as one HTML file, for people. */
#include "base/cleanup.h"
#include "cli/option_rows.h"
#include "report/methods.h"
#include "report/page.h"
#include "results/judge/anonymous.h"
#include "results/judge/identical.h"
#include "results/judge/rows.h"
#include "results/store/lock.h"
#include "results/store/machines.h"
#include "results/store/results.h"
#include "results/store/results_json.h"
#include "session/command.h"
#include "session/message.h"
#include "session/report_page.h"
#include "session/run_folder.h"
#include "tare_build.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    OPTION_OUTPUT,
    OPTION_LANG,
    OPTION_SNAPSHOTS,
    OPTION_ONLY,
    OPTION_FORCE,
    OPTION_METHODS,
    OPTION_ANONYMOUS,
    OPTION_AS_ROOT,
    OPTION_COUNT
};

static const char *const languages[] = {"en", "zh", NULL};

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_OUTPUT] = VALUE_ROW("-o", "--output", "FILE", CLI_FILE,
                                "where the page is written, instead of report.html in the folder"),
    [OPTION_LANG] =
        VALUE_ROW(NULL, "--lang", "LANGUAGE", CLI_CHOICE,
                  "of the page: en or zh, instead of what LANG asks for", .choices = languages),
    [OPTION_SNAPSHOTS] = FLAG_ROW(
        NULL, "--snapshots",
        "also write the analysis of each memory snapshot beside it, which the page then links"),
    [OPTION_ONLY] = OPTION_ROW_ONLY("consistent", OPTION_ONLY_HELP),
    [OPTION_FORCE] = FLAG_ROW(
        NULL, "--force",
        "in a folder that is no run's: replace a report.html that this program did not write"),
    [OPTION_METHODS] = FLAG_ROW(
        NULL, "--methods",
        "instead of a page print paragraphs for the methods section of a paper: what the run "
        "recorded of how it measured"),
    [OPTION_ANONYMOUS] = OPTION_ROW_ANONYMOUS,
    [OPTION_AS_ROOT] = FLAG_ROW(NULL, "--as-root", "under sudo, stay root"),
};

static json_t *read_study_folder(const char *dir, struct dataset *dataset, struct err *err)
{
    if (!dataset_read(dataset, dir, err))
        return NULL;
    audit_judge(dataset);
    AUTO_STRV struct strv ids = {0};
    AUTO_FREE char *said = reading_leave_out(dataset, &ids);
    if (said)
        dataset_problem(dataset, 0, "%s", said);
    json_t *json = page_study_json(dataset);
    audit_join_names(dataset);
    return json;
}

/* As in read_study_folder, for a run of this program, whose page is made from run.db. */
static void leave_out_experiments(json_t *run, const char *dir)
{
    AUTO(dataset_fini) struct dataset dataset = {0};
    AUTO_STRV struct strv ids = {0};
    struct err ignored;
    if (!run || !dataset_read(&dataset, dir, &ignored))
        return;
    AUTO_FREE char *said = reading_leave_out(&dataset, &ids);
    if (said)
        results_json_leave_out(run, &ids, said);
}

/* A folder without run.db is read as the study's. */
static json_t *read_report_folder(const char *dir, struct dataset *study, bool *foreign,
                                  struct err *err)
{
    AUTO_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;
    *foreign = fd >= 0 && fstatat(fd, "run.db", &st, AT_SYMLINK_NOFOLLOW) != 0;
    if (*foreign)
        return read_study_folder(dir, study, err);
    json_t *run = results_read_json(dir, err);
    leave_out_experiments(run, dir);
    return run;
}

/* Reads names from the folder as 'export' and 'audit' do, so that pseudonyms are the same.
 * NULL: not asked for, or the folder cannot be read. */
static struct anonymous *anonymous_of(const struct cli_call *call, const char *dir)
{
    AUTO(dataset_fini) struct dataset dataset = {0};
    if (!call->values[OPTION_ANONYMOUS].given || !dataset_read(&dataset, dir, NULL))
        return NULL;
    audit_judge(&dataset);
    return anonymous_new(&dataset);
}

static bool write_run_page(const struct cli_call *call, const char *dir, struct report_options how,
                           struct err *err)
{
    AUTO(dataset_fini) struct dataset study = {0};
    enum lock_seen seen = lock_look(dir);
    json_auto_t *json = read_report_folder(dir, &study, &how.foreign, err);
    how.dataset = how.foreign ? &study : NULL;
    how.life =
        json && !how.foreign ? run_life_of(results_json_has_ended(json), seen) : RUN_LIFE_ENDED;
    if (json && call->values[OPTION_SNAPSHOTS].given)
        report_snapshots_write(json, dir);
    if (!json)
        return false;
    how.anonymous = anonymous_of(call, dir);
    if (call->values[OPTION_ANONYMOUS].given && !how.anonymous)
        return err_set(err, "%s: its names cannot be read: nothing is written", dir);
    bool written = report_page_write(json, dir, &how, err);
    anonymous_free(how.anonymous);
    return written;
}

static int print_methods(const struct cli_call *call, const char *dir)
{
    struct err err = {0};
    AUTO(facts_fini) struct facts facts = {0};
    AUTO(machines_fini) struct machines machines = {0};
    enum lock_seen seen = lock_look(dir);
    AUTO_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstatat(fd, "run.db", &st, AT_SYMLINK_NOFOLLOW) != 0)
        return cli_failed(
            CLI_BROKEN,
            (err_set(&err, "%s: --methods takes a run of this program: there is no run.db", dir),
             &err));
    AUTO(dataset_fini) struct dataset dataset = {0};
    AUTO_STRV struct strv ids = {0};
    if (dataset_read(&dataset, dir, &err))
        dataset_leave_out_contradictions(&dataset, &ids);
    if (ids.count > 0) {
        AUTO_FREE char *list = strv_join(&ids, ", ");
        return cli_failed(CLI_BROKEN,
                          (err_set(&err,
                                   "%s: no methods section: rows and folders disagree ('" TARE_NAME
                                   " audit' shows where): %s",
                                   dir, list),
                           &err));
    }
    if (!facts_read(dir, &facts, &err))
        return cli_failed(CLI_BROKEN, &err);
    machines_read(fd, &machines);
    AUTO_FREE char *folder = realpath(dir, NULL);
    const char *name = folder ? strrchr(folder, '/') : NULL;
    struct methods_input input = {.facts = &facts,
                                  .machine = machines.items,
                                  .folder = name ? name + 1 : dir,
                                  .life = run_life_of(facts.ended, seen)};
    AUTO_TEXT struct text text = {0};
    methods_text(&input, &text);
    if (call->values[OPTION_ANONYMOUS].given) {
        AUTO_TEXT struct text replaced = {0};
        struct anonymous *anonymous = anonymous_new(&dataset);
        anonymous_text(anonymous, text_get(&text), &replaced);
        anonymous_free(anonymous);
        return message_print(&replaced) ? CLI_OK : CLI_BROKEN;
    }
    return message_print(&text) ? CLI_OK : CLI_BROKEN;
}

/* The first option that is given and is for a page; NULL: none. */
static const char *page_option(const struct cli_value *values)
{
    for (size_t i = 0; i < OPTION_METHODS; i++)
        if (values[i].given)
            return options[i].long_name;
    return NULL;
}

static int run_report(const struct cli_call *call)
{
    struct err err = {0};
    const struct cli_value *values = call->values;
    struct report_options how = {
        .file = values[OPTION_OUTPUT].text,
        .force = values[OPTION_FORCE].given,
        .rows = audit_rows_named(values[OPTION_ONLY].text),
        .language = values[OPTION_LANG].given ? values[OPTION_LANG].text : report_page_language(),
    };
    if (values[OPTION_METHODS].given && page_option(values))
        return cli_usage_error(call->command, "%s does not go with --methods, which writes no page",
                               page_option(values));
    if (values[OPTION_ANONYMOUS].given && values[OPTION_SNAPSHOTS].given)
        return cli_usage_error(call->command,
                               "--anonymous does not go with --snapshots, which name code and its "
                               "paths");
    AUTO_FREE char *dir = run_folder_named(call->operands.items[0], &err);
    if (dir && values[OPTION_METHODS].given)
        return print_methods(call, dir);
    if (!dir || !write_run_page(call, dir, how, &err))
        return cli_failed(CLI_BROKEN, &err);
    message_printf("%s%s\n", how.file ? how.file : dir, how.file ? "" : "/report.html");
    return CLI_OK;
}

static const char *const usage[] = {"report [DIR] [-o FILE] [options]", "report --methods [DIR]",
                                    NULL};

static const char *const description[] = {
    "Writes a run as one HTML file that needs no network and no other file: how many experiments "
    "passed all checks, "
    "the run in time with its power and memory, metrics against hyperparameters, a table to sort "
    "and filter, the "
    "curves, epochs and log's end of each experiment, the spread among runs of a model, energy "
    "against quality, and "
    "what each hyperparameter does to both. DIR is a run of this program, also a live one, or a "
    "results folder in the "
    "study's layout, which is judged as 'audit' does. Nothing is changed but that file (and, with "
    "--snapshots, the "
    "analyses of memory snapshots, each made by a process of its own with limits).",
    "'run' writes it when it ends.",
    "--methods prints the run in words for a paper: hardware, sensors, uncertainty, containment, "
    "checks, pauses, "
    "outcomes, verdicts and "
    "energies, each as the run recorded it. A paragraph is one line. What is not recorded is said "
    "to be so.",
    NULL};

static const char *const exits[] = {"0", "written, or printed",
                                    "2", "a mistake on the command line",
                                    "3", "the folder cannot be read, or the page cannot be written",
                                    NULL};

static const char *const examples[] = {
    "report results/run_20261121_093000",
    "write report.html into the folder of the run",
    "report results/run_20261121_093000 -o page.html --lang zh",
    "write the page in Chinese to another file",
    "report --methods latest",
    "print the paragraphs for a paper",
    NULL,
};

const struct cli_command cmd_report = {
    .name = "report",
    .group = CLI_GROUP_JUDGE,
    .summary = "write a run as a page for the browser",
    .operand_max = 1,
    .operand_name = "DIR",
    .operand_default = "latest",
    .reads_runs = true,
    COMMAND_TABLES,
    .run = run_report,
};
