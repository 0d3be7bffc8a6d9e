/* feasibility: which trainings fit on one GPU together: each alone, every pair foretold, then tried. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/caller.h"
#include "cli/command.h"
#include "cli/feasibility.h"
#include "cli/governing.h"
#include "cli/message.h"
#include "cli/meters.h"
#include "cli/option_rows.h"
#include "config/size.h"
#include "meter/time_scale.h"
#include "report/feasibility_text.h"
#include "tare_build.h"
#include "ui/width.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPTION_CONFIG,
    OPTION_PREDICT_ONLY,
    OPTION_ALL_PAIRS,
    OPTION_REPEATS,
    OPTION_GPU_MEMORY,
    OPTION_OUTPUT,
    OPTION_RESUME,
    OPTION_STRICT,
    OPTION_QUIET,
    OPTION_JSON,
    OPTION_CONTAINMENT,
    OPTION_GPU_LOCK,
    OPTION_AS_ROOT,
    OPTION_COUNT
};

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_CONFIG] = OPTION_ROW_REGISTRY(OPTION_REGISTRY_OF_PLAN),
    [OPTION_PREDICT_ONLY] = {.long_name = "--predict-only",
                             .help =
                                 "run each model alone and foretell the pairs, but run no pair; --resume does later"},
    [OPTION_ALL_PAIRS] = {.long_name = "--all-pairs",
                          .help = "every pair of the models, instead of those that the settings list"},
    [OPTION_REPEATS] = {.short_name = "-n",
                        .long_name = "--repeats",
                        .argument = "RUNS",
                        .type = CLI_INT,
                        .low = 1,
                        .high = 100,
                        .default_text = "1",
                        .help = "how often each model runs alone: how far its peaks lie apart goes into the margin"},
    [OPTION_GPU_MEMORY] = {.long_name = "--gpu-memory",
                           .argument = "SIZE",
                           .type = CLI_TEXT,
                           .help = "foretell for a GPU with so much for trainings (8GiB), instead of for this one"},
    [OPTION_OUTPUT] = OPTION_ROW_RESULTS("the folder in which the study gets its own"),
    [OPTION_RESUME] = {.long_name = "--resume",
                       .argument = "DIR",
                       .type = CLI_FOLDER,
                       .help = "go on with a study that was interrupted, or only foretold"},
    [OPTION_STRICT] = OPTION_ROW_STRICT,
    [OPTION_QUIET] = {.short_name = "-q", .long_name = "--quiet", .help = "only the report at the end, and errors"},
    [OPTION_JSON] = {.long_name = "--json", .help = "what feasibility.json holds, and nothing else on standard output"},
    [OPTION_CONTAINMENT] = OPTION_ROW_CONTAINMENT("LAYER", "what holds a job's processes together"),
    [OPTION_GPU_LOCK] = OPTION_ROW_GPU_LOCK("wait", "when another run holds a GPU that the jobs will see"),
    [OPTION_AS_ROOT] = {.long_name = "--as-root", .help = "under sudo: stay root instead of becoming the caller"},
};

/* What a study in progress has asked for already. */
static const int asking[] = {OPTION_CONFIG,     OPTION_ALL_PAIRS, OPTION_REPEATS,
                             OPTION_GPU_MEMORY, OPTION_OUTPUT,    OPTION_STRICT};

/* What stands behind a call. */
struct means {
    struct caller caller;
    struct host_meter *host;
    struct governing governing;
};

static void means_fini(struct means *means)
{
    governing_end(&means->governing);
    host_meter_free(means->host);
    caller_fini(&means->caller);
}

static struct session_wish session_of(const struct cli_call *call, struct means *means)
{
    struct session_wish wish = {
        .caller = &means->caller,
        .host = means->host,
        .governing = &means->governing,
        .quiet = call->values[OPTION_QUIET].given || call->values[OPTION_JSON].given,
        .part = true,
        .leaves_closing = true,
    };
    run_session_take_options(&wish, &call->values[OPTION_CONTAINMENT], &call->values[OPTION_GPU_LOCK]);
    return wish;
}

static void say(const struct cli_call *call, const char *what)
{
    if (!call->values[OPTION_QUIET].given && !call->values[OPTION_JSON].given) {
        printf("%s\n", what);
        fflush(stdout);
    }
}

static int report(const struct cli_call *call, const struct study *study)
{
    struct err err = {0};
    AUTO_TEXT struct text text = {0};
    struct feasibility_text_options how = {.width = isatty(STDOUT_FILENO) ? width_of_terminal(STDOUT_FILENO) : 0,
                                           .colour = message_colour(STDOUT_FILENO)};
    if (!study_write(study, &err)) {
        cli_error("%s", err.text);
        return CLI_BROKEN;
    }
    if (call->values[OPTION_JSON].given) {
        json_t *json = feasibility_json(&study->of);
        json_object_set_new(json, "folder", json_text_or_null(study->folder));
        json_print_pretty(json, &text);
        json_decref(json);
    } else {
        feasibility_text(&study->of, &how, &text);
        AUTO_FREE char *recommended = mem_printf("%s/recommended.json", study->folder);
        text_addf(&text, "\nresults: %s\n", study->folder);
        if (fs_is_file(recommended))
            text_addf(&text, "recommended pairs: %s run %s\n", TARE_NAME, recommended);
        else
            text_add(&text, "no pair is recommended\n");
    }
    fputs(text_get(&text), stdout);
    return fflush(stdout) == 0 ? CLI_OK : CLI_BROKEN;
}

static int verdict(const struct feasibility *of)
{
    struct pairs_criterion criteria[PAIRS_CRITERIA];
    feasibility_criteria(of, criteria);
    for (size_t i = 0; i < PAIRS_CRITERIA; i++)
        if (criteria[i].known && !criteria[i].met)
            return CLI_SOME_FAILED;
    for (size_t i = 0; i < of->pair_count; i++) {
        const struct pairs_pair *pair = &of->pairs[i];
        if (!pair->prediction.known && pair->outcome.ran && !pairs_worked(&pair->outcome))
            return CLI_SOME_FAILED;
    }
    return CLI_OK;
}

static bool is_over(int code)
{
    return code != CLI_OK && code != CLI_SOME_FAILED;
}

static int stopped(const struct study *study, int code)
{
    if (code >= 128)
        cli_note("to go on: %s feasibility --resume %s", TARE_NAME, study->folder);
    return code;
}

static int run_pairs(const struct cli_call *call, struct means *means, struct study *study)
{
    json_t *results = NULL, *settings = feasibility_pair_settings(&study->of, study->input.settings.doc.root);
    size_t count = json_array_size(json_object_get(settings, "experiments"));
    int code = CLI_OK;
    if (count > 0) {
        say(call, "\nPairs");
        code = study_run_part(study, "pairs", settings, session_of(call, means), &results);
    }
    json_decref(settings);
    if (is_over(code))
        return stopped(study, code);
    feasibility_take_pairs(&study->of, results);
    json_decref(results);
    return CLI_OK;
}

static int carry_out(const struct cli_call *call, struct means *means, struct study *study)
{
    struct err err = {0};
    double scale = 1;
    struct feasibility *of = &study->of;
    json_t *results, *settings = feasibility_alone_settings(of, study->input.settings.doc.root, study->wish.repeats);
    say(call, "Each model alone");
    int code = study_run_part(study, "alone", settings, session_of(call, means), &results);
    json_decref(settings);
    if (is_over(code))
        return stopped(study, code);
    feasibility_take_alone(of, results, study->wish.repeats);
    json_decref(results);
    /* The waits of a run are shortened by it. */
    if (time_scale_read(getenv(TIME_SCALE_VARIABLE), &scale, &err)) {
        of->timing.lead_low_s *= scale;
        of->timing.lead_high_s *= scale;
        of->timing.restart_s *= scale;
    }
    if (study->wish.all_pairs)
        feasibility_pair_all(of);
    feasibility_predict(of, study->wish.gpu_bytes);
    code = call->values[OPTION_PREDICT_ONLY].given ? CLI_OK : run_pairs(call, means, study);
    if (is_over(code))
        return code;
    say(call, "");
    code = report(call, study);
    return code == CLI_OK ? verdict(of) : code;
}

static void say_input(const struct cli_call *call, const struct run_input *input)
{
    if ((call->values[OPTION_QUIET].given || call->values[OPTION_JSON].given) && input->problems.errors == 0)
        return;
    if (input->registry_path)
        cli_note("registry %s (%s)", input->registry_path, input->registry_why);
    message_problems(&input->problems);
}

static bool make_wish(const struct cli_call *call, struct study_wish *out, struct err *err)
{
    uint64_t bytes = 0;
    const char *size = call->values[OPTION_GPU_MEMORY].text;
    if (size && !size_parse(size, &bytes, err))
        return err_wrap(err, "--gpu-memory");
    if (size && bytes == 0)
        return err_set(err, "--gpu-memory: a GPU without memory");
    *out = (struct study_wish){.gpu_bytes = (double)bytes,
                               .repeats = (int)call->values[OPTION_REPEATS].integer,
                               .all_pairs = call->values[OPTION_ALL_PAIRS].given};
    return true;
}

static int run_new(const struct cli_call *call, struct means *means)
{
    struct err err = {0};
    struct study_wish wish;
    struct run_wish read = {.settings_path = call->operands.items[0],
                            .registry_path = call->values[OPTION_CONFIG].text,
                            .strict = call->values[OPTION_STRICT].given,
                            .for_running = true};
    if (!make_wish(call, &wish, &err))
        return cli_usage_error(call->command, "%s", err.text);
    struct run_input input;
    run_input_read(&read, &input);
    say_input(call, &input);
    if (input.problems.errors > 0 || input.plan.count == 0) {
        if (input.problems.errors > 0)
            message_problem_count(&input.problems);
        else
            cli_error("the settings hold no experiments; nothing was run");
        run_input_fini(&input);
        return CLI_USAGE;
    }
    wish.registry = fs_resolve(NULL, input.registry_path, NULL);
    struct study study;
    bool begun = study_begin(&study, call->values[OPTION_OUTPUT].text, &wish, &input, &err);
    if (!begun)
        cli_error("%s", err.text);
    int code = begun ? carry_out(call, means, &study) : CLI_BROKEN;
    study_fini(&study);
    return code;
}

static int resume(const struct cli_call *call, struct means *means)
{
    struct err err = {0};
    struct study study;
    bool opened = study_resume(&study, call->values[OPTION_RESUME].text, &err);
    if (!opened)
        cli_error("%s", err.text);
    int code = opened ? carry_out(call, means, &study) : CLI_USAGE;
    study_fini(&study);
    return code;
}

static int run(const struct cli_call *call)
{
    struct err err = {0};
    bool resumes = call->values[OPTION_RESUME].given;
    for (size_t i = 0; resumes && i < sizeof asking / sizeof *asking; i++)
        if (call->values[asking[i]].given)
            return cli_usage_error(call->command, "%s does not go with --resume: that study has its own",
                                   options[asking[i]].long_name);
    if (resumes == (call->operands.count > 0))
        return cli_usage_error(call->command, resumes ? "--resume takes no settings: that study has its own"
                                                      : "of which settings? Give a file, or --resume");
    AUTO(means_fini) struct means means = {.host = meters_open_host()};
    governing_begin(&means.governing);
    bool as_root = call->values[OPTION_AS_ROOT].given;
    bool sweep = strcmp(call->values[OPTION_CONTAINMENT].text, containment_wish_name(CONTAINMENT_SWEEP)) == 0;
    bool became =
        sweep ? caller_become(as_root, &means.caller, &err) : caller_become_with_cgroup(as_root, &means.caller, &err);
    if (!became) {
        cli_error("%s", err.text);
        return CLI_BROKEN;
    }
    return resumes ? resume(call, &means) : run_new(call, &means);
}

static const char *const usage[] = {
    "feasibility SETTINGS.json [options]",
    "feasibility --resume DIR [-q] [--json] [--predict-only]",
    NULL,
};

static const char *const description[] = {
    "Says which trainings fit on one GPU together. Each model of the settings, foreground or background, first runs "
    "alone "
    "for one epoch, and the memory it had is kept. From that every pair is foretold: the highest sum of both at any "
    "time "
    "that can come together, and the sum of the peaks, which is safe whatever happens. Then the pairs really run, "
    "those with "
    "the least risk first, and what was foretold stands beside what was.",
    "A pair is stable when the sum of the peaks stays below 94 % of the GPU, usable when the highest sum in the course "
    "of "
    "time does, and of high risk otherwise. The margin is what the runs alone differ by, or what comes and goes "
    "between "
    "two looks, and at least a hundredth of the peak and 16 MiB for each.",
    "All stands in one folder, DIR/feasibility_YYYYMMDD_HHMMSS: feasibility.csv, .json, .txt and .html, "
    "recommended.json (settings with the pairs for the real experiments), and two runs as 'run' makes them, alone/ and "
    "pairs/. Nothing is tried again within a study: an out of memory is its result.",
    "An interrupted study is finished by --resume; one that was only foretold then runs its pairs.",
    NULL,
};

static const char *const exits[] = {
    "0",   "every criterion is met: what was foretold to fit did",
    "1",   "a model failed alone, a pair that was foretold to fit failed, or more than one that was not did fit",
    "2",   "a mistake in options, settings or registry: nothing was run",
    "3",   "the study broke off, or a GPU is held by another run (--gpu-lock refuse)",
    "130", "interrupted by Ctrl-C (143: by TERM)",
    NULL,
};

const struct cli_command cmd_feasibility = {
    .name = "feasibility",
    .summary = "find out which trainings fit on one GPU together",
    .usage = usage,
    .description = description,
    .options = options,
    .option_count = OPTION_COUNT,
    .operand_max = 1,
    .operand_name = "SETTINGS.json",
    .exits = exits,
    .run = run,
};
