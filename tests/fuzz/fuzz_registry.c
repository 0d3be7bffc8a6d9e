/* Any bytes read as a registry: no crash, every problem is one line that can be printed, and a
 * hyperparameter of a registry without errors can be drawn. */
#include "plan/config/registry.h"
#include "problems.h"

#include <math.h>

static void check_param(const struct param *param)
{
    if (param->type == PARAM_CHOICE) {
        if (param->choice_count == 0)
            abort();
        return;
    }
    if (!param->has_range || !(param->low <= param->high))
        abort();
    if (param->distribution == DISTRIBUTION_LOG_UNIFORM && !(param->low > 0))
        abort();
    if (param->type == PARAM_INT &&
        (floor(param->low) != param->low || floor(param->high) != param->high))
        abort();
    if (param->has_normal && !(param->mean >= param->low && param->mean <= param->high))
        abort();
}

/* What is handed to git, to a terminal and to an interpreter. */
static void check_needs(const struct repo *repo)
{
    if (repo->source.url && (repo->source.url[0] == '-' || strpbrk(repo->source.url, " \n\r\x1b")))
        abort();
    if (repo->source.commit &&
        strspn(repo->source.commit, "0123456789abcdef") != strlen(repo->source.commit))
        abort();
    for (size_t i = 0; i < repo->data_count; i++)
        if (!repo->data[i].path[0] || (repo->data[i].get && strpbrk(repo->data[i].get, "\n\r\x1b")))
            abort();
    for (size_t i = 0; i < repo->module_count; i++)
        for (size_t j = 0; j < repo->modules[i].names.count; j++)
            if (repo->modules[i].names.items[j][0] == '-' ||
                strpbrk(repo->modules[i].names.items[j], " ;()\n\x1b"))
                abort();
}

static void check_repo(const struct repo *repo, bool good)
{
    if (good)
        check_needs(repo);
    if (!repo->name || !repo->path || !repo->train_script || !repo->json_path)
        abort();
    for (size_t i = 0; i < repo->param_count; i++)
        if (!repo->params[i].name)
            abort();
        else if (good)
            check_param(&repo->params[i]);
    for (size_t i = 0; good && i < repo->models.count; i++)
        if (!repo->models.items[i][0] || strpbrk(repo->models.items[i], "\n\r\x1b"))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct registry registry;
    struct problems problems = {0};
    bool good = registry_parse("input", (const char *)data, size, &registry, &problems);
    check_problems(&problems, good);
    for (size_t i = 0; i < registry.repo_count; i++)
        check_repo(&registry.repos[i], good);
    registry_fini(&registry);
    problems_fini(&problems);
    return 0;
}
