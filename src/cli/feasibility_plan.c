/* feasibility_plan: "feasibility --plan": of all models that were measured, which to run in pairs. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/feasibility.h"
#include "cli/list.h"
#include "cli/message.h"
#include "cli/run_folder.h"
#include "config/registry.h"
#include "config/size.h"
#include "pairs/matching.h"
#include "pairs/schedule.h"
#include "report/feasibility_text.h"
#include "ui/width.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_FILE = 64 << 20 };

static bool read_study(struct feasibility *study, const char *folder, struct err *err)
{
    AUTO_FREE char *file = mem_printf("%s/feasibility.json", folder);
    AUTO(json_doc_fini) struct json_doc doc = {0};
    return json_doc_read(file, LONGEST_FILE, &doc, err) && json_doc_refuse_repeats(&doc, err) &&
           (schedule_read(study, doc.root, err) || err_wrap(err, "%s", file));
}

static bool read_studies(const struct strv *folders, struct feasibility *study, struct err *err)
{
    if (folders->count == 0) {
        AUTO_FREE char *newest = run_folder_newest("results", "feasibility");
        if (!newest)
            return err_set(err, "there are no measured curves: no results/feasibility_*; 'feasibility SETTINGS.json' makes "
                                "one, --curves names one elsewhere");
        cli_note("curves of %s", newest);
        return read_study(study, newest, err);
    }
    for (size_t i = 0; i < folders->count; i++)
        if (!read_study(study, folders->items[i], err))
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

static int plan(const struct plan_pairs_options *options, const struct registry *registry)
{
    struct err err = {0};
    AUTO(feasibility_fini) struct feasibility study = {0};
    if (!read_studies(options->curves, &study, &err))
        return cli_failed(CLI_USAGE, &err);
    AUTO_FREE bool *use = mem_array(study.model_count + 1, sizeof *use);
    if (choose(&study, registry, use) == 0) {
        cli_error("none of the registry's models was measured");
        return CLI_USAGE;
    }
    struct schedule schedule;
    schedule_make(&study, use, options->gpu_bytes, options->slowdown, &schedule);
    say(&study, &schedule, options->output != NULL);
    int code = put_settings(&study, &schedule, options->output, options->registry);
    schedule_fini(&schedule);
    return code;
}

int plan_pairs(const struct plan_pairs_options *options)
{
    AUTO(registry_fini) struct registry registry = {0};
    AUTO(list_wish_fini) struct list_wish wish = {0};
    if (options->registry)
        wish.located = (struct located){.path = mem_strdup(options->registry), .why = "asked for"};
    return list_read(NULL, NULL, &wish, &registry) ? plan(options, &registry) : CLI_USAGE;
}
