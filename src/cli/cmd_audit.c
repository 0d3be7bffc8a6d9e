/* audit: what of a results folder can be believed, and why not. */
#include "base/clock.h"
#include "base/fs_output.h"
#include "base/fs_path.h"
#include "base/json_print.h"
#include "base/mem.h"
#include "base/shell_words.h"
#include "base/value.h"
#include "base/written.h"
#include "cli/expectations.h"
#include "cli/option_rows.h"
#include "machine/state/state.h"
#include "report/audit_text.h"
#include "report/live/width.h"
#include "report/summary_stats_text.h"
#include "results/judge/account.h"
#include "results/judge/anonymous.h"
#include "results/judge/audit_json.h"
#include "results/judge/audit_tables.h"
#include "results/judge/criteria.h"
#include "results/judge/plain_table.h"
#include "session/command.h"
#include "session/message.h"
#include "session/run_folder.h"
#include "tare_build.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OPTION_JSON,
    OPTION_WRITE,
    OPTION_OUTPUT,
    OPTION_SPLIT,
    OPTION_EXPECT,
    OPTION_REPEAT,
    OPTION_REGISTRY,
    OPTION_COLUMNS,
    OPTION_ANONYMOUS,
    OPTION_FORCE,
    OPTION_ALL,
    OPTION_VERBOSE,
    OPTION_AS_ROOT,
    OPTION_COUNT
};

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_JSON] = FLAG_ROW(NULL, "--json", "as JSON: what audit.json holds"),
    [OPTION_WRITE] = FLAG_ROW("-w", "--write",
                              "write audit.json and, for each folder, " AUDIT_SAFE_CSV
                              " and " AUDIT_AFFECTED_CSV),
    [OPTION_OUTPUT] = VALUE_ROW("-o", "--output", "DIR", CLI_FOLDER,
                                "with --write: there, instead of beside what was read"),
    [OPTION_SPLIT] =
        VALUE_ROW(NULL, "--split-at", "TIME", CLI_TEXT,
                  "compare success before and after this local time (2025-11-25 01:20:48), or the "
                  "moment of change that the data "
                  "itself shows (auto); with --write, what did not end before it is affected"),
    [OPTION_EXPECT] = OPTION_ROW_EXPECT,
    [OPTION_REPEAT] = VALUE_ROW(
        NULL, "--repeat", "FILE", CLI_FILE,
        "write settings for 'run' that do again what is not clean, with the same hyperparameters"),
    [OPTION_REGISTRY] = VALUE_ROW(
        NULL, "--registry", "FILE", CLI_FILE,
        "compare trainings with the defaults of this registry, where a hyperparameter is blank"),
    [OPTION_COLUMNS] = OPTION_ROW_COLUMNS,
    [OPTION_ANONYMOUS] = OPTION_ROW_ANONYMOUS,
    [OPTION_FORCE] = FLAG_ROW(
        NULL, "--force", "with --write and --repeat: replace files that an audit did not write"),
    [OPTION_ALL] = FLAG_ROW(NULL, "--all", "show every experiment, however many there are"),
    [OPTION_VERBOSE] = FLAG_ROW("-v", "--verbose", "show all reasons of each experiment, not two"),
    [OPTION_AS_ROOT] = FLAG_ROW(NULL, "--as-root", "under sudo, stay root"),
};

/* A file of --write: where it goes and what it holds. */
struct output {
    char *folder, *name;
    struct text text;
};

/* At most two for each folder, and audit.json. */
struct outputs {
    struct output *items;
    size_t count;
    struct strv notes; /* said once all is written */
};

static void outputs_fini(struct outputs *outputs)
{
    EACH (item, outputs->items, outputs->count) {
        free(item->folder);
        free(item->name);
        text_fini(&item->text);
    }
    free(outputs->items);
    strv_fini(&outputs->notes);
}

static struct text *outputs_add(struct outputs *outputs, const char *folder, char *name)
{
    struct output *output = &outputs->items[outputs->count++];
    *output = (struct output){.folder = mem_strdup(folder), .name = name};
    return &output->text;
}

/* By what the experiments of a folder are affected, and how many by each: "started after
 * 2025-11-25 01:20:48 (31), ...". */
static char *count_reasons(const struct dataset *dataset, const struct account *account,
                           size_t folder)
{
    AUTO_STRV struct strv names = {0};
    AUTO_TEXT struct text text = {0};
    size_t *counts = mem_array(dataset->count + 1, sizeof *counts);
    EACH (item, dataset->items, dataset->count) {
        bool is_here = item->folder == folder;
        AUTO_FREE char *reason = is_here ? audit_affected_reason(account, item) : NULL;
        if (!reason)
            continue;
        const char *end = strstr(reason, ": "), *next = strstr(reason, "; ");
        end = next && (!end || next < end) ? next : end;
        AUTO_FREE char *name =
            end ? mem_strndup(reason, (size_t)(end - reason)) : mem_strdup(reason);
        strv_add_once(&names, name);
        for (size_t k = 0; k < names.count; k++)
            counts[k] += strcmp(names.items[k], name) == 0;
    }
    for (size_t k = 0; k < names.count; k++)
        text_addf(&text, "%s%s (%zu)", k ? ", " : "", names.items[k], counts[k]);
    free(counts);
    return text_take(&text);
}

static void note_empty(const struct dataset *dataset, const struct account *account, size_t folder,
                       const struct audit_tables *tables, struct outputs *out)
{
    const char *path = dataset->folders[folder].path;
    AUTO_FREE char *reasons = count_reasons(dataset, account, folder);
    if (tables->safe_rows + tables->affected_rows == 0)
        strv_add_owned(&out->notes,
                       mem_printf("%s: both tables are empty, as summary.csv has no rows", path));
    else if (tables->safe_rows == 0)
        strv_add_owned(&out->notes, mem_printf("%s: " AUDIT_SAFE_CSV
                                               " is empty, as all %zu rows are affected: %s",
                                               path, tables->affected_rows, reasons));
    else if (tables->affected_rows == 0)
        strv_add_owned(&out->notes,
                       mem_printf("%s: " AUDIT_AFFECTED_CSV
                                  " is empty, as %snothing speaks against any of the %zu rows",
                                  path,
                                  account->split.found ? "all ended before the moment and " : "",
                                  tables->safe_rows));
}

static bool make_tables(const struct dataset *dataset, const struct account *account, size_t folder,
                        const char *output, struct outputs *out, struct err *err)
{
    const struct dataset_folder *from = &dataset->folders[folder];
    if (from->layout != DATASET_TARE && !from->has_summary) {
        cli_note("%s: no " AUDIT_SAFE_CSV ", as there is no summary.csv", from->path);
        return true;
    }
    AUTO(audit_tables_fini) struct audit_tables tables = {0};
    if (!audit_tables_make(dataset, account, folder, &tables, err))
        return false;
    if (dataset->anonymous) {
        anonymous_csv(dataset->anonymous, &tables.safe);
        anonymous_csv(dataset->anonymous, &tables.affected);
    }
    AUTO_FREE char *base = fs_basename(from->path);
    bool named = output && dataset->folder_count > 1;
    const char *where = output ? output : from->path;
    struct text *safe = outputs_add(
        out, where, mem_printf("%s%s" AUDIT_SAFE_CSV, named ? base : "", named ? "_" : ""));
    struct text *affected = outputs_add(
        out, where, mem_printf("%s%s" AUDIT_AFFECTED_CSV, named ? base : "", named ? "_" : ""));
    note_empty(dataset, account, folder, &tables, out);
    *safe = tables.safe;
    *affected = tables.affected;
    tables.safe = tables.affected = (struct text){0};
    return true;
}

/* audit.json of several folders goes beside the first one. If one file may not be replaced, none is
 * written. */
static bool write_audit_files(const struct dataset *dataset, const struct account *account,
                              const json_t *json, const char *output, bool force, struct err *err)
{
    AUTO(outputs_fini)
    struct outputs outputs = {.items =
                                  mem_array(2 * dataset->folder_count + 1, sizeof(struct output))};
    AUTO_CLOSE int made = output ? fs_make_path(output, 0777, err) : -1;
    if (output && made < 0)
        return false;
    json_print_pretty(json, outputs_add(&outputs, output ? output : dataset->folders[0].path,
                                        mem_strdup("audit.json")));
    for (size_t i = 0; i < dataset->folder_count; i++)
        if (!make_tables(dataset, account, i, output, &outputs, err))
            return false;
    for (size_t i = 0; i < outputs.count && !force; i++)
        if (!written_may_replace(outputs.items[i].folder, outputs.items[i].name, err))
            return false;
    EACH (file, outputs.items, outputs.count) {
        if (!written_write(file->folder, file->name, text_get(&file->text), file->text.length, true,
                           err))
            return false;
        cli_note("%s/%s", file->folder, file->name);
    }
    if (account->split.asked && !account->split.found)
        cli_warning("nothing was split, as the data shows no moment of change: the tables are made "
                    "by the verdicts "
                    "alone. If you know the moment: --split-at '2025-11-25 01:20:48'");
    EACH (item, outputs.notes.items, outputs.notes.count)
        cli_note("%s", *item);
    return true;
}

static bool print_audit(const struct cli_value *values, const struct dataset *dataset,
                        const struct account *account, const json_t *json)
{
    AUTO_TEXT struct text text = {0};
    struct audit_text_options how = {
        .width = isatty(STDOUT_FILENO) ? width_of_terminal(STDOUT_FILENO) : 0,
        .colour = message_colour(STDOUT_FILENO),
        .verbose = values[OPTION_VERBOSE].given,
        .all = values[OPTION_ALL].given};
    if (values[OPTION_JSON].given)
        json_print_pretty(json, &text);
    else
        audit_text(dataset, account, &how, &text);
    if (dataset->anonymous && !values[OPTION_JSON].given) {
        AUTO_TEXT struct text replaced = {0};
        anonymous_text(dataset->anonymous, text_get(&text), &replaced);
        return message_print(&replaced);
    }
    return message_print(&text);
}

/* What is in a folder that was judged belongs to what was judged. */
static bool may_replace(const struct dataset *dataset, const char *file, struct err *err)
{
    AUTO_FREE char *path = realpath(file, NULL);
    for (size_t i = 0; path && fs_is_file(path) && i < dataset->folder_count; i++) {
        AUTO_FREE char *folder = realpath(dataset->folders[i].path, NULL);
        size_t length = folder ? strlen(folder) : 0;
        if (length > 0 && strncmp(path, folder, length) == 0 && path[length] == '/')
            return err_set(err,
                           "--repeat: %s is a file of what was judged; name another, or replace it "
                           "with --force",
                           file);
    }
    return true;
}

/* A run of this program is better repeated in its own folder, by run --rerun-contaminated; the
 * study's have no plan. */
static bool write_repeat(const struct dataset *dataset, const char *file, bool force,
                         struct err *err)
{
    size_t count;
    AUTO_STRV struct strv left_out = {0};
    AUTO_TEXT struct text text = {0};
    json_print_taken(repeat_settings(dataset, &count, &left_out), &text);
    AUTO_FREE char *ids = strv_join(&left_out, ", ");
    if (left_out.count)
        cli_warning("not to be repeated, as it is not known what was trained: %s", ids);
    if (count == 0) {
        cli_note("%s is not written: there is nothing to repeat", file);
        return true;
    }
    if (!force && !may_replace(dataset, file, err))
        return false;
    if (!fs_write_output(file, text_get(&text), text.length, err))
        return false;
    AUTO_FREE char *typed = shell_words_path(file);
    cli_note("to repeat %zu experiment%s: %s run %s --config REGISTRY.json", count,
             count == 1 ? "" : "s", TARE_NAME, typed);
    return true;
}

static int audit(const struct cli_value *values, const struct dataset *dataset,
                 const struct criteria *expectations)
{
    struct err err = {0};
    AUTO(account_fini) struct account account = {0};
    bool force = values[OPTION_FORCE].given;
    if (!account_make(dataset, values[OPTION_SPLIT].text, &account, &err))
        return cli_failed(CLI_USAGE, &err);
    json_t *held = json_array(), *json = NULL;
    int code = expectations_check(expectations, dataset, held);
    if (values[OPTION_JSON].given || values[OPTION_WRITE].given) {
        json = audit_json(dataset, &account);
        json_object_set(json, "expectations", held);
        if (dataset->anonymous)
            anonymous_json(dataset->anonymous, json);
    }
    if (!print_audit(values, dataset, &account, json))
        code = CLI_BROKEN;
    if (values[OPTION_WRITE].given &&
        !write_audit_files(dataset, &account, json, values[OPTION_OUTPUT].text, force, &err))
        code = cli_failed(CLI_BROKEN, &err);
    if (values[OPTION_REPEAT].given &&
        !write_repeat(dataset, values[OPTION_REPEAT].text, force, &err))
        code = cli_failed(CLI_BROKEN, &err);
    json_decref(held);
    json_decref(json);
    return code;
}

static int run_audit(const struct cli_call *call)
{
    struct err err = {0};
    const struct cli_value *values = call->values;
    AUTO(dataset_fini) struct dataset dataset = {0};
    AUTO(criteria_fini) struct criteria expectations = {0};
    if (values[OPTION_OUTPUT].given && !values[OPTION_WRITE].given)
        return cli_usage_error(call->command, "--output goes with --write only");
    if (values[OPTION_ANONYMOUS].given && values[OPTION_REPEAT].given)
        return cli_usage_error(call->command,
                               "--anonymous does not go with --repeat, whose settings must name "
                               "what is trained");
    if (values[OPTION_EXPECT].given &&
        !criteria_parse(values[OPTION_EXPECT].text, &expectations, &err))
        return cli_usage_error(call->command, "%s", err.text);
    AUTO_STRV struct strv columns = {0};
    option_names(values[OPTION_COLUMNS].text, &columns);
    if (!plain_table_check_columns(&columns, &err))
        return cli_usage_error(call->command, "%s", err.text);
    dataset.columns = &columns;
    int read = reading_folders(call->operands.items, call->operands.count,
                               values[OPTION_REGISTRY].text, &dataset);
    if (read != CLI_OK)
        return read;
    if (!criteria_match(&expectations, &dataset, &err))
        return cli_usage_error(call->command, "%s", err.text);
    if (values[OPTION_ANONYMOUS].given)
        dataset.anonymous = anonymous_new(&dataset);
    int code = audit(values, &dataset, &expectations);
    anonymous_free(dataset.anonymous);
    return code;
}

static const char *const usage[] = {"audit [DIR]... [options]", NULL};

static const char *const description[] = {
    "Reads results folders, of this program or in the study's layout, and gives each experiment a "
    "verdict: clean, "
    "unverified, suspect or contaminated, with the evidence. GPU energy is computed anew from the "
    "time-stamps of the "
    "samples, with its uncertainty, beside the recorded sum.",
    "Nothing in a folder is changed, but for the files of --write. What the verdicts rest on is in "
    "docs/reference/judging.md.",
    "What is not clean is repeated by 'run --rerun-contaminated' in a run of this program; "
    "--repeat writes settings "
    "that do it for other results, whose registry 'run' then needs.",
    CRITERIA_HELP, NULL};

static const char *const exits[] = {
    "0", "audited, whatever was found", "1", "a criterion of --expect does not hold",
    "2", "a mistake in the options",    "3", "a folder cannot be read, or the files not be written",
    NULL};

static const char *const examples[] = {
    "audit results/run_20261121_093000",
    "judge every experiment of a run",
    "audit results/run_20261121_093000 --expect 'clean_share>=90%'",
    "end with 1 when fewer than 90 % are clean",
    NULL,
};

const struct cli_command cmd_audit = {
    .name = "audit",
    .group = CLI_GROUP_JUDGE,
    .summary = "judge the experiments of a results folder",
    .operand_max = SIZE_MAX,
    .operand_name = "DIR",
    .operand_default = "latest",
    .reads_runs = true,
    COMMAND_TABLES,
    .run = run_audit,
};
