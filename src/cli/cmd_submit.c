/* submit: a run that Slurm's machines do, one task an experiment. */
#include "base/clock.h"
#include "base/fs_path.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/shell_words.h"
#include "cli/option_rows.h"
#include "plan/plan_json.h"
#include "session/caller.h"
#include "session/command.h"
#include "session/message.h"
#include "session/run_folder.h"
#include "session/submit.h"
#include "slurm/slurm.h"
#include "slurm/tasks.h"
#include "tare_build.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OPTION_CONFIG,
    OPTION_SEED,
    OPTION_STRICT,
    OPTION_SET,
    OPTION_OUTPUT,
    OPTION_AT_ONCE,
    OPTION_DRY_RUN,
    OPTION_RESUME,
    OPTION_RERUN,
    OPTION_JSON,
    OPTION_AS_ROOT,
    OPTION_COUNT
};

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_CONFIG] = OPTION_ROW_REGISTRY(OPTION_REGISTRY_OF_PLAN),
    [OPTION_SEED] = OPTION_ROW_SEED(OPTION_SEED_OF_PLAN),
    [OPTION_STRICT] = OPTION_ROW_STRICT,
    [OPTION_SET] = OPTION_ROW_SET,
    [OPTION_OUTPUT] =
        OPTION_ROW_RESULTS("the folder in which the run gets its own; every machine must see it"),
    [OPTION_AT_ONCE] =
        VALUE_ROW(NULL, "--at-once", "TASKS", CLI_INT, "so many tasks at the same time at most",
                  .low = 1, .high = 1000000),
    [OPTION_DRY_RUN] =
        FLAG_ROW(NULL, "--dry-run", "print the script for sbatch, and submit nothing"),
    [OPTION_RESUME] = VALUE_ROW(NULL, "--resume", "RUN_DIR", CLI_FOLDER,
                                "submit what is missing of a submitted run, and no more"),
    [OPTION_RERUN] = FLAG_ROW(
        NULL, "--rerun-contaminated",
        "with --resume: submit the experiments anew whose verdict is not clean, and no others"),
    [OPTION_JSON] = FLAG_ROW(NULL, "--json", "each submitted array as a line of JSON"),
    [OPTION_AS_ROOT] =
        FLAG_ROW(NULL, "--as-root", "under sudo: stay root instead of becoming the caller"),
};

static char *absolute_of(const char *path)
{
    AUTO_FREE char *cwd = get_current_dir_name();
    return fs_resolve(cwd, path, NULL);
}

/* What follows "--": what comes before it is ours. */
static bool sbatch_options(const struct cli_call *call, size_t from, struct strv *out,
                           struct err *err)
{
    for (size_t i = from; i < call->operands.count; i++)
        strv_add(out, call->operands.items[i]);
    if (out->count > 0 && out->items[0][0] != '-')
        return err_set(
            err, "unexpected argument '%s'; options of sbatch come behind --, and begin with -",
            out->items[0]);
    return true;
}

/* A name for the queue, of letters that no program reads anything into, unlike that of any other
 * run. */
static char *queue_name(const char *path)
{
    AUTO_FREE char *base = fs_basename(path);
    for (char *c = base; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_' && *c != '.')
            *c = '-';
    return mem_printf("%s-%s-%04x", TARE_NAME, base, (unsigned)(rng_fresh_seed() & 0xffff));
}

static bool make_run(const struct cli_call *call, const struct run_input *input,
                     struct submitted *out, struct err *err)
{
    struct store_head head = {
        .plan = &input->plan,
        .settings_text = input->settings_text,
        .settings_length = strlen(input->settings_text),
        .registry_text = input->registry.doc.text,
        .registry_length = input->registry.doc.length,
    };
    out->dir = run_folder_new(call->values[OPTION_OUTPUT].text, "run", clock_realtime_ns(),
                              &out->path, err);
    if (out->dir < 0)
        return false;
    out->absolute = absolute_of(out->path);
    out->submission.name = queue_name(out->path);
    return tasks_make(out->dir, &head, err) && submission_write(out->dir, &out->submission, err) &&
           collect_run(out->dir, out->path, &out->collected, err);
}

static size_t at_once(const struct cli_call *call)
{
    return call->values[OPTION_AT_ONCE].given ? (size_t)call->values[OPTION_AT_ONCE].integer : 0;
}

/* only: which of the missing experiments; NULL: all. */
static int submit(const struct cli_call *call, const struct strv *env, struct submitted *submitted,
                  const bool *only)
{
    struct err err = {0};
    struct submit_options how = {.env = env,
                                 .at_once = at_once(call),
                                 .only = only,
                                 .json = call->values[OPTION_JSON].given};
    AUTO_FREE char *typed = shell_words_path(submitted->path);
    if (!submit_missing(submitted, &how, &err)) {
        cli_error("%s", err.text);
        cli_note("the run is in %s; go on with: %s submit --resume %s", submitted->path, TARE_NAME,
                 typed);
        return CLI_BROKEN;
    }
    if (!how.json)
        message_printf("results: %s\nto see them at any time: %s collect %s\n", submitted->path,
                       TARE_NAME, typed);
    return CLI_OK;
}

static void apply_slurm_config(struct submitted *submitted, const struct slurm_config *config)
{
    submitted->submission.kill_wait_s = config->kill_wait_s;
    submitted->submission.array_size = config->array_size;
    submitted->has_gpus = config->has_gpus;
}

/* A list of GPUs is one of this machine's. */
static void warn_of_gpus(const struct plan *plan)
{
    const char *gpus = plan->pool.gpus;
    if (gpus && strcmp(gpus, "all") != 0 && strcmp(gpus, "none") != 0)
        cli_warning(
            "'gpus' is \"%s\" in the settings, which is ignored: Slurm says which GPUs a task gets",
            gpus);
    if (plan->pool.per_experiment == 0 && !(gpus && strcmp(gpus, "none") == 0))
        cli_note("'gpus_per_experiment' is \"all\": how many GPUs a task gets say options for "
                 "sbatch (--gres=gpu:4)");
}

/* The plan stays the caller's. */
static int show_submit_plan(const struct cli_call *call, const struct plan *plan,
                            struct submitted *submitted)
{
    AUTO_TEXT struct text text = {0};
    AUTO_FREE char *where = mem_printf("%s/run_YYYYMMDD_HHMMSS", call->values[OPTION_OUTPUT].text);
    submitted->absolute = absolute_of(where);
    submitted->collected.plan = *plan;
    submit_show(submitted, at_once(call), &text);
    submitted->collected.plan = (struct plan){0};
    return message_print_exact(&text) ? CLI_OK : CLI_BROKEN;
}

static int submit_new(const struct cli_call *call, const struct strv *env,
                      const struct run_input *input)
{
    struct err err = {0};
    struct slurm_config config = slurm_config_parse("");
    AUTO(submitted_fini) struct submitted submitted = {.dir = -1};
    if (!sbatch_options(call, 1, &submitted.submission.options, &err))
        return cli_usage_error(call->command, "%s", err.text);
    if (run_budget_is_set(&input->plan.budget)) {
        cli_error(
            "the settings have a budget for the whole run (energy_budget, time_budget), and tasks "
            "of Slurm do not know "
            "what the others use: take it out, and limit the tasks by options of sbatch (--time); "
            "nothing was "
            "submitted");
        return CLI_USAGE;
    }
    bool dry = call->values[OPTION_DRY_RUN].given, answers = slurm_config_read(env, &config, &err);
    apply_slurm_config(&submitted, &config);
    warn_of_gpus(&input->plan);
    if (dry && !answers)
        cli_note("%s; the script is for a cluster as Slurm comes", err.text);
    if (dry) {
        int code = show_submit_plan(call, &input->plan, &submitted);
        bool refused = !answers && err.code == ENOENT;
        return fs_can_make_path(call->values[OPTION_OUTPUT].text, &err)
                   ? (refused ? CLI_BROKEN : code)
                   : cli_failed(CLI_BROKEN, &err);
    }
    /* With a controller that is away the plan is fixed all the same: it is submitted by --resume
     * later. */
    if ((!answers && err.code == ENOENT) || !make_run(call, input, &submitted, &err))
        return cli_failed(CLI_BROKEN, &err);
    return submit(call, env, &submitted, NULL);
}

static int plan_and_submit(const struct cli_call *call, const struct strv *env)
{
    const struct cli_value *values = call->values;
    if (call->operands.count == 0 || call->operands.items[0][0] == '-')
        return cli_usage_error(call->command,
                               "what to submit? Give a settings file, or --resume RUN_DIR");
    struct run_options how = {
        .for_other_machine = true,
        .settings_path = call->operands.items[0],
        .changes = {.sets = &values[OPTION_SET].all, .strict = values[OPTION_STRICT].given},
        .registry_path = values[OPTION_CONFIG].text,
        .has_seed = values[OPTION_SEED].given,
        .seed = (uint64_t)values[OPTION_SEED].integer,
        .for_running = true,
    };
    AUTO(run_input_fini) struct run_input input = {0};
    run_input_read(&how, &input);
    int code = CLI_USAGE;
    run_input_say(&input, false);
    if (input.problems.errors > 0)
        message_problem_count(&input.problems);
    else if (input.plan.count == 0)
        cli_error("the plan holds no experiments; nothing was submitted");
    else
        code = submit_new(call, env, &input);
    return code;
}

static int submit_rest(const struct cli_call *call, const struct strv *env)
{
    struct err err = {0};
    struct slurm_config config;
    AUTO_FREE bool *only = NULL;
    AUTO_STRV struct strv of_sbatch = {0};
    bool rerun = call->values[OPTION_RERUN].given, json = call->values[OPTION_JSON].given;
    AUTO(submitted_fini) struct submitted submitted = {.dir = -1};
    if (!sbatch_options(call, 0, &of_sbatch, &err))
        return cli_usage_error(call->command, "%s", err.text);
    submitted.dir = run_folder_open(call->values[OPTION_RESUME].text, &submitted.path, &err);
    if (submitted.dir < 0 ||
        !collect_run(submitted.dir, submitted.path, &submitted.collected, &err) ||
        !submission_read(submitted.dir, &submitted.submission, &err) ||
        (rerun && !submit_plan_again(&submitted, json, &only, &err)))
        return cli_failed(CLI_USAGE, &err);
    submitted.absolute = absolute_of(submitted.path);
    if (of_sbatch.count > 0) {
        strv_fini(&submitted.submission.options);
        strv_add_all(&submitted.submission.options, &of_sbatch);
    }
    if (rerun && !only) {
        if (!json)
            message_printf("nothing to repeat: no result in %s has a verdict that is not clean\n",
                           submitted.path);
        return CLI_OK;
    }
    if (slurm_config_read(env, &config, &err))
        apply_slurm_config(&submitted, &config);
    return submit(call, env, &submitted, only);
}

static int run_submit(const struct cli_call *call)
{
    const struct strv *env = &call->caller->environment;
    if (call->values[OPTION_RERUN].given && !call->values[OPTION_RESUME].given)
        return cli_usage_error(call->command, "--rerun-contaminated goes with --resume RUN_DIR");
    return call->values[OPTION_RESUME].given ? submit_rest(call, env) : plan_and_submit(call, env);
}

static const char *const usage[] = {"submit SETTINGS.json [options] [-- SBATCH_OPTIONS]",
                                    "submit --resume RUN_DIR [options] [-- SBATCH_OPTIONS]", NULL};

static const char *const description[] = {
    "Plans the experiments as 'run' does, writes the run's folder, and hands them to Slurm as one "
    "array job with a "
    "task for each. Each task checks its GPU before and after, keeps its own journal, and proves "
    "that nothing is "
    "left. The folder must be on a file system that all machines see.",
    "What follows -- is for sbatch, and counts over the script's own lines: a partition, GPUs, a "
    "dependency, a time "
    "limit. Without one the time limit comes from the timeouts of the settings, and where the "
    "cluster deals out GPUs "
    "a task asks for as many as 'gpus_per_experiment' says. After a node's failure, a preemption "
    "or 'scontrol "
    "requeue' a task begins again and goes on with what it had recorded.",
    "'collect' makes run.db, summary.csv and all that other commands read of a run, at any time. "
    "--resume collects, "
    "then submits what neither is done nor in the queue. With --rerun-contaminated it submits the "
    "experiments anew "
    "whose verdict is not clean, and no others; the result of each stands until its new one has "
    "come.",
    NULL};

static const char *const exits[] = {
    "0", "submitted, or nothing was missing",
    "2", "a mistake in options, settings or registry: nothing was submitted",
    "3", "Slurm did not take all of it, or the folder cannot be written",
    NULL};

static const char *const examples[] = {
    "submit settings.json -- --partition=gpu --time=2:00:00",
    "submit a run with two options for sbatch",
    "submit --resume results/run_20261121_093000",
    "submit again what is missing",
    NULL,
};

const struct cli_command cmd_submit = {
    .name = "submit",
    .group = CLI_GROUP_CLUSTER,
    .summary = "hand a run to Slurm, one task an experiment",
    .foreign_options = "sbatch",
    .operand_min = 0,
    .operand_max = SIZE_MAX,
    .operand_name = "SETTINGS.json",
    COMMAND_TABLES,
    .run = run_submit,
};
