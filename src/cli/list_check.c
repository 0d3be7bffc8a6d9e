#include "base/fs.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/list.h"
#include "cli/locate.h"
#include "cli/message.h"
#include "config/settings.h"
#include "report/needs_text.h"
#include "run/needs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST_FILE = 64 << 20 };

/* What one check looks at. */
struct wish {
    char *registry_path;
    const char *registry_why;
    char *only; /* a repository's name, or NULL */
    struct settings settings;
    bool has_settings;
};

static void wish_fini(struct wish *wish)
{
    free(wish->registry_path);
    free(wish->only);
    settings_fini(&wish->settings);
}

static bool is_file_name(const char *asked)
{
    size_t length = strlen(asked);
    return fs_is_file(asked) || strchr(asked, '/') || (length > 5 && strcmp(asked + length - 5, ".json") == 0);
}

/* A registry has models and no experiments. Whatever cannot be read is told by who reads it as settings. */
static bool is_registry(const char *path)
{
    struct json_doc doc = {0};
    struct err err = {0};
    bool is = json_doc_read(path, LONGEST_FILE, &doc, &err) && json_get(doc.root, "models") &&
              !json_get(doc.root, "experiments");
    json_doc_fini(&doc);
    return is;
}

static void take_located(struct wish *wish, struct located located)
{
    wish->registry_path = located.path;
    wish->registry_why = located.why;
}

/* False: a mistake, which was told. */
static bool read_wish(const char *asked, const char *config, struct wish *wish)
{
    bool is_file = asked && is_file_name(asked);
    if (is_file && !config && is_registry(asked)) {
        *wish = (struct wish){.registry_path = mem_strdup(asked), .registry_why = "asked for"};
        return true;
    }
    if (asked && !is_file)
        wish->only = mem_strdup(asked);
    if (is_file) {
        AUTO(problems_fini) struct problems problems = {0};
        wish->has_settings = settings_read(asked, &wish->settings, &problems);
        message_problems(&problems);
        if (!wish->has_settings)
            return false;
    }
    take_located(wish, locate_registry(config, wish->has_settings ? &wish->settings.doc : NULL));
    if (wish->registry_path)
        return true;
    AUTO_FREE char *nowhere = locate_nowhere();
    cli_error("%s", nowhere);
    return false;
}

/* The models of one repository that a job of the settings trains. */
static void add_job(const struct job_settings *job, const struct repo *repo, struct strv *models)
{
    if (job->repo && job->model && strcmp(job->repo, repo->name) == 0)
        strv_add_once(models, job->model);
}

static void find_models(const struct wish *wish, const struct repo *repo, struct strv *models)
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
static bool check_names(const struct registry *registry, const struct wish *wish)
{
    bool good = !wish->only || list_find_repo(registry, wish->registry_path, wish->only);
    for (size_t i = 0; wish->has_settings && i < wish->settings.entry_count; i++) {
        const struct entry_settings *entry = &wish->settings.entries[i];
        good = check_job(registry, wish->registry_path, &entry->foreground) && good;
        if (entry->parallel)
            good = check_job(registry, wish->registry_path, &entry->background) && good;
    }
    return good;
}

static void look(const struct registry *registry, const struct wish *wish, struct needs *needs)
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
    AUTO(wish_fini) struct wish wish = {0};
    if (!read_wish(asked, config, &wish))
        return CLI_USAGE;
    cli_note("registry %s (%s)", wish.registry_path, wish.registry_why);
    AUTO(registry_fini) struct registry registry = {0};
    AUTO(problems_fini) struct problems problems = {0};
    bool good = registry_read(wish.registry_path, &registry, &problems);
    message_problems(&problems);
    if (!good || !check_names(&registry, &wish))
        return CLI_USAGE;
    AUTO(needs_fini) struct needs needs = {0};
    look(&registry, &wish, &needs);
    return print(&needs, wish.registry_path, json);
}
