/* tare run: plans experiments from settings or options and runs, resumes or collects them. */
#include "base/fs_path.h"
#include "base/mem.h"
#include "base/shell_words.h"
#include "cli/list.h"
#include "cli/option_rows.h"
#include "cli/study_call.h"
#include "plan/config/size.h"
#include "report/live/estimate.h"
#include "report/plan_text.h"
#include "session/command.h"
#include "session/message.h"
#include "session/run_input.h"
#include "session/run_resources.h"
#include "session/run_session.h"
#include "session/script.h"
#include "session/submit.h"
#include "tare_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OPTION_SETTINGS,
    OPTION_REPO,
    OPTION_MODEL,
    OPTION_MUTATE,
    OPTION_RUNS,
    OPTION_SET,
    OPTION_GOVERNOR,
    OPTION_MAX_RETRIES,
    OPTION_COOLDOWN,
    OPTION_CONFIG,
    OPTION_SEED,
    OPTION_LIST,
    OPTION_STRICT,
    OPTION_DRY_RUN,
    OPTION_OUTPUT,
    OPTION_RESUME,
    OPTION_RERUN,
    OPTION_RERUN_UNCLEAN,
    OPTION_TASK,
    OPTION_QUIET,
    OPTION_VERBOSE,
    OPTION_JSON,
    OPTION_CONTAINMENT,
    OPTION_GPU_LOCK,
    OPTION_NO_CALIBRATE,
    OPTION_GPUS,
    OPTION_ENERGY_BUDGET,
    OPTION_TIME_BUDGET,
    OPTION_METRICS_TEXTFILE,
    OPTION_NO_PROBE,
    OPTION_HELP_TIMEOUT,
    OPTION_AS_ROOT,
    OPTION_COUNT
};

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_SETTINGS] =
        VALUE_ROW("-ec", "--experiment-config", "FILE", CLI_FILE, "the settings: what to run"),
    [OPTION_REPO] =
        VALUE_ROW("-r", "--repo", "REPO", CLI_TEXT, "without settings: the repository to train"),
    [OPTION_MODEL] = VALUE_ROW("-m", "--model", "MODEL", CLI_TEXT, "without settings: its model"),
    [OPTION_MUTATE] = VALUE_ROW("-mt", "--mutate", "NAMES", CLI_TEXT,
                                "without settings: the hyperparameters to mutate, as a,b,c or all; "
                                "not given: none, each run takes the "
                                "defaults"),
    [OPTION_RUNS] = VALUE_ROW(
        "-n", "--runs", "RUNS", CLI_INT,
        "how many experiments; 1 when not given; with settings: over runs_per_config of the file "
        "and of each entry that "
        "does not say 0",
        .low = 0, .high = 1000000),
    [OPTION_SET] = OPTION_ROW_SET,
    [OPTION_GOVERNOR] =
        VALUE_ROW("-g", "--governor", "GOVERNOR", CLI_TEXT,
                  "the CPU frequency governor that is set meanwhile; over what the settings say"),
    [OPTION_MAX_RETRIES] = VALUE_ROW("-mr", "--max-retries", "MAX_RETRIES", CLI_INT,
                                     "how often a failed experiment is tried again; 2 when not "
                                     "given; over what the settings say",
                                     .low = 0, .high = 1000),
    [OPTION_COOLDOWN] =
        VALUE_ROW(NULL, "--cooldown", "MODE", CLI_CHOICE,
                  "pauses between trainings on GPUs: fixed: 60 s, 30 s before a retry, or as the "
                  "settings say; adaptive: until "
                  "the GPUs are idle and cool, 5 seconds to 5 minutes; over what the settings say",
                  .choices = cooldown_modes),
    [OPTION_CONFIG] = OPTION_ROW_REGISTRY(OPTION_REGISTRY_OF_PLAN),
    [OPTION_SEED] = OPTION_ROW_SEED(OPTION_SEED_OF_PLAN),
    [OPTION_LIST] = FLAG_ROW("-l", "--list", "show what the registry offers, and run nothing"),
    [OPTION_STRICT] = OPTION_ROW_STRICT,
    [OPTION_DRY_RUN] = FLAG_ROW(NULL, "--dry-run",
                                "show the whole plan with every command line, make every check "
                                "that a run makes before it begins, and run "
                                "nothing"),
    [OPTION_OUTPUT] = OPTION_ROW_RESULTS("the folder in which the run gets its own"),
    [OPTION_RESUME] = VALUE_ROW(NULL, "--resume", "RUN_DIR", CLI_FOLDER,
                                "finish the plan of a run that was interrupted"),
    [OPTION_RERUN] = VALUE_ROW(NULL, "--rerun", "WHICH", CLI_TEXT,
                               "do again what of a run is failed, unverified, suspect or "
                               "contaminated, or experiments by their ids, with "
                               "commas between, and no others"),
    [OPTION_RERUN_UNCLEAN] =
        VALUE_ROW(NULL, "--rerun-contaminated", "RUN_DIR", CLI_FOLDER,
                  "repeat the experiments of a run whose verdict is not clean, and no others"),
    [OPTION_TASK] =
        VALUE_ROW(NULL, "--task", "NUMBER", CLI_INT,
                  "do this experiment of a run that 'submit' made, as a task of Slurm does",
                  .low = 1, .high = 1000000),
    [OPTION_QUIET] = FLAG_ROW("-q", "--quiet", "only the closing table, and errors"),
    [OPTION_VERBOSE] = FLAG_ROW("-v", "--verbose",
                                "on a terminal: say each time that a GPU was free, that its memory "
                                "came back and how long it cooled, not "
                                "only the first time"),
    [OPTION_JSON] = FLAG_ROW(
        NULL, "--json", "each event as a line of JSON on standard output, and nothing else there"),
    [OPTION_CONTAINMENT] = OPTION_ROW_CONTAINMENT("LAYER", "what holds a job's processes together"),
    [OPTION_GPU_LOCK] =
        OPTION_ROW_GPU_LOCK("wait", "when another run holds a GPU that the jobs will see"),
    [OPTION_NO_CALIBRATE] = OPTION_ROW_NO_CALIBRATE,
    [OPTION_GPUS] = VALUE_ROW(
        NULL, "--gpus", "GPUS", CLI_TEXT,
        "the GPUs of the run: all, none, or numbers and UUIDs as 0,2; over what the settings say"),
    [OPTION_ENERGY_BUDGET] = VALUE_ROW(
        NULL, "--energy-budget", "ENERGY", CLI_TEXT,
        "what all trainings of the run may use together, as '20 kWh'; over what the settings say"),
    [OPTION_TIME_BUDGET] = VALUE_ROW(
        NULL, "--time-budget", "DURATION", CLI_DURATION,
        "how long all sessions of the run may take together, as 8h; over what the settings say",
        .low = 1, .high = 31622400, .unit = "seconds"),
    [OPTION_METRICS_TEXTFILE] = VALUE_ROW(NULL, "--metrics-textfile", "FILE", CLI_FILE,
                                          "keep the run's state and energy in FILE, which ends in "
                                          ".prom, for the textfile collector of Prometheus' "
                                          "node_exporter"),
    [OPTION_NO_PROBE] = OPTION_ROW_NO_PROBE,
    [OPTION_HELP_TIMEOUT] = OPTION_ROW_HELP_TIMEOUT,
    [OPTION_AS_ROOT] =
        FLAG_ROW(NULL, "--as-root", "under sudo: stay root instead of becoming the caller"),
};

/* The options that say what to plan: none of them goes with those that go on with an earlier
 * run. */
static const int planning[] = {OPTION_SETTINGS, OPTION_REPO,    OPTION_MODEL,    OPTION_MUTATE,
                               OPTION_RUNS,     OPTION_SET,     OPTION_GOVERNOR, OPTION_MAX_RETRIES,
                               OPTION_COOLDOWN, OPTION_CONFIG,  OPTION_SEED,     OPTION_LIST,
                               OPTION_STRICT,   OPTION_DRY_RUN, OPTION_OUTPUT};

/* Those that go on with an earlier run. */
static const int going_on[] = {OPTION_RESUME, OPTION_RERUN, OPTION_RERUN_UNCLEAN};

/* Those that stand for a settings file. */
static const int instead[] = {OPTION_REPO, OPTION_MODEL, OPTION_MUTATE};

static struct settings_changes changes_of(const struct cli_call *call)
{
    const struct cli_value *values = call->values;
    return (struct settings_changes){
        .sets = &values[OPTION_SET].all,
        .has_runs = values[OPTION_RUNS].given,
        .runs = values[OPTION_RUNS].integer,
        .has_max_retries = values[OPTION_MAX_RETRIES].given,
        .max_retries = values[OPTION_MAX_RETRIES].integer,
        .governor = values[OPTION_GOVERNOR].text,
        .cooldown = values[OPTION_COOLDOWN].text,
        .strict = values[OPTION_STRICT].given,
    };
}

static bool make_run_options(const struct cli_call *call, struct run_options *out, struct err *err)
{
    const struct cli_value *values = call->values;
    const char *operand = call->operands.count ? call->operands.items[0] : NULL;
    if (operand && values[OPTION_SETTINGS].given)
        return err_set(err, "two settings files: %s and %s", operand, values[OPTION_SETTINGS].text);
    *out = (struct run_options){
        .settings_path = operand ? operand : values[OPTION_SETTINGS].text,
        .changes = changes_of(call),
        .repo = values[OPTION_REPO].text,
        .model = values[OPTION_MODEL].text,
        .mutate = values[OPTION_MUTATE].text,
        .registry_path = values[OPTION_CONFIG].text,
        .has_seed = values[OPTION_SEED].given,
        .seed = (uint64_t)values[OPTION_SEED].integer,
        .for_running = true,
        .gpus = values[OPTION_GPUS].text,
    };
    AUTO_FREE char *journal =
        out->settings_path ? fs_resolve(out->settings_path, "run.db", NULL) : NULL;
    AUTO_FREE char *typed = out->settings_path ? shell_words_path(out->settings_path) : NULL;
    if (journal && access(journal, F_OK) == 0)
        return err_set(err,
                       "%s is the folder of a run: --resume %s finishes its plan, "
                       "--rerun-contaminated %s repeats what "
                       "is not clean",
                       out->settings_path, typed, typed);
    if (values[OPTION_SET].given && !out->settings_path)
        return err_set(err, "--set changes a settings file, and none is given");
    const char *flag = OPTION_GIVEN(call, instead);
    if (out->settings_path && flag)
        return err_set(err, "%s does not go with a settings file", flag);
    if (values[OPTION_LIST].given || out->settings_path || (out->repo && out->model))
        return true;
    return err_set(
        err, flag ? "without a settings file, --repo and --model are both needed"
                  : "what to run? Give a settings file, a training SCRIPT with its options, or "
                    "--repo and --model");
}

static bool is_run_quiet(const struct cli_call *call)
{
    return call->values[OPTION_QUIET].given;
}

/* So many bytes of a plan are printed at once. */
enum { SHOWN_AT_ONCE = 65536 };

static int show_plan(const struct cli_call *call, const struct run_options *how,
                     const struct run_input *input)
{
    AUTO_TEXT struct text text = {0};
    AUTO_FREE char *results = fs_resolve(NULL, call->values[OPTION_OUTPUT].text, NULL);
    struct plan_text_options shown = {
        .settings = how->settings_path ? how->settings_path : "from the command line",
        .registry = input->registry_path ? input->registry_path : "made of the command line",
        .untouched = how->untouched,
        .pauses_s = estimate_pauses(&input->plan, NULL),
        .adaptive_saves_s = input->settings.has_tare ? 0 : estimate_adaptive_saves(&input->plan),
        .results = results,
        .colour = message_colour(STDOUT_FILENO),
    };
    bool printed = true;
    for (size_t number = 0; printed && number <= input->plan.count; number++) {
        if (call->values[OPTION_JSON].given)
            plan_text_json(&input->plan, &shown, number, &text);
        else
            plan_text(&input->plan, &shown, number, &text);
        if (number < input->plan.count && text.length < SHOWN_AT_ONCE)
            continue;
        printed = message_print(&text);
        text_clear(&text);
    }
    return printed ? CLI_OK : CLI_BROKEN;
}

static bool may_run(const struct plan *plan)
{
    if (plan->count == 0)
        cli_error("the plan holds no experiments; nothing was run");
    return plan->count > 0;
}

static bool parse_budget_options(const struct cli_call *call, struct run_budget *out,
                                 struct err *err)
{
    const char *energy = call->values[OPTION_ENERGY_BUDGET].text;
    out->time_s = call->values[OPTION_TIME_BUDGET].seconds;
    return !energy || size_energy_parse(energy, &out->energy_j, err) ||
           err_wrap(err, "%s", options[OPTION_ENERGY_BUDGET].long_name);
}

/* 0, or the exit code of a mistake in the options, which was told. */
static int make_session(const struct cli_call *call, struct run_resources *means,
                        struct run_input *input, const char *resume_dir,
                        struct session_options *out)
{
    *out = (struct session_options){
        .input = input,
        .spent_plan = input ? &input->plan : NULL,
        .output = call->values[OPTION_OUTPUT].text,
        .resume_dir = resume_dir,
        .task = call->values[OPTION_TASK].given,
        .rerun = call->values[OPTION_RERUN].given || call->values[OPTION_RERUN_UNCLEAN].given,
        .rerun_which = call->values[OPTION_RERUN].text,
        .caller = &means->caller,
        .host = means->host,
        .governing = &means->governing,
        .gpus = call->values[OPTION_GPUS].text,
        .metrics_textfile = call->values[OPTION_METRICS_TEXTFILE].text,
        .quiet = is_run_quiet(call),
        .verbose = call->values[OPTION_VERBOSE].given,
        .json = call->values[OPTION_JSON].given,
        .no_calibrate = call->values[OPTION_NO_CALIBRATE].given,
    };
    struct err err = {0};
    if (!parse_budget_options(call, &out->budget, &err))
        return cli_usage_error(call->command, "%s", err.text);
    if (out->metrics_textfile && !metrics_file_check_name(out->metrics_textfile, &err))
        return cli_usage_error(call->command, "--metrics-textfile: %s", err.text);
    if (out->gpus && !settings_gpus_are_list(out->gpus))
        return cli_usage_error(call->command,
                               "--gpus takes all, none, or numbers and UUIDs as 0,2, not '%s'",
                               out->gpus);
    run_session_take_options(out, &call->values[OPTION_CONTAINMENT],
                             &call->values[OPTION_GPU_LOCK]);
    return 0;
}

/* How to do it again, and where to edit what was guessed. */
static void print_how_to_repeat(const struct cli_call *call, const char *run_dir)
{
    AUTO_FREE char *settings = run_dir ? mem_printf("%s/settings.json", run_dir) : NULL;
    bool is_there = settings && access(settings, F_OK) == 0;
    AUTO_FREE char *typed = is_there ? shell_words_path(settings) : NULL;
    if (typed && !is_run_quiet(call) && !call->values[OPTION_JSON].given)
        message_printf("again: %s run %s (registry.json beside it says how the script is started "
                       "and which metrics are "
                       "looked for)\n",
                       TARE_NAME, typed);
}

static int run_session_in(const struct cli_call *call, struct run_resources *means,
                          struct run_input *input, const char *resume_dir)
{
    struct session_options how;
    int code = make_session(call, means, input, resume_dir, &how);
    if (code)
        return code;
    AUTO_FREE char *run_dir = NULL;
    how.run_dir = &run_dir;
    code = run_session(&how);
    if (call->operands.count && input && script_is_one(call->operands.items[0]))
        print_how_to_repeat(call, run_dir);
    return code;
}

static int run_or_resume_session(const struct cli_call *call, struct run_resources *means,
                                 struct run_input *input)
{
    const struct cli_value *values = call->values;
    const char *unclean = values[OPTION_RERUN_UNCLEAN].text,
               *resumed = unclean ? unclean : values[OPTION_RESUME].text;
    return run_session_in(call, means, input,
                          values[OPTION_RERUN].given ? call->operands.items[0] : resumed);
}

/* The plan is shown also where this machine lacks something, as it may be run on another; the exit
 * code is the run's. */
static int dry_run(const struct cli_call *call, struct run_resources *means,
                   const struct run_options *how, struct run_input *input)
{
    struct session_options session;
    int code = make_session(call, means, input, NULL, &session);
    if (code)
        return code;
    bool shown = show_plan(call, how, input) == CLI_OK;
    if (input->problems.errors > 0)
        message_problem_count(&input->problems);
    if (input->problems.errors > 0 || !may_run(&input->plan))
        code = CLI_USAGE;
    int refused = run_session_check(&session);
    return !shown ? CLI_BROKEN : code ? code : refused;
}

static int act_on_input(const struct cli_call *call, struct run_resources *means,
                        const struct run_options *how, struct run_input *input)
{
    run_input_say(input, is_run_quiet(call));
    if (call->values[OPTION_DRY_RUN].given && input->problems.errors == input->problems.missing)
        return dry_run(call, means, how, input);
    if (input->problems.errors > 0) {
        message_problem_count(&input->problems);
        return CLI_USAGE;
    }
    return may_run(&input->plan) ? run_or_resume_session(call, means, input) : CLI_USAGE;
}

/* One experiment of a submitted run, in the folder of a new start. */
static int run_task(const struct cli_call *call, struct run_resources *means)
{
    const char *flag = OPTION_GIVEN(call, planning), *earlier = OPTION_GIVEN(call, going_on);
    AUTO(tasks_start_fini) struct tasks_start start = {.lock = -1};
    if (flag || earlier || call->operands.count != 1)
        return cli_usage_error(call->command, "--task goes with the folder of a submitted run%s%s",
                               flag || earlier ? ", not with " : " and nothing else",
                               flag      ? flag
                               : earlier ? earlier
                                         : "");
    int code = submit_task_begin(&means->caller.environment, call->operands.items[0],
                                 (size_t)call->values[OPTION_TASK].integer, &start);
    if (!start.path)
        return code;
    return run_session_in(call, means, NULL, start.path);
}

/* Continues an earlier run: options that say what to plan are errors. earlier: the first option
 * that names the run. */
static int continue_run(const struct cli_call *call, struct run_resources *means,
                        const char *earlier)
{
    const struct cli_value *values = call->values;
    bool operand_is_run = values[OPTION_RERUN].given;
    const char *flag = OPTION_GIVEN(call, planning);
    const char *other =
        flag || operand_is_run || !call->operands.count ? flag : call->operands.items[0];
    if (other)
        return cli_usage_error(call->command,
                               "%s does not go with %s: the plan of that run is finished", other,
                               earlier);
    if (values[OPTION_RESUME].given + values[OPTION_RERUN].given +
            values[OPTION_RERUN_UNCLEAN].given >
        1)
        return cli_usage_error(call->command,
                               "--resume, --rerun and --rerun-contaminated do not go together");
    if (operand_is_run && !call->operands.count)
        return cli_usage_error(call->command,
                               "--rerun %s of which run? Give its folder behind it, or latest",
                               values[OPTION_RERUN].text);
    return run_or_resume_session(call, means, NULL);
}

/* A script that has no files yet: its registry and settings are made of its command line, and kept
 * by the run as by any other. */
struct made {
    struct script script;
    struct starter_args args;
    struct text registry, settings;
    char *untouched;
};

static void made_fini(struct made *made)
{
    script_fini(&made->script);
    starter_args_fini(&made->args);
    text_fini(&made->registry);
    text_fini(&made->settings);
    free(made->untouched);
}

/* One of run's own comes after the script. */
static const char *find_own_option(const struct cli_call *call, const struct script *script)
{
    for (size_t i = script->arguments_at; i < call->operands.count; i++)
        EACH (option, options, OPTION_COUNT)
            if (strcmp(call->operands.items[i], option->long_name) == 0)
                return option->long_name;
    return NULL;
}

static void add_own_option_warning(const struct cli_call *call, struct made *made)
{
    bool off;
    const char *own = find_own_option(call, &made->script);
    if (own && !script_help_find(&made->script.help, own, &off))
        strv_add_owned(
            &made->args.warnings,
            mem_printf("%s is passed to the script; options of run come before the script", own));
}

static int make_script_files(const struct cli_call *call, const struct caller *caller,
                             struct made *made, struct run_options *how)
{
    static const int beside[] = {OPTION_SETTINGS, OPTION_REPO,   OPTION_MODEL,
                                 OPTION_MUTATE,   OPTION_CONFIG, OPTION_LIST};
    struct err err = {0};
    const struct cli_value *values = call->values;
    const char *flag = OPTION_GIVEN(call, beside);
    struct script *script = &made->script;
    if (flag)
        return cli_usage_error(call->command, "%s does not go with a script: %s", flag,
                               call->operands.items[0]);
    struct script_probing probing = {
        .never = values[OPTION_NO_PROBE].given,
        .certain = values[OPTION_DRY_RUN].given,
        .quiet = is_run_quiet(call),
        .timeout_s = values[OPTION_HELP_TIMEOUT].seconds,
    };
    if (!script_read(&call->operands, &caller->environment, &probing, script, &err))
        return cli_failed(CLI_USAGE, &err);
    if (!starter_args_parse(call->operands.items + script->arguments_at,
                            call->operands.count - script->arguments_at,
                            script->has_help ? &script->help : NULL, &made->args, &err))
        return cli_usage_error(call->command, "%s", err.text);
    add_own_option_warning(call, made);
    struct starter starter = {.args = &made->args,
                              .has_seed = values[OPTION_SEED].given,
                              .keeps_seed = true,
                              .seed = values[OPTION_SEED].integer};
    script_write(script, script->folder, &starter, &made->registry, &made->settings);
    made->untouched = script_untouched(script, &made->args);
    *how = (struct run_options){
        .made_settings = text_get(&made->settings),
        .made_registry = text_get(&made->registry),
        .changes = changes_of(call),
        .for_running = true,
        .gpus = values[OPTION_GPUS].text,
        .untouched = made->untouched,
    };
    return CLI_OK;
}

static int run_script(const struct cli_call *call, struct run_resources *means)
{
    AUTO(made_fini) struct made made = {0};
    struct run_options how;
    AUTO(run_input_fini) struct run_input input = {0};
    AUTO_FREE char *study_call =
        study_call_translate(call->operands.items, call->operands.count, true);
    if (study_call)
        return cli_usage_error(call->command, "mutation.py is the study's script; use: %s",
                               study_call);
    int code = make_script_files(call, &means->caller, &made, &how);
    if (code != CLI_OK)
        return code;
    run_input_read(&how, &input);
    if (!is_run_quiet(call) && input.problems.errors == input.problems.missing)
        script_say(&made.script, &made.args, input.plan.count);
    return act_on_input(call, means, &how, &input);
}

static int run_as_caller(const struct cli_call *call, struct run_resources *means)
{
    struct err err = {0};
    struct run_options how = {0};
    if (call->values[OPTION_TASK].given)
        return run_task(call, means);
    const char *earlier = OPTION_GIVEN(call, going_on);
    if (earlier)
        return continue_run(call, means, earlier);
    if (call->operands.count && script_is_one(call->operands.items[0]))
        return run_script(call, means);
    if (!make_run_options(call, &how, &err))
        return cli_usage_error(call->command, "%s", err.text);
    if (call->values[OPTION_LIST].given)
        return list_registry(how.settings_path ? how.settings_path : how.repo, how.registry_path,
                             call->values[OPTION_JSON].given);
    AUTO(run_input_fini) struct run_input input = {0};
    run_input_read(&how, &input);
    return act_on_input(call, means, &how, &input);
}

static int run_run(const struct cli_call *call)
{
    AUTO(run_resources_fini) struct run_resources means = {0};
    bool will_run = !call->values[OPTION_LIST].given && !call->values[OPTION_DRY_RUN].given;
    int code = run_resources_begin(will_run, call->values[OPTION_CONTAINMENT].text,
                                   call->values[OPTION_AS_ROOT].given, is_run_quiet(call), &means);
    return code ? code : run_as_caller(call, &means);
}

static const char *const usage[] = {
    "run SETTINGS.json [options]",
    "run [options] [LAUNCHER] SCRIPT [its options: --lr 0.1,0.01 --seed 1..3]",
    "run --repo REPO --model MODEL [--mutate NAMES] [--runs RUNS] [options]",
    "run --resume RUN_DIR [-q] [--json] [--gpus GPUS] [--gpu-lock MODE] ...",
    "run --rerun WHICH RUN_DIR [options as with --resume]",
    "run --rerun-contaminated RUN_DIR [options as with --resume]",
    "run --task NUMBER RUN_DIR [options as with --resume]",
    NULL,
};

static const char *const description[] = {
    "Plans the experiments that the settings describe, checks everything, then runs them one after "
    "the other, each "
    "with its retries and pauses. Each run gets its own folder, DIR/run_YYYYMMDD_HHMMSS, with "
    "summary.csv, one folder "
    "per experiment, and the journal run.db.",
    "All mistakes in settings and registry are told at once, before anything runs. The registry is "
    "the one given by "
    "--config, or named by the key \"registry\" of the settings, or models_config.json or "
    "registry.json beside the "
    "settings, in ./mutation, in the working folder, in ./config, beside a folder called settings "
    "that has the "
    "settings (in mutation first), or the one that came with the program.",
    "A training script in place of the settings needs no files: run train.py --lr 0.1,0.01 --seed "
    "1..3 runs every "
    "combination. Options of run come before the script. All words after it are the script's and "
    "stay as they are; "
    "values with commas between, or integers as 1..3, are axes, also in --lr=0.1,0.01 and "
    "model.lr=0.1,0.01; \\, is a "
    "comma within a value. What starts the script may come before it: python3 -m, torchrun, "
    "accelerate launch, uv "
    "run, mpirun, VAR=1 and others. The script is started once with --help (see init) for hints; "
    "--no-probe leaves "
    "that out, and --dry-run does it only where the script cannot train then. Defaults are left to "
    "the script. The "
    "run's folder keeps the registry and settings that were made; run DIR/settings.json repeats "
    "it.",
    "--dry-run shows the plan and ends with the code with which the run would be refused: "
    "mistakes, scripts and "
    "interpreters that are not there, GPUs, containment, the folder of the results. What only "
    "doing it can tell is "
    "not checked: room on the disk, the CPU frequency governor, what each GPU does before an "
    "experiment, and with "
    "--gpu-lock wait, who holds it.",
    "Ctrl-C ends the job, records the experiment as interrupted and stops; a second Ctrl-C stops "
    "at once. A lost "
    "terminal does not stop a run. An interrupted run is finished by --resume.",
    "Each result gets a verdict from the evidence that was found: clean, unverified, suspect or "
    "contaminated; "
    "summary_safe.csv holds the rows against which nothing speaks, failures too; "
    "summary_affected.csv the suspect and "
    "contaminated ones, with the reason. --rerun-contaminated repeats what is not clean in the "
    "same run: each keeps "
    "its "
    "row until its new result has come, and what it was before stays in its folder as an earlier "
    "attempt. "
    "Interrupted, it is finished by --resume, or by --rerun-contaminated again. --rerun WHICH "
    "repeats in the same way "
    "what is failed, unverified, suspect or contaminated, or the experiments with these ids: "
    "--rerun failed,suspect "
    "or --rerun repo_model_003.",
    "Where a run's folder is asked for, latest is the newest run_* in ./results; a folder that is "
    "called latest is "
    "./latest.",
    "A run may have budgets (energy_budget, time_budget in the settings, or the options): no "
    "experiment begins that what is left does not suffice for by the mean of those that succeeded, "
    "and when a budget "
    "is used up, what is under way is ended as interrupted. The exit code is 4; --resume counts "
    "what earlier sessions "
    "used, and takes a larger budget.",
    "On several GPUs as many experiments run at the same time, each on a GPU of its own, which is "
    "all that its jobs "
    "see (gpus_per_experiment in the settings: how many each gets, or \"all\"). --gpus says which "
    "GPUs the run takes; "
    "never more than CUDA_VISIBLE_DEVICES or the Slurm allocation allow. Each of them has "
    "processors of its own, near "
    "its GPU (cpu_sets in the settings).",
    "Two runs never use one GPU at once: a run takes the locks of the GPUs that its jobs will see "
    "(CUDA_VISIBLE_DEVICES; all when that is not set) and keeps them to its end. When somebody "
    "else has one, it says "
    "who, and waits (for a run 7 days at most, for anything else 10 minutes; then it ends with 3); "
    "with --gpu-lock "
    "refuse it ends with 3. Without NVIDIA GPUs there is nothing to lock.",
    "Under sudo, the program and all jobs run as the user who called sudo, with that user's "
    "groups, home, environment "
    "and PATH (sudo's own record of them, else those of the calling shell, else a safe default), "
    "so that all files "
    "are theirs. --as-root opts out.",
    "Options may be shortened as long as they stay unambiguous, and values may be attached: "
    "--runs=5, -n5.",
    NULL};

static const char *const exits[] = {
    "0",
    "every experiment succeeded",
    "1",
    "some experiment failed",
    "2",
    "a mistake in options, settings or registry, or something is not there: nothing was run",
    "3",
    "the run broke off: journal, disk, or processes that could not be ended; or a GPU is held: by "
    "another run "
    "(--gpu-lock refuse), or by a process that did not go; the message names it",
    "4",
    "a budget of the run (energy, time) is used up, or not enough for another experiment: --resume "
    "goes on "
    "with a larger one",
    "130",
    "interrupted by Ctrl-C (143: by TERM)",
    NULL,
};

static const char *const examples[] = {
    "run settings.json --dry-run",
    "show the whole plan with every command line, and run nothing",
    "run settings.json --set experiments.0.hyperparameters.epochs=3 -n 5",
    "the same settings with one value changed, five runs of each",
    "run train.py --lr 0.1,0.01 --seed 1..3",
    "a grid over a script that has no files yet: six experiments",
    "run torchrun --nproc_per_node=2 train.py --lr 0.1,0.01",
    "the same through a launcher",
    "run --resume results/run_20261121_093000",
    "finish a run that was interrupted",
    "run settings.json --energy-budget '20 kWh' --time-budget 8h",
    "stop cleanly before the trainings use more; --resume goes on",
    NULL,
};

const struct cli_command cmd_run = {
    .name = "run",
    .group = CLI_GROUP_RUN,
    .summary = "run the experiments of a settings file, or of a script",
    .operand_max = 1,
    .operand_name = "SETTINGS.json",
    .ends_options = script_is_one,
    .keeps_root = true,
    COMMAND_TABLES,
    .run = run_run,
};
