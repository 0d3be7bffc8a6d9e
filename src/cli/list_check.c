#include "base/mem.h"
#include "cli/command.h"
#include "cli/list.h"
#include "cli/message.h"
#include "report/needs_text.h"
#include "run/needs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The models of one repository that a job of the settings trains. */
static void add_job(const struct job_settings *job, const struct repo *repo, struct strv *models)
{
    if (job->repo && job->model && strcmp(job->repo, repo->name) == 0)
        strv_add_once(models, job->model);
}

static void find_models(const struct list_wish *wish, const struct repo *repo, struct strv *models)
{
    if (!wish->has_settings) {
        strv_add_all(models, &repo->models);
        return;
    }
    for (size_t i = 0; i < wish->settings.entry_count; i++) {
        add_job(&wish->settings.entries[i].foreground, repo, models);
        if (wish->settings.entries[i].parallel)
            add_job(&wish->settings.entries[i].background, repo, models);
    }
}

static bool check_job(const struct registry *registry, const char *path, const struct job_settings *job)
{
    const struct repo *repo = list_find_repo(registry, path, job->repo);
    if (repo && !strv_has(&repo->models, job->model))
        cli_error("%s has no model '%s' in '%s'", path, job->model, job->repo);
    return repo && strv_has(&repo->models, job->model);
}

/* All that the settings name is in the registry? Each that is not is told. */
static bool check_names(const struct registry *registry, const struct list_wish *wish)
{
    bool good = !wish->only || list_find_repo(registry, wish->located.path, wish->only);
    for (size_t i = 0; wish->has_settings && i < wish->settings.entry_count; i++) {
        const struct entry_settings *entry = &wish->settings.entries[i];
        good = check_job(registry, wish->located.path, &entry->foreground) && good;
        if (entry->parallel)
            good = check_job(registry, wish->located.path, &entry->background) && good;
    }
    return good;
}

static void look(const struct registry *registry, const struct list_wish *wish, struct needs *needs)
{
    AUTO_FREE char *cwd = getcwd(NULL, 0);
    const char *path = getenv("PATH");
    const struct plan_options options = {
        .home = getenv("HOME"),
        .conda_prefix = getenv("CONDA_PREFIX"),
        .cwd = cwd ? cwd : "/",
        .path = path ? path : "/usr/local/bin:/usr/bin:/bin",
    };
    for (size_t i = 0; i < registry->repo_count; i++) {
        const struct repo *repo = &registry->repos[i];
        AUTO_STRV struct strv models = {0};
        if (!wish->only || strcmp(wish->only, repo->name) == 0)
            find_models(wish, repo, &models);
        if (models.count)
            needs_look(registry, repo, &models, &options, needs);
    }
    needs_ask(needs);
}

static int print(const struct needs *needs, const char *registry, bool json)
{
    AUTO_TEXT struct text text = {0};
    if (json) {
        json_t *tree = needs_text_json(needs, registry);
        json_print_pretty(tree, &text);
        json_decref(tree);
    } else {
        needs_text(needs, message_colour(STDOUT_FILENO), &text);
    }
    if (!message_print(&text))
        return CLI_BROKEN;
    return needs_all_there(needs) ? CLI_OK : CLI_SOME_FAILED;
}

int list_check(const char *asked, const char *config, bool json)
{
    AUTO(list_wish_fini) struct list_wish wish = {0};
    AUTO(registry_fini) struct registry registry = {0};
    if (!list_read(asked, config, &wish, &registry) || !check_names(&registry, &wish))
        return CLI_USAGE;
    AUTO(needs_fini) struct needs needs = {0};
    look(&registry, &wish, &needs);
    return print(&needs, wish.located.path, json);
}
