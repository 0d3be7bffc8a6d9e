/* collect: what a submitted run's tasks recorded, as a run. */
#include "base/cleanup.h"
#include "base/json_print.h"
#include "base/mem.h"
#include "report/closing_lanes.h"
#include "report/live/width.h"
#include "results/store/results.h"
#include "results/store/results_json.h"
#include "results/store/usage.h"
#include "session/caller.h"
#include "session/command.h"
#include "session/message.h"
#include "session/report_page.h"
#include "session/run_folder.h"
#include "session/submit.h"
#include "slurm/collect.h"

#include <string.h>
#include <unistd.h>

enum { OPTION_JSON, OPTION_AS_ROOT, OPTION_COUNT };

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_JSON] = FLAG_ROW(NULL, "--json", "as JSON"),
    [OPTION_AS_ROOT] =
        FLAG_ROW(NULL, "--as-root", "under sudo: stay root instead of becoming the caller"),
};

static bool is_complete(const struct collected *collected)
{
    EACH (item, collected->items, collected->plan.count)
        if (collect_is_missing(item->state))
            return false;
    return true;
}

static void write_collected_page(int dir, const char *run_dir)
{
    struct err err = {0};
    const struct report_options how = {.dir = &dir,
                                       .language = report_page_language(),
                                       .rows = AUDIT_ROWS_CONSISTENT,
                                       .fills_summary = true};
    json_auto_t *run = results_read_json(run_dir, &err);
    if (!run || !report_page_write(run, run_dir, &how, &err))
        cli_warning("there is no report.html: %s", err.text);
}

/* Their names come from the nodes, each line is made here. */
static void add_legible_lines(const struct text *lines, struct text *out)
{
    const char *line = text_get(lines), *end;
    for (; (end = strchr(line, '\n')); line = end + 1) {
        collected_add_legible(out, line, (size_t)(end - line));
        text_add_char(out, '\n');
    }
}

static int show_collected(const struct collected *collected, const char *run_dir,
                          const struct lane_uses *lanes, bool as_json)
{
    AUTO_TEXT struct text text = {0};
    AUTO_TEXT struct text of_lanes = {0};
    if (as_json) {
        json_t *json = collected_json(collected, run_dir);
        json_object_set_new(json, "lanes", lane_uses_json(lanes));
        json_print_taken(json, &text);
    } else {
        const struct results results = {.lanes = *lanes};
        const struct closing_options how = {
            .run_dir = run_dir,
            .width = isatty(STDOUT_FILENO) ? width_of_terminal(STDOUT_FILENO) : 0};
        collected_text(collected, run_dir, &text);
        closing_add_lanes(&results, &how, &of_lanes);
        add_legible_lines(&of_lanes, &text);
    }
    if (!message_print(&text))
        return CLI_BROKEN;
    return is_complete(collected) ? CLI_OK : CLI_SOME_FAILED;
}

/* Why something is missing; without submit.json nobody knows which jobs to ask for. */
static void find_task_statuses(int dir, const struct strv *env, struct collected *collected)
{
    struct err err = {0};
    AUTO_FREE char *note = NULL;
    AUTO(submission_fini) struct submission submission = {0};
    if (submission_read(dir, &submission, &err))
        task_statuses_find(dir, env, &submission, collected, &note);
    else
        note = mem_strdup(err.text);
    if (note && !is_complete(collected))
        cli_note("what became of the missing ones Slurm does not say: %s", note);
}

static int collect_and_show(const struct cli_call *call, const struct strv *env)
{
    struct err err = {0};
    AUTO_FREE char *path = NULL;
    AUTO(collected_fini) struct collected collected = {0};
    AUTO_CLOSE int dir = run_folder_open_named(call->operands.items[0], &path, &err);
    if (dir < 0 || !collect_run(dir, path, &collected, &err))
        return cli_failed(CLI_BROKEN, &err);
    AUTO(results_fini) struct results results = {0};
    write_collected_page(dir, path);
    results_read(path, &results, &err);
    find_task_statuses(dir, env, &collected);
    return show_collected(&collected, path, &results.lanes, call->values[OPTION_JSON].given);
}

static int run_collect(const struct cli_call *call)
{
    return collect_and_show(call, &call->caller->environment);
}

static const char *const usage[] = {"collect RUN_DIR [options]", NULL};

static const char *const description[] = {
    "Makes run.db, summary.csv, events.jsonl, the experiments' folders and report.html of a run "
    "that was submitted, "
    "from what its tasks recorded so far, and names what is missing, why (as far as Slurm's queue, "
    "its accounting or "
    "the tasks' logs tell), and the machines that took part. It may be done while tasks run, and "
    "again: the result is "
    "the same.",
    NULL};

static const char *const exits[] = {
    "0", "every experiment is done",
    "1", "something is missing",
    "2", "a mistake on the command line",
    "3", "the folder is none of a submitted run, or cannot be written",
    NULL};

static const char *const examples[] = {
    "collect results/run_20261121_093000",
    "make run.db, summary.csv and the page of a submitted run",
    "collect results/run_20261121_093000 --json",
    "the same; print what is missing as JSON",
    NULL,
};

const struct cli_command cmd_collect = {
    .name = "collect",
    .group = CLI_GROUP_CLUSTER,
    .summary = "put together what a submitted run's tasks recorded",
    .operand_min = 1,
    .operand_max = 1,
    .operand_name = "RUN_DIR",
    .reads_runs = true,
    COMMAND_TABLES,
    .run = run_collect,
};
