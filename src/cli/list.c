#include "cli/list.h"

#include "base/mem.h"
#include "cli/command.h"
#include "cli/message.h"
#include "config/registry.h"
#include "report/registry_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char *nearest_repo(const struct registry *registry, const char *name)
{
    const char **names = mem_array(registry->repo_count + 1, sizeof *names);
    for (size_t i = 0; i < registry->repo_count; i++)
        names[i] = registry->repos[i].name;
    char *nearest = problem_nearest(name, names, registry->repo_count);
    free(names);
    return nearest;
}

const struct repo *list_find_repo(const struct registry *registry, const char *path, const char *name)
{
    const struct repo *repo = registry_find(registry, name);
    if (!repo) {
        AUTO_FREE char *nearest = nearest_repo(registry, name);
        cli_error("%s has no repository '%s'%s", path, name, nearest);
    }
    return repo;
}

static int print_registry(const struct registry *registry, const char *path, const char *only, bool json)
{
    const struct repo *repo = only ? list_find_repo(registry, path, only) : NULL;
    if (only && !repo)
        return CLI_USAGE;
    AUTO_TEXT struct text text = {0};
    if (json) {
        json_t *tree = registry_text_json(registry, repo);
        json_print_pretty(tree, &text);
        json_decref(tree);
    } else {
        registry_text(registry, repo, message_colour(STDOUT_FILENO), &text);
    }
    return message_print(&text) ? CLI_OK : CLI_BROKEN;
}

int list_registry(const char *path, const char *only, bool json)
{
    struct registry registry = {0};
    AUTO(problems_fini) struct problems problems = {0};
    bool ok = registry_read(path, &registry, &problems);
    message_problems(&problems);
    int code = ok ? print_registry(&registry, path, only, json) : CLI_USAGE;
    registry_fini(&registry);
    return code;
}
