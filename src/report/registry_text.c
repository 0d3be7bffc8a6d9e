#include "report/registry_text.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "base/value.h"
#include "report/table.h"

#include <string.h>

#define BOLD  "\033[1m"
#define PLAIN "\033[0m"

static const char *type_name(const struct param *param)
{
    switch (param->type) {
    case PARAM_INT:
        return "int";
    case PARAM_FLOAT:
        return "float";
    case PARAM_CHOICE:
        return "choice";
    case PARAM_BOOL:
        return "bool";
    case PARAM_TEXT:
        return "text";
    }
    return "";
}

static const char *distribution_name(const struct param *param)
{
    if (param->type >= PARAM_CHOICE)
        return "";
    switch (param->distribution) {
    case DISTRIBUTION_UNIFORM:
        return "uniform";
    case DISTRIBUTION_LOG_UNIFORM:
        return "log_uniform";
    case DISTRIBUTION_NORMAL:
        return "normal";
    }
    return "";
}

static struct value bound(const struct param *param, double number)
{
    return param->type == PARAM_INT ? value_int((int64_t)number) : value_float(number);
}

/* "5 .. 15", or the choices. */
static char *param_range_text(const struct param *param)
{
    struct text out = {0};
    for (size_t i = 0; i < param->choice_count; i++) {
        AUTO_FREE char *choice = value_format(&param->choices[i]);
        text_addf(&out, "%s%s", i ? ", " : "", choice);
    }
    if (param->type < PARAM_CHOICE && param->has_range) {
        struct value low_value = bound(param, param->low), high_value = bound(param, param->high);
        AUTO_FREE char *low = value_format(&low_value);
        AUTO_FREE char *high = value_format(&high_value);
        text_addf(&out, "%s .. %s", low, high);
    }
    return text_take(&out);
}

static char *distribution_text(const struct param *param)
{
    if (param->zero_probability > 0)
        return mem_printf("%s, 0 in %g %%", distribution_name(param),
                          param->zero_probability * 100);
    return mem_strdup(distribution_name(param));
}

static void add_params_table(const struct repo *repo, bool colour, struct text *out)
{
    if (repo->param_count == 0) {
        text_add(out, "no hyperparameters\n");
        return;
    }
    struct table *table =
        table_of(colour, "HYPERPARAMETER", "FLAG", "TYPE", "RANGE", "DEFAULT", "DISTRIBUTION");
    EACH (param, repo->params, repo->param_count)
        table_row(table, mem_strdup(param->name), mem_strdup(param->flag ? param->flag : ""),
                  mem_strdup(type_name(param)), param_range_text(param),
                  value_format(&param->default_value), distribution_text(param));
    table_end(table, out);
}

static void add_repo_text(const struct repo *repo, bool colour, struct text *out)
{
    AUTO_FREE char *models = strv_join(&repo->models, ", "),
                   *path = utf8_line(repo->path ? repo->path : "");
    utf8_make_printable(models, "");
    text_addf(out, "%s%s%s\n", colour ? BOLD : "", repo->name, colour ? PLAIN : "");
    text_addf(out, "models   %s\n", models);
    text_addf(out, "path     %s%s\n", path, repo->path_exists ? "" : " (not there)");
    if (repo->metric_count)
        text_add(out, "metrics  ");
    for (size_t i = 0; i < repo->metric_count; i++) {
        /* "score (minimize)" where the registry says so. */
        const char *goal = goal_name(repo->metrics[i].goal);
        text_addf(out, "%s%s", i > 0 ? ", " : "", repo->metrics[i].name);
        if (goal)
            text_addf(out, " (%s)", goal);
    }
    if (repo->metric_count)
        text_add_char(out, '\n');
    for (size_t i = 0; i < repo->mark_count; i++)
        text_addf(out, "%s%s", i ? ", " : "marks    ", repo->marks[i].name);
    if (repo->mark_count)
        text_add_char(out, '\n');
    text_add_char(out, '\n');
    add_params_table(repo, colour, out);
}

void registry_text(const struct registry *registry, const struct repo *only, bool colour,
                   struct text *out)
{
    size_t printed = 0;
    EACH (item, registry->repos, registry->repo_count) {
        if (only && only != item)
            continue;
        text_add(out, printed++ ? "\n" : "");
        add_repo_text(item, colour, out);
    }
}

static json_t *param_json(const struct param *param)
{
    json_t *out = json_pack("{s:s, s:o, s:s, s:o}", "name", param->name, "flag",
                            json_text_or_null(param->flag), "type", type_name(param), "default",
                            value_to_json(&param->default_value));
    if (param->type >= PARAM_CHOICE) {
        json_t *choices = json_array();
        EACH (choice, param->choices, param->choice_count)
            json_array_append_new(choices, value_to_json(choice));
        json_object_set_new(out, "choices", choices);
        return out;
    }
    if (param->has_range) {
        struct value low = bound(param, param->low), high = bound(param, param->high);
        json_object_set_new(out, "range",
                            json_pack("[o, o]", value_to_json(&low), value_to_json(&high)));
    }
    json_set_text(out, "distribution", distribution_name(param));
    if (param->zero_probability > 0)
        json_object_set_new(out, "zero_probability", json_finite(param->zero_probability));
    return out;
}

static json_t *registry_repo_json(const struct repo *repo)
{
    json_t *models = json_array(), *params = json_array(), *metrics = json_array(),
           *marks = json_array(), *goals = json_object();
    EACH (item, repo->models.items, repo->models.count)
        json_array_append_new(models, json_string(*item));
    EACH (param, repo->params, repo->param_count)
        json_array_append_new(params, param_json(param));
    EACH (metric, repo->metrics, repo->metric_count) {
        json_array_append_new(metrics, json_string(metric->name));
        json_set_text(goals, metric->name, goal_name(goal_of(metric->goal, metric->name)));
    }
    EACH (mark, repo->marks, repo->mark_count)
        json_array_append_new(marks, json_string(mark->name));
    const char *path = repo->path ? repo->path : "";
    return json_pack("{s:s, s:o*, s:b, s:o, s:o, s:o, s:o, s:o}", "name", repo->name, "path",
                     json_string(path), "path_exists", repo->path_exists, "models", models,
                     "hyperparameters", params, "metrics", metrics, "goals", goals, "marks", marks);
}

json_t *registry_text_json(const struct registry *registry, const struct repo *only)
{
    json_t *repos = json_array(), *out = json_object();
    EACH (item, registry->repos, registry->repo_count)
        if (!only || only == item)
            json_array_append_new(repos, registry_repo_json(item));
    json_object_set_new(out, "registry", json_string(registry->file));
    json_object_set_new(out, "repositories", repos);
    return out;
}
