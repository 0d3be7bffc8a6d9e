/* export: the tables of results folders, for other programs. */
#include "base/mem.h"
#include "base/written.h"
#include "cli/option_rows.h"
#include "results/judge/anonymous.h"
#include "results/judge/export.h"
#include "results/judge/mlflow.h"
#include "results/judge/plain_table.h"
#include "results/judge/rows.h"
#include "session/command.h"
#include "session/message.h"
#include "session/run_folder.h"

#include <string.h>

enum {
    OPTION_OUTPUT,
    OPTION_TABLE,
    OPTION_FORMAT,
    OPTION_EXACT,
    OPTION_MLFLOW,
    OPTION_ONLY,
    OPTION_COLUMNS,
    OPTION_ANONYMOUS,
    OPTION_FORCE,
    OPTION_AS_ROOT,
    OPTION_COUNT
};

static const char *const tables[] = {"experiments", "attempts", "epochs",   "hyperparameters",
                                     "metrics",     "history",  "evidence", "samples",
                                     "wide",        NULL};
static const char *const formats[] = {"csv", "jsonl", NULL};

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_OUTPUT] = VALUE_ROW("-o", "--output", "DIR", CLI_FOLDER,
                                "write every table into this folder, each a file of its own"),
    [OPTION_TABLE] =
        VALUE_ROW(NULL, "--table", "TABLE", CLI_CHOICE, "without --output: the table to print",
                  .choices = tables, .default_text = "experiments"),
    [OPTION_FORMAT] =
        VALUE_ROW(NULL, "--format", "FORMAT", CLI_CHOICE, "CSV, or JSON Lines: an object a line",
                  .choices = formats, .default_text = "csv"),
    [OPTION_EXACT] = FLAG_ROW(
        NULL, "--exact",
        "CSV for programs: cells that a spreadsheet takes for a formula get no apostrophe"),
    [OPTION_MLFLOW] =
        VALUE_ROW(NULL, "--mlflow", "DIR", CLI_FOLDER,
                  "write an MLflow file store: params, metrics and tags of each experiment"),
    [OPTION_ONLY] = OPTION_ROW_ONLY(NULL, OPTION_ONLY_HELP "; without it, failures too"),
    [OPTION_COLUMNS] = OPTION_ROW_COLUMNS,
    [OPTION_ANONYMOUS] = OPTION_ROW_ANONYMOUS,
    [OPTION_FORCE] =
        FLAG_ROW(NULL, "--force",
                 "replace files that this program did not write, or write into a folder of others"),
    [OPTION_AS_ROOT] = FLAG_ROW(NULL, "--as-root", "under sudo, stay root"),
};

static bool flush_to_file(void *context, struct text *text, struct err *err)
{
    const struct fs_unfinished *file = context;
    return fs_write_all(file->fd, text_get(text), text->length, err);
}

static bool flush_to_stdout(void *context, struct text *text, struct err *err)
{
    (void)context;
    (void)err; /* it was said */
    return message_print_exact(text);
}

/* Replaces a link of that name instead of following it: only the folder is the user's choice. */
static bool write_table(const struct dataset *dataset, enum export_table table, int dir,
                        const char *name, enum export_format format, struct err *err)
{
    struct fs_unfinished file;
    bool ok = fs_unfinished_begin(dir, &file, err) &&
              export_make(dataset, table, format, flush_to_file, &file, err) &&
              fs_unfinished_publish(&file, name, true, err);
    fs_unfinished_drop(&file);
    return ok || err_wrap(err, "%s", name);
}

static char *file_name(int table, enum export_format format)
{
    return mem_printf("%s.%s", export_table_name((enum export_table)table),
                      format == EXPORT_JSON_LINES ? "jsonl" : "csv");
}

/* Writes all tables or, if one would replace a file that is not ours, none. */
static bool export_tables(const struct dataset *dataset, const char *output,
                          enum export_format format, bool force, struct err *err)
{
    AUTO_CLOSE int dir = fs_make_path(output, 0777, err);
    if (dir < 0)
        return false;
    for (int i = 0; i < EXPORT_TABLES && !force; i++) {
        AUTO_FREE char *name = file_name(i, format);
        if (!written_may_replace(output, name, err))
            return false;
    }
    for (int i = 0; i < EXPORT_TABLES; i++) {
        AUTO_FREE char *name = file_name(i, format);
        if (!write_table(dataset, (enum export_table)i, dir, name, format, err) ||
            !written_record(output, name, err))
            return err_wrap(err, "%s", output);
        cli_note("%s/%s", output, name);
    }
    return true;
}

static bool print_one(const struct dataset *dataset, const char *name, enum export_format format,
                      struct err *err)
{
    for (int i = 0; i < EXPORT_TABLES; i++)
        if (strcmp(export_table_name((enum export_table)i), name) == 0)
            return export_make(dataset, (enum export_table)i, format, flush_to_stdout, NULL, err);
    return err_set(err, "there is no table %s", name);
}

static bool write_store(const struct dataset *dataset, const struct cli_value *values,
                        struct err *err)
{
    const char *folder = values[OPTION_MLFLOW].text;
    size_t written;
    if (!mlflow_write(dataset, folder, values[OPTION_FORCE].given, &written, err))
        return false;
    cli_note("%s: %zu experiment%s", folder, written, written == 1 ? "" : "s");
    return true;
}

static void keep_only(struct dataset *dataset, enum audit_rows rows)
{
    AUTO_STRV struct strv ids = {0};
    AUTO_FREE bool *kept = mem_array(dataset->count + 1, sizeof *kept);
    for (size_t i = 0; i < dataset->count; i++)
        kept[i] = dataset->items[i].success && audit_counts(dataset, &dataset->items[i], rows);
    dataset_keep(dataset, kept, &ids);
    if (ids.count)
        cli_note("left out by --only: %zu experiment%s", ids.count, ids.count == 1 ? "" : "s");
}

/* NULL: they go together. */
static const char *contradiction(const struct cli_call *call)
{
    const struct cli_value *values = call->values;
    if (values[OPTION_OUTPUT].given && values[OPTION_TABLE].given)
        return "--table prints one table, --output writes all: not both";
    if (values[OPTION_MLFLOW].given && (values[OPTION_OUTPUT].given || values[OPTION_TABLE].given ||
                                        values[OPTION_FORMAT].given || values[OPTION_EXACT].given))
        return "--mlflow writes no tables: export those with a second command";
    if (values[OPTION_MLFLOW].given && values[OPTION_ANONYMOUS].given)
        return "--anonymous does not go with --mlflow, whose files name the folder that they are "
               "in: export tables";
    return NULL;
}

static int run_export(const struct cli_call *call)
{
    struct err err = {0};
    const struct cli_value *values = call->values;
    AUTO(dataset_fini) struct dataset dataset = {0};
    bool json_lines = strcmp(values[OPTION_FORMAT].text, "jsonl") == 0,
         exact = values[OPTION_EXACT].given, ok;
    enum export_format format = json_lines ? EXPORT_JSON_LINES : exact ? EXPORT_EXACT : EXPORT_CSV;
    if (contradiction(call))
        return cli_usage_error(call->command, "%s", contradiction(call));
    const char *table = values[OPTION_TABLE].text;
    AUTO_STRV struct strv columns = {0};
    option_names(values[OPTION_COLUMNS].text, &columns);
    if (!plain_table_check_columns(&columns, &err))
        return cli_usage_error(call->command, "%s", err.text);
    dataset.columns = &columns;
    int code = reading_rows(call->operands.items, call->operands.count, &dataset);
    if (code != CLI_OK)
        return code;
    if (values[OPTION_ONLY].given)
        keep_only(&dataset, audit_rows_named(values[OPTION_ONLY].text));
    if (values[OPTION_ANONYMOUS].given)
        dataset.anonymous = anonymous_new(&dataset);
    if (values[OPTION_MLFLOW].given)
        ok = write_store(&dataset, values, &err);
    else
        ok = values[OPTION_OUTPUT].given ? export_tables(&dataset, values[OPTION_OUTPUT].text,
                                                         format, values[OPTION_FORCE].given, &err)
                                         : print_one(&dataset, table, format, &err);
    anonymous_free(dataset.anonymous);
    if (!ok && err.text[0])
        cli_error("%s", err.text);
    return ok ? CLI_OK : CLI_BROKEN;
}

static const char *const usage[] = {"export [DIR]... [options]", NULL};

static const char *const description[] = {
    "Prints or writes the tables of results folders, of this program or in the study's layout, for "
    "pandas, R and "
    "others: one row for each experiment, hyperparameter, metric or piece of evidence, to be "
    "joined by folder and "
    "experiment_id, or all of an experiment in one row (wide). What is absent is an empty cell, or "
    "null. "
    "docs/reference/judging.md lists the columns.",
    "--mlflow writes all experiments that have ended; the same experiments give the same files "
    "again. "
    "docs/reference/judging.md says what goes where, and reads the tables with pandas and R.",
    NULL};

static const char *const exits[] = {"0", "done",
                                    "2", "a mistake in the options",
                                    "3", "a folder cannot be read, or a file not be written",
                                    NULL};

static const char *const examples[] = {
    "export results/run_20261121_093000 -o tables",
    "write every table of a run as a CSV file",
    "export results/run_20261121_093000 --table epochs --format jsonl",
    "print the epochs as JSON Lines",
    "export results/run_20261121_093000 --table wide",
    "print a row for each experiment, with its hyperparameters, metrics, verdicts and energies",
    "export results/run_20261121_093000 --mlflow mlruns",
    "write a store that mlflow ui opens",
    "export results/run_20261121_093000 --table history",
    "print the learning curves: a row for each match of a metric",
    NULL,
};

const struct cli_command cmd_export = {
    .name = "export",
    .group = CLI_GROUP_JUDGE,
    .summary = "a results folder as tidy tables",
    .operand_max = SIZE_MAX,
    .operand_name = "DIR",
    .operand_default = "latest",
    .reads_runs = true,
    COMMAND_TABLES,
    .run = run_export,
};
