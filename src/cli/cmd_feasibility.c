/* feasibility: which trainings fit on one GPU together: each alone, every pair predicted, then tried. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "session/command.h"
#include "session/feasibility.h"
#include "session/feasibility_steps.h"
#include "session/message.h"
#include "cli/option_rows.h"
#include "session/preload.h"
#include "session/run_means.h"
#include "plan/config/size.h"

#include <stdlib.h>

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
                                 "run each model alone and predict the pairs, but run no pair; --resume does later"},
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
    [OPTION_OVERLAP] = {.long_name = "--overlap",
                        .argument = "TIME",
                        .type = CLI_DURATION,
                        .low = 1,
                        .high = 86400,
                        .default_text = "10s",
                        .help = "a pair is proven when both were seen training at the same time for so long"},
    [OPTION_PAIR_TIME] = {.long_name = "--pair-time",
                          .argument = "TIME",
                          .type = CLI_DURATION,
                          .low = 0,
                          .high = 864000,
                          .default_text = "10m",
                          .help =
                              "a pair that is not proven is run again until its experiments took so long (0: never)"},
    [OPTION_GPU_MEMORY] = {.long_name = "--gpu-memory",
                           .argument = "SIZE",
                           .type = CLI_TEXT,
                           .help = "predict for a GPU with so much for trainings (8GiB), instead of for this one"},
    [OPTION_ALONE] = {.long_name = "--alone",
                      .argument = "DIR",
                      .type = CLI_FOLDER,
                      .repeats = true,
                      .help = "an earlier study's folder: models that it measured are not measured again"},
    [OPTION_NO_TRACK] = {.long_name = "--no-track-gpu-memory",
                         .help = "alone, too, go by the driver's samples: do not load libtare-cuda into the models"},
    [OPTION_OUTPUT] = OPTION_ROW_RESULTS("the folder in which the study gets its own"),
    [OPTION_RESUME] = {.long_name = "--resume",
                       .argument = "DIR",
                       .type = CLI_FOLDER,
                       .help = "go on with a study that was interrupted, or only predicted"},
    [OPTION_STRICT] = OPTION_ROW_STRICT,
    [OPTION_QUIET] = {.short_name = "-q", .long_name = "--quiet", .help = "only the report at the end, and errors"},
    [OPTION_JSON] = {.long_name = "--json", .help = "what feasibility.json holds, and nothing else on standard output"},
    [OPTION_CONTAINMENT] = OPTION_ROW_CONTAINMENT("LAYER", "what holds a job's processes together"),
    [OPTION_GPU_LOCK] = OPTION_ROW_GPU_LOCK("wait", "when another run holds a GPU that the jobs will see"),
    [OPTION_AS_ROOT] = {.long_name = "--as-root", .help = "under sudo: stay root instead of becoming the caller"},
};

/* What a study in progress has asked for already. */
static const int asking[] = {OPTION_CONFIG,     OPTION_ALL_PAIRS, OPTION_REPEATS,  OPTION_OVERLAP, OPTION_PAIR_TIME,
                             OPTION_GPU_MEMORY, OPTION_ALONE,     OPTION_NO_TRACK, OPTION_OUTPUT,  OPTION_STRICT};

static struct study_steps steps_of(const struct cli_call *call, struct run_means *means)
{
    struct study_steps steps = {
        .session = {.caller = &means->caller,
                    .host = means->host,
                    .governing = &means->governing,
                    .quiet = call->values[OPTION_QUIET].given || call->values[OPTION_JSON].given,
                    .part = true,
                    .leaves_closing = true},
        .quiet = call->values[OPTION_QUIET].given,
        .json = call->values[OPTION_JSON].given,
        .predict_only = call->values[OPTION_PREDICT_ONLY].given,
    };
    run_session_take_options(&steps.session, &call->values[OPTION_CONTAINMENT], &call->values[OPTION_GPU_LOCK]);
    return steps;
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
    struct err missing = {0};
    uint64_t bytes = 0;
    const char *size = call->values[OPTION_GPU_MEMORY].text;
    if (size && !size_parse(size, &bytes, err))
        return err_wrap(err, "--gpu-memory");
    if (size && bytes == 0)
        return err_set(err, "--gpu-memory: a GPU without memory");
    AUTO_FREE char *library = call->values[OPTION_NO_TRACK].given ? NULL : preload_library(&missing);
    if (missing.text[0] && !call->values[OPTION_QUIET].given && !call->values[OPTION_JSON].given)
        cli_note("%s: peaks are those of the driver's samples", missing.text);
    *out = (struct study_wish){.track = library != NULL,
                               .gpu_bytes = (double)bytes,
                               .overlap_s = call->values[OPTION_OVERLAP].seconds,
                               .pair_s = call->values[OPTION_PAIR_TIME].seconds,
                               .repeats = (int)call->values[OPTION_REPEATS].integer,
                               .all_pairs = call->values[OPTION_ALL_PAIRS].given};
    return true;
}

static int run_new(const struct cli_call *call, struct run_means *means)
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
    int code = CLI_USAGE;
    bool chosen = study_choose(&study, &wish, &input, &call->values[OPTION_ALONE].all, &err);
    bool begun = chosen && study_begin(&study, call->values[OPTION_OUTPUT].text, &err);
    if (!begun) {
        cli_error("%s", err.text);
        code = chosen ? CLI_BROKEN : CLI_USAGE;
    } else {
        struct study_steps steps = steps_of(call, means);
        code = study_carry_out(&study, &steps);
    }
    study_fini(&study);
    return code;
}

static int resume(const struct cli_call *call, struct run_means *means)
{
    struct err err = {0};
    struct study study;
    bool opened = study_resume(&study, call->values[OPTION_RESUME].text, &err);
    struct study_steps steps = steps_of(call, means);
    if (!opened)
        cli_error("%s", err.text);
    int code = opened ? study_carry_out(&study, &steps) : CLI_USAGE;
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
    const struct run_means_wish wish = {.will_run = true,
                                        .containment = call->values[OPTION_CONTAINMENT].text,
                                        .as_root = call->values[OPTION_AS_ROOT].given,
                                        .quiet = call->values[OPTION_QUIET].given || call->values[OPTION_JSON].given};
    AUTO(run_means_fini) struct run_means means;
    if (!run_means_begin(&wish, &means, &err)) {
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
    "for one epoch, and the memory it had is kept. From that every pair is predicted: the highest sum of both at any "
    "time "
    "that can come together, and the sum of the peaks, which is safe whatever happens. Then the pairs really run, "
    "those with "
    "the least risk first, and what was predicted is set beside what was.",
    "A pair is stable when the sum of the peaks stays below 94 % of the GPU, usable when the highest sum in the course "
    "of "
    "time does, and of high risk otherwise. The margin is what the runs alone differ by, or what comes and goes "
    "between "
    "two looks, and at least a hundredth of the peak and 16 MiB for each.",
    "All stands in one folder, DIR/feasibility_YYYYMMDD_HHMMSS: feasibility.csv, .json, .txt and .html, "
    "recommended.json (settings with the pairs for the real experiments), and two runs as 'run' makes them, alone/ and "
    "pairs/. Nothing is tried again within a study: an out of memory is its result.",
    "A pair is proven when experiments whose verdict is clean showed both training at the same time for --overlap, and "
    "at "
    "their peaks. One that did not fail and is not proven runs again, with starts that are aligned, until it is or its "
    "experiments took --pair-time. Only proven pairs are recommended.",
    "An interrupted study is finished by --resume; one that was only predicted then runs its pairs.",
    NULL,
};

static const char *const exits[] = {
    "0",
    "every criterion is met: what was predicted to fit is proven to",
    "1",
    "a model failed alone, a pair predicted to fit failed or is not proven, or more than one predicted not to fit does",
    "2",
    "a mistake in options, settings or registry: nothing was run",
    "3",
    "the study broke off, or a GPU is held by another run (--gpu-lock refuse)",
    "130",
    "interrupted by Ctrl-C (143: by TERM)",
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
    .keeps_root = true,
    .run = run,
};
