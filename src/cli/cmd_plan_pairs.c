/* plan-pairs: of all models that were measured, which to run in pairs. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "session/command.h"
#include "cli/list.h"
#include "session/message.h"
#include "session/run_folder.h"
#include "plan/config/registry.h"
#include "plan/config/size.h"
#include "sharing/matching.h"
#include "sharing/schedule.h"
#include "report/feasibility_text.h"
#include "report/live/width.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_GPU_MEMORY, OPTION_CURVES, OPTION_SLOWDOWN, OPTION_OUTPUT, OPTION_AS_ROOT, OPTION_COUNT };

enum { LONGEST_FILE = 64 << 20 };

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_GPU_MEMORY] = {.long_name = "--gpu-memory",
                           .argument = "SIZE",
                           .type = CLI_TEXT,
                           .help = "what the GPU has for trainings (8GiB); needed"},
    [OPTION_CURVES] = {.long_name = "--curves",
                       .argument = "DIR",
                       .type = CLI_FOLDER,
                       .repeats = true,
                       .help = "a study's folder, more than once for more; not given: the newest in ./results"},
    [OPTION_SLOWDOWN] = {.long_name = "--slowdown",
                         .argument = "PERCENT",
                         .type = CLI_INT,
                         .low = 100,
                         .high = 1000,
                         .default_text = "150",
                         .help =
                             "how long each of two takes beside the other, of its time alone, where neither the pair "
                             "nor the GPU's utilisation was measured"},
    [OPTION_OUTPUT] = {.short_name = "-o",
                       .long_name = "--output",
                       .argument = "FILE",
                       .type = CLI_FILE,
                       .help = "where the settings go, instead of standard output"},
    [OPTION_AS_ROOT] = {.long_name = "--as-root", .help = "under sudo, stay root"},
};

static bool read_study(struct feasibility *study, const char *folder, struct err *err)
{
    AUTO_FREE char *file = mem_printf("%s/feasibility.json", folder);
    AUTO(json_doc_fini) struct json_doc doc = {0};
    return json_doc_read(file, LONGEST_FILE, &doc, err) && json_doc_refuse_repeats(&doc, err) &&
           (schedule_read(study, doc.root, err) || err_wrap(err, "%s", file));
}

static bool read_studies(const struct cli_value *value, struct feasibility *study, struct err *err)
{
    if (!value->given) {
        AUTO_FREE char *newest = run_folder_newest("results", "feasibility");
        if (!newest)
            return err_set(err, "there are no measured curves: no results/feasibility_*; 'feasibility' makes one, "
                                "--curves names one elsewhere");
        cli_note("curves of %s", newest);
        return read_study(study, newest, err);
    }
    for (size_t i = 0; i < value->all.count; i++)
        if (!read_study(study, value->all.items[i], err))
            return false;
    return true;
}

/* What is in the registry and was measured; what of the registry was not is said. Gives how many. */
static size_t choose(const struct feasibility *study, const struct registry *registry, bool *use)
{
    size_t count = 0;
    for (size_t i = 0; i < study->model_count; i++) {
        const struct pairs_model *model = &study->models[i];
        const struct repo *repo = registry_find(registry, model->repo);
        use[i] = repo && strv_has(&repo->models, model->model) && model->succeeded && model->curve.any &&
                 model->seconds.valid && count < MATCHING_POINTS_MAX;
        count += use[i];
    }
    AUTO_STRV struct strv missing = {0};
    for (size_t i = 0; i < registry->repo_count; i++)
        for (size_t k = 0; k < registry->repos[i].models.count; k++) {
            const char *name = registry->repos[i].models.items[k];
            bool found = false;
            for (size_t m = 0; m < study->model_count; m++)
                found |= use[m] && strcmp(study->models[m].repo, registry->repos[i].name) == 0 &&
                         strcmp(study->models[m].model, name) == 0;
            if (!found)
                strv_add_owned(&missing, mem_printf("%s/%s", registry->repos[i].name, name));
        }
    AUTO_FREE char *names = strv_join(&missing, ", ");
    if (missing.count > 0)
        cli_note("left out, as their memory was not measured: %s", names);
    return count;
}

static int put_settings(const struct feasibility *study, const struct schedule *schedule, const char *file,
                        const char *registry)
{
    struct err err = {0};
    AUTO_TEXT struct text text = {0};
    json_t *json = schedule_settings(study, schedule);
    json_print_pretty(json, &text);
    json_decref(json);
    if (!file) {
        return message_print(&text) ? CLI_OK : CLI_BROKEN;
    }
    bool written = fs_is_same_file(file, registry) ? err_set(&err, "%s is the registry itself", file)
                                                   : fs_write_output(file, text_get(&text), text.length, &err);
    if (!written)
        cli_error("%s", err.text);
    return written ? CLI_OK : CLI_BROKEN;
}

/* The table goes where the settings do not. */
static void say(const struct feasibility *study, const struct schedule *schedule, bool to_stdout)
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

static int plan(const struct cli_call *call, const struct registry *registry, double gpu_bytes)
{
    struct err err = {0};
    const char *file = call->values[OPTION_OUTPUT].text;
    AUTO(feasibility_fini) struct feasibility study = {0};
    if (!read_studies(&call->values[OPTION_CURVES], &study, &err))
        return cli_failed(CLI_USAGE, &err);
    AUTO_FREE bool *use = mem_array(study.model_count + 1, sizeof *use);
    if (choose(&study, registry, use) == 0) {
        cli_error("none of the registry's models was measured");
        return CLI_USAGE;
    }
    struct schedule schedule;
    schedule_make(&study, use, gpu_bytes, (double)call->values[OPTION_SLOWDOWN].integer / 100, &schedule);
    say(&study, &schedule, file != NULL);
    int code = put_settings(&study, &schedule, file, call->operands.items[0]);
    schedule_fini(&schedule);
    return code;
}

static int run(const struct cli_call *call)
{
    struct err err = {0};
    uint64_t bytes = 0;
    const char *size = call->values[OPTION_GPU_MEMORY].text;
    if (!size)
        return cli_usage_error(call->command, "--gpu-memory is needed: how much has the GPU?");
    if (!size_parse(size, &bytes, &err) || bytes == 0)
        return cli_usage_error(call->command, "--gpu-memory: %s", err.text[0] ? err.text : "a GPU without memory");
    AUTO(registry_fini) struct registry registry = {0};
    AUTO(list_wish_fini) struct list_wish wish = {0};
    if (call->operands.count)
        wish.located = (struct located){.path = mem_strdup(call->operands.items[0]), .why = "asked for"};
    return list_read(NULL, NULL, &wish, &registry) ? plan(call, &registry, (double)bytes) : CLI_USAGE;
}

static const char *const usage[] = {"plan-pairs [REGISTRY.json] --gpu-memory SIZE [options]", NULL};

static const char *const description[] = {
    "Of all models of the registry that a study of pairs has measured ('feasibility'), says which to run two at a "
    "time, so "
    "that all are done in the fewest hours and nothing is at risk: only pairs whose peaks together, with the margin, "
    "stay "
    "below 94 % of the GPU, that are proven to go together, and none that failed when it was tried. The best schedule "
    "is found exactly (a matching of "
    "greatest weight), for up to 1000 models.",
    "A training's hours are those of its one epoch times the registry's default of epochs. Two at a time take as long "
    "as "
    "the longer of them, which is in front, slowed down as the pair was when it ran; where it did not, each is assumed "
    "to "
    "slow down by the sum of both utilisations of the GPU, or by --slowdown where that is not known. The table says "
    "which.",
    "Without REGISTRY.json the registry is found as 'run' finds it. The settings go to standard output, the table to "
    "standard error; with -o the table goes to standard output.",
    NULL};

static const char *const exits[] = {
    "0", "planned", "2", "a mistake in options, registry or measurements", "3", "the settings cannot be written", NULL};

const struct cli_command cmd_plan_pairs = {
    .name = "plan-pairs",
    .summary = "plan which measured models to run in pairs",
    .usage = usage,
    .description = description,
    .options = options,
    .option_count = OPTION_COUNT,
    .operand_max = 1,
    .operand_name = "REGISTRY.json",
    .exits = exits,
    .run = run,
};
