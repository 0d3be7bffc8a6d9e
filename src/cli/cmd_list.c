/* tare list: shows the models and hyperparameters of a registry; --check tests what they need. */
#include "base/fs.h"
#include "base/json_print.h"
#include "base/mem.h"
#include "cli/list.h"
#include "cli/option_rows.h"
#include "report/registry_text.h"
#include "run/environment/needs.h"
#include "session/caller.h"
#include "session/command.h"
#include "session/message.h"
#include "slurm/collect.h"
#include "tare_build.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add_job_model(const struct job_settings *job, const struct repo *repo,
                          struct strv *models)
{
    if (job->repo && job->model && strcmp(job->repo, repo->name) == 0)
        strv_add_once(models, job->model);
}

static void find_models(const struct list_options *how, const struct repo *repo,
                        struct strv *models)
{
    if (!how->has_settings) {
        strv_add_all(models, &repo->models);
        return;
    }
    EACH (entry, how->settings.entries, how->settings.entry_count) {
        add_job_model(&entry->foreground, repo, models);
        if (entry->parallel)
            add_job_model(&entry->background, repo, models);
    }
}

static bool check_job_model(const struct registry *registry, const char *path,
                            const struct job_settings *job)
{
    const struct repo *repo = list_find_repo(registry, path, job->repo);
    bool has = repo && strv_has(&repo->models, job->model);
    if (repo && !has)
        cli_error("%s has no model '%s' in '%s'", path, job->model, job->repo);
    return has;
}

/* Reports each repository and model of the settings that the registry lacks. */
static bool check_settings_models(const struct registry *registry, const struct list_options *how)
{
    bool good = !how->only || list_find_repo(registry, how->located.path, how->only);
    for (size_t i = 0; how->has_settings && i < how->settings.entry_count; i++) {
        const struct entry_settings *entry = &how->settings.entries[i];
        good = check_job_model(registry, how->located.path, &entry->foreground) && good;
        if (entry->parallel)
            good = check_job_model(registry, how->located.path, &entry->background) && good;
    }
    return good;
}

/* cwd: the working folder, or NULL. */
static struct plan_options plan_options(const char *cwd)
{
    const char *path = getenv("PATH");
    return (struct plan_options){
        .home = getenv("HOME"),
        .conda_prefix = getenv("CONDA_PREFIX"),
        .cwd = cwd ? cwd : "/",
        .path = path ? path : "/usr/local/bin:/usr/bin:/bin",
        .has_seed = true,
    };
}

static void find_listed_needs(const struct registry *registry, const struct list_options *how,
                              struct needs *needs)
{
    AUTO_FREE char *cwd = getcwd(NULL, 0);
    const struct plan_options options = plan_options(cwd);
    EACH (repo, registry->repos, registry->repo_count) {
        AUTO_STRV struct strv models = {0};
        if (!how->only || strcmp(how->only, repo->name) == 0)
            find_models(how, repo, &models);
        if (models.count)
            needs_check_repo(registry, repo, &models, &options, needs);
    }
    needs_ask(needs);
}

static int print_needs(const struct needs *needs, const char *registry, bool json)
{
    AUTO_TEXT struct text text = {0};
    if (json)
        json_print_taken(needs_text_json(needs, registry), &text);
    else
        needs_text(needs, message_colour(STDOUT_FILENO), &text);
    if (!message_print(&text))
        return CLI_BROKEN;
    return needs_all_there(needs) ? CLI_OK : CLI_SOME_FAILED;
}

/* Gives the exit code: 0 all there, 1 something is missing. */
static int list_check(const char *asked, const char *config, bool json)
{
    AUTO(list_options_fini) struct list_options how = {0};
    AUTO(registry_fini) struct registry registry = {0};
    if (!list_read(asked, config, &how, &registry) || !check_settings_models(&registry, &how))
        return CLI_USAGE;
    AUTO(needs_fini) struct needs needs = {0};
    find_listed_needs(&registry, &how, &needs);
    return print_needs(&needs, how.located.path, json);
}

enum { OPTION_CONFIG, OPTION_CHECK, OPTION_JSON, OPTION_AS_ROOT, OPTION_COUNT };

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_CONFIG] = OPTION_ROW_REGISTRY("the registry to show, instead of the one that is found"),
    [OPTION_CHECK] =
        FLAG_ROW(NULL, "--check", "list what is still missing on this machine, and how to get it"),
    [OPTION_JSON] = FLAG_ROW(NULL, "--json", "as JSON"),
    [OPTION_AS_ROOT] = FLAG_ROW(NULL, "--as-root", "under sudo, stay root"),
};

static int run_list(const struct cli_call *call)
{
    const char *asked = call->operands.count ? call->operands.items[0] : NULL;
    const char *config = call->values[OPTION_CONFIG].text;
    bool json = call->values[OPTION_JSON].given;
    return call->values[OPTION_CHECK].given ? list_check(asked, config, json)
                                            : list_registry(asked, config, json);
}

static const char *const usage[] = {"list [REPO | SETTINGS.json | REGISTRY.json] [options]",
                                    "list --check [SETTINGS.json | REGISTRY.json | REPO] [options]",
                                    NULL};

static const char *const description[] = {
    "Shows the repositories of a registry with their models and hyperparameters: flag, type, "
    "range, default and "
    "distribution. The registry is found as 'run' finds it; of a settings file, it is the one that "
    "'run' would take.",
    "With --check: what its models need and this machine lacks (the repository's folder, script, "
    "interpreter, Python "
    "modules and their versions, data, room on the disk), and the command or place that fixes it. "
    "Of a settings file, "
    "only the models that it runs are checked. Modules are imported in a child that sees no GPU; "
    "nothing is fetched, "
    "nothing is trained.",
    NULL};

static const char *const exits[] = {"0", "shown; with --check: all is there",
                                    "1", "with --check: something is missing",
                                    "2", "no registry, a mistake in it, or no such repository",
                                    NULL};

static const char *const examples[] = {
    "list --check settings.json",
    "what this machine lacks of what the settings need",
    "list digits -c registry.json",
    "the models and hyperparameters of one repository",
    NULL,
};

const struct cli_command cmd_list = {
    .name = "list",
    .group = CLI_GROUP_RUN,
    .summary = "show repositories, models and hyperparameters",
    .operand_max = 1,
    .operand_name = "REPO",
    COMMAND_TABLES,
    .run = run_list,
};
