#include "session/run_input.h"

#include "base/mem.h"
#include "base/rng.h"
#include "session/gpus.h"
#include "session/locate.h"

#include <stdlib.h>
#include <unistd.h>

/* The flags that a settings file has no word for on its entries stand at its top. */
static char *text_with_flags(const struct settings *settings, const struct run_options *how)
{
    if (!settings->doc.root)
        return mem_strdup("{}\n");
    json_t *root = json_copy(settings->doc.root);
    struct text text = {0};
    if (how->governor)
        json_object_set_new(root, "governor", json_string(how->governor));
    if (how->has_max_retries)
        json_object_set_new(root, "max_retries", json_integer(how->max_retries));
    json_print_pretty(root, &text);
    json_decref(root);
    return text_take(&text);
}

static void settings_of_flags(const struct run_options *how, struct run_input *input)
{
    settings_from_flags(how->repo, how->model, how->mutate, how->has_runs ? how->runs : 1, &input->settings);
    for (size_t i = 0; i < input->settings.entry_count; i++) {
        struct entry_settings *entry = &input->settings.entries[i];
        if (how->has_max_retries)
            entry->max_retries = how->max_retries;
        if (how->governor) {
            free(entry->governor);
            entry->governor = mem_strdup(how->governor);
        }
    }
    input->settings_text = text_with_flags(&input->settings, how);
}

static void read_settings(const struct run_options *how, struct run_input *input)
{
    if (!how->settings_path) {
        settings_of_flags(how, input);
        return;
    }
    settings_read(how->settings_path, &input->settings, &input->problems);
    input->settings_text = mem_strdup(input->settings.doc.text ? input->settings.doc.text : "");
}

static void read_registry(const struct run_options *how, struct run_input *input)
{
    AUTO(located_fini) struct located located = locate_registry(how->registry_path, &input->settings.doc);
    input->registry_path = steal_ptr(located.path);
    input->registry_why = located.why;
    if (input->registry_path)
        registry_read(input->registry_path, &input->registry, &input->problems);
    /* Settings that cannot be read may name one, and may lie beside one: nothing is known of it yet. */
    else if (!how->settings_path || input->settings.doc.root)
        problems_add(&input->problems, SEVERITY_ERROR, &input->settings.doc,
                     json_get_text(input->settings.doc.root, "registry") ? "$.registry" : NULL, "%s", located.missing);
}

static void make_plan(const struct run_options *how, struct run_input *input)
{
    AUTO_FREE char *cwd = getcwd(NULL, 0);
    const char *path = getenv("PATH");
    struct plan_options options = {
        .strict = how->strict,
        .for_running = how->for_running,
        .has_gpus = how->for_other_machine || gpus_are_for_jobs(how->gpus ? how->gpus : input->settings.pool.gpus,
                                                                &input->settings.environment),
        .has_seed = how->has_seed || !input->settings.has_seed,
        .seed = how->has_seed ? how->seed : rng_fresh_seed(),
        .home = getenv("HOME"),
        .conda_prefix = getenv("CONDA_PREFIX"),
        .cwd = cwd ? cwd : "/",
        .path = path ? path : "/usr/local/bin:/usr/bin:/bin",
    };
    plan_make(&input->settings, &input->registry, &options, &input->plan, &input->problems);
}

bool run_input_read(const struct run_options *how, struct run_input *out)
{
    *out = (struct run_input){0};
    read_settings(how, out);
    read_registry(how, out);
    /* Files with mistakes are checked against each other all the same, as there may be more of them. Against a registry
     * of which nothing could be read every name would be reported as unknown. */
    if (out->registry.repo_count > 0 && out->settings.entry_count > 0)
        make_plan(how, out);
    return out->problems.errors == 0;
}

void run_input_fini(struct run_input *input)
{
    settings_fini(&input->settings);
    registry_fini(&input->registry);
    plan_fini(&input->plan);
    problems_fini(&input->problems);
    free(input->settings_text);
    free(input->registry_path);
    *input = (struct run_input){0};
}
