#include "cli/list.h"
#include "base/fs_path.h"
#include "base/json_print.h"

#include "base/mem.h"
#include "plan/config/registry.h"
#include "report/registry_text.h"
#include "session/command.h"
#include "session/message.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST_FILE = 64 << 20 };

void list_options_fini(struct list_options *how)
{
    located_fini(&how->located);
    free(how->only);
    settings_fini(&how->settings);
}

static bool is_file_name(const char *asked)
{
    return fs_is_file(asked) || strchr(asked, '/') || text_ends_with(asked, ".json");
}

/* A registry has models and no experiments. Whatever cannot be read is told by who reads it as
 * settings. */
static bool is_registry(const char *path)
{
    AUTO(json_doc_fini) struct json_doc doc = {0};
    struct err err = {0};
    return json_doc_read_config(path, LONGEST_FILE, &doc, &err) && settings_are_registry(&doc);
}

/* False: an error, which was reported. */
static bool locate_list_registry(const char *asked, const char *config, struct list_options *how)
{
    bool is_file = asked && is_file_name(asked);
    if (is_file && !config && is_registry(asked)) {
        how->located = (struct located){.path = mem_strdup(asked), .why = "asked for"};
        return true;
    }
    if (asked && !is_file)
        how->only = mem_strdup(asked);
    if (is_file) {
        AUTO(problems_fini) struct problems problems = {0};
        how->has_settings = settings_read(asked, &how->settings, &problems);
        message_problems(&problems);
        if (!how->has_settings)
            return false;
    }
    how->located = registry_locate(config, how->has_settings ? &how->settings.doc : NULL);
    if (!how->located.path)
        cli_error("%s", how->located.missing);
    return how->located.path;
}

bool list_read(const char *asked, const char *config, struct list_options *how,
               struct registry *registry)
{
    if (!how->located.path && !locate_list_registry(asked, config, how))
        return false;
    cli_note("registry %s (%s)", how->located.path, how->located.why);
    AUTO(problems_fini) struct problems problems = {0};
    bool good = registry_read(how->located.path, registry, &problems);
    message_problems(&problems);
    return good;
}

static char *nearest_repo(const struct registry *registry, const char *name)
{
    const char **names = mem_array(registry->repo_count + 1, sizeof *names);
    for (size_t i = 0; i < registry->repo_count; i++)
        names[i] = registry->repos[i].name;
    char *nearest = problem_nearest(name, names, registry->repo_count);
    free(names);
    return nearest;
}

const struct repo *list_find_repo(const struct registry *registry, const char *path,
                                  const char *name)
{
    const struct repo *repo = registry_find(registry, name);
    AUTO(study_registry_fini) struct study_registry study = {0};
    if (!repo)
        study_registry_read(&study);
    if (study.path && registry_find(&study.registry, name))
        cli_error("%s has no repository '%s'; the registry of the study has it: --config %s", path,
                  name, study.path);
    else if (!repo) {
        AUTO_FREE char *nearest = nearest_repo(registry, name);
        cli_error("%s has no repository '%s'%s", path, name, nearest);
    }
    return repo;
}

static int print_registry(const struct registry *registry, const char *path, const char *only,
                          bool json)
{
    const struct repo *repo = only ? list_find_repo(registry, path, only) : NULL;
    if (only && !repo)
        return CLI_USAGE;
    AUTO_TEXT struct text text = {0};
    if (json)
        json_print_taken(registry_text_json(registry, repo), &text);
    else
        registry_text(registry, repo, message_colour(STDOUT_FILENO), &text);
    return message_print(&text) ? CLI_OK : CLI_BROKEN;
}

int list_registry(const char *asked, const char *config, bool json)
{
    AUTO(list_options_fini) struct list_options how = {0};
    AUTO(registry_fini) struct registry registry = {0};
    return list_read(asked, config, &how, &registry)
               ? print_registry(&registry, how.located.path, how.only, json)
               : CLI_USAGE;
}
