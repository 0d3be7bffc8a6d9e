/* feasibility: which trainings fit on one GPU together: each alone, every pair predicted, then
 * tried. */
#include "base/cleanup.h"
#include "base/fs_output.h"
#include "base/fs_path.h"
#include "base/json_place.h"
#include "base/json_print.h"
#include "base/mem.h"
#include "cli/list.h"
#include "cli/option_rows.h"
#include "plan/config/registry.h"
#include "plan/config/size.h"
#include "report/feasibility_text.h"
#include "report/live/width.h"
#include "session/caller.h"
#include "session/command.h"
#include "session/feasibility.h"
#include "session/gpus.h"
#include "session/message.h"
#include "session/run_folder.h"
#include "session/run_resources.h"
#include "sharing/choose.h"
#include "sharing/schedule.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST_FILE = 64 << 20 };

enum {
    OPTION_CONFIG,
    OPTION_PREDICT_ONLY,
    OPTION_ALL_PAIRS,
    OPTION_REPEATS,
    OPTION_OVERLAP,
    OPTION_PAIR_TIME,
    OPTION_GPU_MEMORY,
    OPTION_ALONE,
    OPTION_NO_TRACK,
    OPTION_OUTPUT,
    OPTION_RESUME,
    OPTION_PLAN,
    OPTION_CURVES,
    OPTION_SLOWDOWN,
    OPTION_STRICT,
    OPTION_QUIET,
    OPTION_JSON,
    OPTION_CONTAINMENT,
    OPTION_GPU_LOCK,
    OPTION_NO_CALIBRATE,
    OPTION_AS_ROOT,
    OPTION_COUNT
};

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_CONFIG] = OPTION_ROW_REGISTRY(OPTION_REGISTRY_OF_PLAN),
    [OPTION_PREDICT_ONLY] = FLAG_ROW(
        NULL, "--predict-only",
        "run each model alone and predict the pairs, but run no pair; --resume does later"),
    [OPTION_ALL_PAIRS] = FLAG_ROW(
        NULL, "--all-pairs", "every pair of the models, instead of those that the settings list"),
    [OPTION_REPEATS] = VALUE_ROW(
        "-n", "--repeats", "RUNS", CLI_INT,
        "how often each model runs alone: how far its peaks lie apart goes into the margin",
        .low = 1, .high = 100, .default_text = "1"),
    [OPTION_OVERLAP] =
        VALUE_ROW(NULL, "--overlap", "TIME", CLI_DURATION,
                  "a pair is proven when both were seen training at the same time for so long",
                  .low = 1, .high = 86400, .default_text = "10s"),
    [OPTION_PAIR_TIME] = VALUE_ROW(
        NULL, "--pair-time", "TIME", CLI_DURATION,
        "a pair that is not proven is run again until its experiments took so long (0: never)",
        .low = 0, .high = 864000, .default_text = "10m"),
    [OPTION_GPU_MEMORY] = VALUE_ROW(NULL, "--gpu-memory", "SIZE", CLI_TEXT,
                                    "predict for a GPU with so much for trainings (8GiB), instead "
                                    "of for this one; --plan needs it"),
    [OPTION_ALONE] =
        VALUE_ROW(NULL, "--alone", "DIR", CLI_FOLDER,
                  "an earlier study's folder: models that it measured are not measured again",
                  .repeats = true),
    [OPTION_NO_TRACK] = FLAG_ROW(
        NULL, "--no-track-gpu-memory",
        "alone, too, go by the driver's samples: do not load libtare-cuda into the models"),
    [OPTION_OUTPUT] = VALUE_ROW(
        "-o", "--output", "PATH", CLI_FILE,
        "the folder in which the study gets its own; with --plan: the file for the settings, "
        "instead of standard output",
        .default_text = "results"),
    [OPTION_RESUME] = VALUE_ROW(NULL, "--resume", "DIR", CLI_FOLDER,
                                "go on with a study that was interrupted, or only predicted"),
    [OPTION_PLAN] = FLAG_ROW(NULL, "--plan",
                             "run nothing: of all models of a registry that studies have measured, "
                             "plan which to run in pairs"),
    [OPTION_CURVES] = VALUE_ROW(NULL, "--curves", "DIR", CLI_FOLDER,
                                "with --plan: a study's folder, more than once for more; not "
                                "given: the newest in ./results",
                                .repeats = true),
    [OPTION_SLOWDOWN] = VALUE_ROW(NULL, "--slowdown", "PERCENT", CLI_INT,
                                  "with --plan: how long each of two takes beside the other, of "
                                  "its time alone, where neither the pair nor the "
                                  "GPU's utilisation was measured",
                                  .low = 100, .high = 1000, .default_text = "150"),
    [OPTION_STRICT] = OPTION_ROW_STRICT,
    [OPTION_QUIET] = FLAG_ROW("-q", "--quiet", "only the report at the end, and errors"),
    [OPTION_JSON] = FLAG_ROW(NULL, "--json",
                             "what feasibility.json holds, and nothing else on standard output"),
    [OPTION_CONTAINMENT] = OPTION_ROW_CONTAINMENT("LAYER", "what holds a job's processes together"),
    [OPTION_GPU_LOCK] =
        OPTION_ROW_GPU_LOCK("wait", "when another run holds a GPU that the jobs will see"),
    [OPTION_NO_CALIBRATE] = OPTION_ROW_NO_CALIBRATE,
    [OPTION_AS_ROOT] =
        FLAG_ROW(NULL, "--as-root", "under sudo: stay root instead of becoming the caller"),
};

/* What a study in progress has asked for already. */
static const int asking[] = {OPTION_CONFIG,    OPTION_ALL_PAIRS,  OPTION_REPEATS, OPTION_OVERLAP,
                             OPTION_PAIR_TIME, OPTION_GPU_MEMORY, OPTION_ALONE,   OPTION_NO_TRACK,
                             OPTION_OUTPUT,    OPTION_STRICT};

/* Those of --plan alone, and those of a study that it does not take. */
static const int planning[] = {OPTION_CURVES, OPTION_SLOWDOWN};
static const int studying[] = {OPTION_CONFIG,      OPTION_PREDICT_ONLY, OPTION_ALL_PAIRS,
                               OPTION_REPEATS,     OPTION_OVERLAP,      OPTION_PAIR_TIME,
                               OPTION_ALONE,       OPTION_NO_TRACK,     OPTION_RESUME,
                               OPTION_STRICT,      OPTION_QUIET,        OPTION_JSON,
                               OPTION_CONTAINMENT, OPTION_GPU_LOCK,     OPTION_NO_CALIBRATE};

static bool is_feasibility_quiet(const struct cli_call *call)
{
    return call->values[OPTION_QUIET].given || call->values[OPTION_JSON].given;
}

static struct study_steps steps_of(const struct cli_call *call, struct run_resources *means)
{
    struct study_steps steps = {
        .session = {.caller = &means->caller,
                    .host = means->host,
                    .governing = &means->governing,
                    .quiet = is_feasibility_quiet(call),
                    .no_calibrate = call->values[OPTION_NO_CALIBRATE].given,
                    .part = true,
                    .leaves_closing = true},
        .quiet = call->values[OPTION_QUIET].given,
        .json = call->values[OPTION_JSON].given,
        .predict_only = call->values[OPTION_PREDICT_ONLY].given,
    };
    run_session_take_options(&steps.session, &call->values[OPTION_CONTAINMENT],
                             &call->values[OPTION_GPU_LOCK]);
    return steps;
}

/* 0: not given. */
static bool read_gpu_memory(const struct cli_call *call, double *out, struct err *err)
{
    uint64_t bytes = 0;
    const char *size = call->values[OPTION_GPU_MEMORY].text;
    if (size && !size_parse(size, &bytes, err))
        return err_wrap(err, "--gpu-memory");
    *out = (double)bytes;
    return !size || bytes > 0 || err_set(err, "--gpu-memory: a GPU without memory");
}

static bool make_study_options(const struct cli_call *call, struct study_options *out,
                               struct err *err)
{
    struct err missing = {0};
    double bytes;
    if (!read_gpu_memory(call, &bytes, err))
        return false;
    AUTO_FREE char *library =
        call->values[OPTION_NO_TRACK].given ? NULL : gpus_preload_library(&missing);
    if (missing.text[0] && !is_feasibility_quiet(call))
        cli_note("%s: peaks are those of the driver's samples", missing.text);
    *out = (struct study_options){.track = library != NULL,
                                  .gpu_bytes = bytes,
                                  .overlap_s = call->values[OPTION_OVERLAP].seconds,
                                  .pair_s = call->values[OPTION_PAIR_TIME].seconds,
                                  .repeats = (int)call->values[OPTION_REPEATS].integer,
                                  .all_pairs = call->values[OPTION_ALL_PAIRS].given};
    return true;
}

static int run_new_study(const struct cli_call *call, struct run_resources *means)
{
    struct err err = {0};
    struct study_options how;
    struct run_options read = {.settings_path = call->operands.items[0],
                               .registry_path = call->values[OPTION_CONFIG].text,
                               .changes = {.strict = call->values[OPTION_STRICT].given},
                               .for_running = true};
    if (!make_study_options(call, &how, &err))
        return cli_usage_error(call->command, "%s", err.text);
    struct run_input input;
    run_input_read(&read, &input);
    feasibility_check(&input.settings, &input.problems);
    run_input_say(&input, is_feasibility_quiet(call));
    if (input.problems.errors > 0 || input.plan.count == 0) {
        if (input.problems.errors > 0)
            message_problem_count(&input.problems);
        else
            cli_error("the settings hold no experiments; nothing was run");
        run_input_fini(&input);
        return CLI_USAGE;
    }
    how.registry = fs_resolve(NULL, input.registry_path, NULL);
    AUTO(study_fini) struct study study = {0};
    struct study_steps steps = steps_of(call, means);
    if (!study_choose(&study, &how, &input, &call->values[OPTION_ALONE].all, &err))
        return cli_failed(CLI_USAGE, &err);
    if (!study_begin(&study, call->values[OPTION_OUTPUT].text, &err))
        return cli_failed(CLI_BROKEN, &err);
    return study_carry_out(&study, &steps);
}

static int resume_study(const struct cli_call *call, struct run_resources *means)
{
    struct err err = {0};
    AUTO(study_fini) struct study study = {0};
    bool opened = study_resume(&study, call->values[OPTION_RESUME].text, &err);
    struct study_steps steps = steps_of(call, means);
    return opened ? study_carry_out(&study, &steps) : cli_failed(CLI_USAGE, &err);
}

/* For --plan, which chooses pairs among the models that were measured. */
static bool read_pairs_study(struct feasibility *study, const char *folder, struct err *err)
{
    AUTO_FREE char *file = mem_printf("%s/feasibility.json", folder);
    AUTO(json_doc_fini) struct json_doc doc = {0};
    return json_doc_read(file, LONGEST_FILE, &doc, err) && json_doc_refuse_repeats(&doc, err) &&
           (schedule_read(study, doc.root, err) || err_wrap(err, "%s", file));
}

static bool read_studies(const struct strv *folders, struct feasibility *study, struct err *err)
{
    if (folders->count == 0) {
        AUTO_FREE char *newest = run_folder_newest(RUN_FOLDER_RESULTS, "feasibility");
        if (!newest)
            return err_set(err, "there are no measured curves: no results/feasibility_*; "
                                "'feasibility SETTINGS.json' makes "
                                "one, --curves names one elsewhere");
        cli_note("curves of %s", newest);
        return read_pairs_study(study, newest, err);
    }
    EACH (item, folders->items, folders->count)
        if (!read_pairs_study(study, *item, err))
            return false;
    return true;
}

/* Chooses models of the registry that were measured and reports those that were not. Returns how
 * many. */
static size_t choose_measured_models(const struct feasibility *study,
                                     const struct registry *registry, bool *use)
{
    size_t count = 0;
    for (size_t i = 0; i < study->model_count; i++) {
        const struct pairs_model *model = &study->models[i];
        const struct repo *repo = registry_find(registry, model->repo);
        use[i] = repo && strv_has(&repo->models, model->model) && model->succeeded &&
                 model->curve.any && model->seconds.valid && count < SCHEDULE_MODELS_MAX;
        count += use[i];
    }
    AUTO_STRV struct strv missing = {0};
    EACH (item, registry->repos, registry->repo_count)
        EACH (entry, item->models.items, item->models.count) {
            const char *name = *entry;
            bool found = false;
            for (size_t m = 0; m < study->model_count; m++)
                found |= use[m] && strcmp(study->models[m].repo, item->name) == 0 &&
                         strcmp(study->models[m].model, name) == 0;
            if (!found)
                strv_add_owned(&missing, mem_printf("%s/%s", item->name, name));
        }
    AUTO_FREE char *names = strv_join(&missing, ", ");
    if (missing.count > 0)
        cli_note("left out, as their memory was not measured: %s", names);
    return count;
}

static int write_schedule_settings(const struct feasibility *study, const struct schedule *schedule,
                                   const char *file, const char *registry)
{
    struct err err = {0};
    AUTO_TEXT struct text text = {0};
    json_print_taken(schedule_settings(study, schedule), &text);
    if (!file)
        return message_print(&text) ? CLI_OK : CLI_BROKEN;
    bool written = fs_is_same_file(file, registry)
                       ? err_set(&err, "%s is the registry itself", file)
                       : fs_write_output(file, text_get(&text), text.length, &err);
    return written ? CLI_OK : cli_failed(CLI_BROKEN, &err);
}

/* The table goes where the settings do not. */
static void print_schedule(const struct feasibility *study, const struct schedule *schedule,
                           bool to_stdout)
{
    AUTO_TEXT struct text text = {0};
    int fd = to_stdout ? STDOUT_FILENO : STDERR_FILENO;
    struct feasibility_text_options how = {.width = isatty(fd) ? width_of_terminal(fd) : 0,
                                           .colour = message_colour(fd)};
    schedule_text(study, schedule, &how, &text);
    if (to_stdout)
        message_print(&text);
    else
        message_print_aside(&text);
}

static int plan_registry(const struct cli_call *call, const struct registry *registry,
                         const char *path, double gpu_bytes)
{
    struct err err = {0};
    const struct cli_value *values = call->values;
    const char *file = values[OPTION_OUTPUT].given ? values[OPTION_OUTPUT].text : NULL;
    AUTO(feasibility_fini) struct feasibility study = {0};
    if (!read_studies(&values[OPTION_CURVES].all, &study, &err))
        return cli_failed(CLI_USAGE, &err);
    AUTO_FREE bool *use = mem_array(study.model_count + 1, sizeof *use);
    if (choose_measured_models(&study, registry, use) == 0) {
        cli_error("none of the registry's models was measured");
        return CLI_USAGE;
    }
    AUTO(schedule_fini) struct schedule schedule = {0};
    schedule_make(&study, use, gpu_bytes, (double)values[OPTION_SLOWDOWN].integer / 100, &schedule);
    print_schedule(&study, &schedule, file != NULL);
    return write_schedule_settings(&study, &schedule, file, path);
}

static int plan(const struct cli_call *call)
{
    struct err err = {0};
    double gpu_bytes = 0;
    const char *other = OPTION_GIVEN(call, studying);
    if (other)
        return cli_usage_error(call->command, "%s does not go with --plan, which runs nothing",
                               other);
    if (!call->values[OPTION_GPU_MEMORY].given)
        return cli_usage_error(call->command, "--plan needs --gpu-memory: how much has the GPU?");
    if (!read_gpu_memory(call, &gpu_bytes, &err))
        return cli_usage_error(call->command, "%s", err.text);
    /* Nothing that only root can do is needed: what is read and written is the caller's. */
    AUTO(caller_fini) struct caller caller = {0};
    if (!caller_become(call->values[OPTION_AS_ROOT].given, &caller, &err))
        return cli_failed(CLI_BROKEN, &err);
    AUTO(registry_fini) struct registry registry = {0};
    AUTO(list_options_fini) struct list_options how = {0};
    if (call->operands.count)
        how.located =
            (struct located){.path = mem_strdup(call->operands.items[0]), .why = "asked for"};
    if (!list_read(NULL, NULL, &how, &registry))
        return CLI_USAGE;
    return plan_registry(call, &registry, how.located.path, gpu_bytes);
}

static int run_feasibility(const struct cli_call *call)
{
    if (call->values[OPTION_PLAN].given)
        return plan(call);
    const char *of_plan = OPTION_GIVEN(call, planning), *asked = OPTION_GIVEN(call, asking);
    if (of_plan)
        return cli_usage_error(call->command, "%s goes with --plan only", of_plan);
    bool resumes = call->values[OPTION_RESUME].given;
    if (resumes && asked)
        return cli_usage_error(call->command,
                               "%s does not go with --resume: that study has its own", asked);
    if (resumes == (call->operands.count > 0))
        return cli_usage_error(call->command,
                               resumes ? "--resume takes no settings: that study has its own"
                                       : "of which settings? Give a file, or --resume");
    AUTO(run_resources_fini) struct run_resources means;
    int code =
        run_resources_begin(true, call->values[OPTION_CONTAINMENT].text,
                            call->values[OPTION_AS_ROOT].given, is_feasibility_quiet(call), &means);
    return code ? code : resumes ? resume_study(call, &means) : run_new_study(call, &means);
}

static const char *const usage[] = {
    "feasibility SETTINGS.json [options]",
    "feasibility --resume DIR [-q] [--json] [--predict-only]",
    "feasibility --plan [REGISTRY.json] --gpu-memory SIZE [options]",
    NULL,
};

static const char *const description[] = {
    "Says which trainings fit on one GPU together. Each model of the settings, foreground or "
    "background, first runs "
    "alone for one epoch, and the memory it had is kept. From that every pair is predicted: the "
    "highest sum of both "
    "at any time that can come together, and the sum of the peaks, which is safe whatever happens. "
    "Then the pairs "
    "really run, those with the least risk first, and what was predicted is set beside what was.",
    "A pair is stable when the sum of the peaks stays below 94 % of the GPU, usable when the "
    "highest sum in the "
    "course of time does, and of high risk otherwise. The margin is what the runs alone differ by, "
    "or what comes and "
    "goes between two samples, and at least a hundredth of the peak and 16 MiB for each.",
    "The report also has the class of each pair by the study's limits (stable below 3000 MB, "
    "usable up to 4000 MB), "
    "the share of pairs that work in each of its tiers of memory (up to 1300, 2700, 4000 MB and "
    "above, and the same "
    "shares of this GPU) beside what it expected (100, 100, 95 and 80 %), and its criteria: 11 of "
    "12 pairs work, each "
    "below 7500 MB. They do not change the exit code.",
    "The estimated time is printed before anything runs: from --alone, from 'expected_duration' "
    "and 'historical_csvs' "
    "of the settings, and from the runs in DIR; once each model ran alone, that of the pairs "
    "again.",
    "All is in one folder, DIR/feasibility_YYYYMMDD_HHMMSS: feasibility.csv, .json and .txt, "
    "recommended.json "
    "(settings with the pairs for the real experiments), and two runs as 'run' makes them, alone/ "
    "and pairs/. Nothing "
    "is tried again within a study: an out of memory is its result.",
    "A pair is proven when experiments whose verdict is clean showed both training at the same "
    "time for --overlap, "
    "and at their peaks. One that did not fail and is not proven runs again, with starts that are "
    "aligned, until it "
    "is or its experiments took --pair-time. Only proven pairs are recommended.",
    "An interrupted study is finished by --resume; one that was only predicted then runs its "
    "pairs.",
    "--plan runs nothing. Of all models of the registry that a study has measured it says which to "
    "run two at a time, "
    "to save hours without risk: only pairs whose peaks together, with the "
    "margin, stay below 94 % of the GPU, that are proven to go together, and none that failed when "
    "it was tried. The "
    "longest model left gets the partner that saves most time, for up to 1000 models.",
    "A training's hours are those of its one epoch times the registry's default of epochs. Two at "
    "a time take as long "
    "as the longer of them, which is in front, slowed down as the pair was when it ran; where it "
    "did not, each is "
    "assumed to slow down by the sum of both utilisations of the GPU, or by --slowdown where that "
    "is not known. The "
    "table says which.",
    "With --plan the registry is found as 'run' finds it where REGISTRY.json is not given. The "
    "settings go to "
    "standard output, the table to standard error; with -o the table goes to standard output.",
    NULL};

static const char *const exits[] = {
    "0",
    "every criterion is met: what was predicted to fit is proven to; --plan: planned",
    "1",
    "a model failed alone, a pair predicted to fit failed or is not proven, or more than one "
    "predicted not to fit does",
    "2",
    "a mistake in options, settings, registry or measurements: nothing was run",
    "3",
    "the study broke off, or a GPU is held by another run (--gpu-lock refuse); --plan: the "
    "settings cannot be written",
    "130",
    "interrupted by Ctrl-C (143: by TERM)",
    NULL,
};

static const char *const examples[] = {
    "feasibility settings.json",
    "predict and try the pairs of the settings",
    "feasibility --plan registry.json --gpu-memory 8GiB -o pairs.json",
    "plan the best pairs of all models that were measured",
    NULL,
};

const struct cli_command cmd_feasibility = {
    .name = "feasibility",
    .group = CLI_GROUP_MEMORY,
    .summary = "find out which trainings fit on one GPU together",
    .operand_max = 1,
    .operand_name = "SETTINGS.json",
    .keeps_root = true,
    COMMAND_TABLES,
    .run = run_feasibility,
};
