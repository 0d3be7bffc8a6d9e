#include "plan/config/registry.h"
#include "base/fs_path.h"
#include "base/json_place.h"

#include "base/mem.h"
#include "plan/config/registry_repo.h"
#include "tare_build.h"

#include <string.h>
#include <strings.h>

enum { LONGEST_FILE = 64 << 20 };

static const struct field top_rows[] = {
    {"models", FIELD_OTHER, .expected = "an object of repositories",
     .schema = "{'type': 'object', 'minProperties': 1, 'additionalProperties': {'$ref': "
               "'#/$defs/repository'}}",
     .initial = "needed", .help = "a repository's name leads to what is known of it"},
};

static const struct field_table top_table = FIELD_TABLE("The top of the registry", top_rows);

static void read_registry_root(const struct source *source, const char *folder,
                               struct registry *registry)
{
    const json_t *root = registry->doc.root;
    if (!json_is_object(root)) {
        field_refuse(source, "$", NULL, "an object (the registry)", root);
        return;
    }
    fields_check_keys(source, "$", root, &top_table, UNKNOWN_ARE_WARNINGS, NULL);
    AUTO_FREE char *path = NULL;
    const json_t *models = field_object(source, "$", root, "models", &path);
    if (!models) {
        if (!json_get(root, "models"))
            field_error(source, "$", "'models' is missing: the repositories");
        return;
    }
    if (json_object_size(models) == 0)
        field_error(source, path, "'models': there is no repository in it");
    registry->repos = mem_array(json_object_size(models), sizeof *registry->repos);
    fields_check_repeats(source, path, models);
    const char *name;
    json_t *json;
    json_object_foreach((json_t *)models, name, json)
    {
        AUTO_FREE char *place = json_path_key(path, name);
        registry_read_repo(source, place, folder, name, json,
                           &registry->repos[registry->repo_count++]);
    }
}

/* Reads registry->doc. */
static bool read_registry_document(struct registry *registry, struct problems *problems)
{
    size_t errors = problems->errors;
    const struct source source = {.doc = &registry->doc, .problems = problems};
    AUTO_FREE char *folder = fs_dirname(registry->file);
    read_registry_root(&source, folder, registry);
    return problems->errors == errors;
}

bool registry_read(const char *path, struct registry *out, struct problems *problems)
{
    *out = (struct registry){.file = mem_strdup(path)};
    struct err err = {0};
    if (json_doc_read_config(path, LONGEST_FILE, &out->doc, &err))
        return read_registry_document(out, problems);
    problems_add_unreadable(problems, path, &err);
    return false;
}

bool registry_parse(const char *file, const char *text, size_t length, struct registry *out,
                    struct problems *problems)
{
    *out = (struct registry){.file = mem_strdup(file)};
    struct err err = {0};
    if (json_doc_parse(file, text, length, &out->doc, &err))
        return read_registry_document(out, problems);
    problems_add_unreadable(problems, file, &err);
    return false;
}

void registry_fini(struct registry *registry)
{
    EACH (repo, registry->repos, registry->repo_count)
        registry_repo_fini(repo);
    free(registry->repos);
    free(registry->file);
    json_doc_fini(&registry->doc);
    *registry = (struct registry){0};
}

const struct repo *registry_find(const struct registry *registry, const char *name)
{
    EACH (item, registry->repos, registry->repo_count)
        if (strcmp(item->name, name) == 0)
            return item;
    return NULL;
}

const struct param *repo_param(const struct repo *repo, const char *name)
{
    EACH (item, repo->params, repo->param_count)
        if (strcmp(item->name, name) == 0)
            return item;
    return NULL;
}

bool param_name_is_seed(const char *name)
{
    static const char *const seeds[] = {"seed", "random_seed", "manual_seed"};
    EACH_OF (seed, seeds)
        if (strcasecmp(name, *seed) == 0)
            return true;
    return false;
}

const struct param *repo_seed(const struct repo *repo)
{
    EACH (item, repo->params, repo->param_count)
        if (param_name_is_seed(item->name))
            return item;
    return NULL;
}

static const struct field_object objects[] = {
    {"registry", UNKNOWN_ARE_WARNINGS, true, {&top_table}},
    {"repository",
     UNKNOWN_ARE_WARNINGS,
     true,
     {&registry_trains_table, &registry_where_table, &registry_rules_table, &registry_command_table,
      &registry_needs_table}},
    {"hyperparameter", UNKNOWN_ARE_WARNINGS, true, {&registry_param_table}},
    {"performance_metrics", UNKNOWN_ARE_WARNINGS, true, {&registry_metrics_table}},
    {"metric", UNKNOWN_ARE_WARNINGS, true, {&registry_metric_table}},
    {"mark", UNKNOWN_ARE_WARNINGS, true, {&registry_mark_table}},
    {"oom_step", UNKNOWN_ARE_WARNINGS, true, {&registry_oom_table}},
    {"source", UNKNOWN_ARE_WARNINGS, true, {&registry_source_table}},
    {"data", UNKNOWN_ARE_WARNINGS, true, {&registry_data_table}},
    {"requires", UNKNOWN_ARE_WARNINGS, true, {&registry_modules_table}},
};

void registry_describe(struct text *out)
{
    fields_describe_all(objects, sizeof objects / sizeof *objects, out);
}

json_t *registry_schema(void)
{
    return fields_schema("Registry of " TARE_NAME, objects, sizeof objects / sizeof *objects);
}
