#include "plan/config/registry_rules.h"
#include "base/json_place.h"
#include "base/mark.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static const struct field mark_rows[] = {
    {"start", FIELD_PATTERN, offsetof(struct registry_mark, start), .initial = "none",
     .help = "of the line that is printed when one begins; its first group is the label"},
    {"end", FIELD_PATTERN, offsetof(struct registry_mark, end), .initial = "none",
     .help = "of the line that is printed when one has ended, such as the line with an epoch's "
             "results; its first "
             "group is the label"},
};

const struct field_table registry_mark_table = FIELD_TABLE("A row of `marks`", mark_rows);

static void read_mark(const struct source *source, const char *path, const char *name,
                      const json_t *json, void *out)
{
    struct repo *repo = out;
    struct registry_mark mark = {0};
    const struct field pattern = {.key = name, .kind = FIELD_PATTERN};
    bool good_name = mark_name_is_valid(name);
    if (!good_name)
        problems_add_at_key(source->problems, SEVERITY_ERROR, source->doc, path,
                            "'%s' is no name of a mark: expected " MARK_NAME_RULE, name);
    if (json_is_string(json)) {
        field_read(source, path, json, &pattern, &mark.start);
    } else if (json_is_object(json)) {
        fields_check_keys(source, path, json, &registry_mark_table, UNKNOWN_ARE_WARNINGS, NULL);
        fields_read(source, path, json, &registry_mark_table, &mark);
        if (!json_get(json, "start") && !json_get(json, "end"))
            field_error(source, path,
                        "'%s': neither 'start' nor 'end': at least one of them is needed", name);
    } else {
        field_refuse(source, path, name, "a regular expression or an object with 'start' and 'end'",
                     json);
    }
    if (!good_name || (!mark.start && !mark.end)) {
        free(mark.start);
        free(mark.end);
        return;
    }
    mark.name = mem_strdup(name);
    repo->marks[repo->mark_count++] = mark;
}

void registry_read_marks(const struct source *source, const char *path, const json_t *json,
                         struct repo *out)
{
    out->marks = mem_array(json_object_size(json_get(json, "marks")), sizeof *out->marks);
    fields_each(source, path, json, "marks", read_mark, out);
}

struct registry_mark registry_mark_copy(const struct registry_mark *mark)
{
    return (struct registry_mark){mem_strdup(mark->name), mem_strdup(mark->start),
                                  mem_strdup(mark->end)};
}

void registry_marks_fini(struct registry_mark *marks, size_t count)
{
    EACH (mark, marks, count) {
        free(mark->name);
        free(mark->start);
        free(mark->end);
    }
    free(marks);
}

static const char *const metrics_names[] = {
    [METRICS_OPTIONAL] = "optional", [METRICS_ANY] = "any", [METRICS_REQUIRED] = "required", NULL};

static const struct {
    const char *name;
    unsigned flag;
} causes[] = {{"shell_message", FAIL_ON_SHELL_MESSAGE},
              {"oom_kill", FAIL_ON_OOM_KILL},
              {"member_signal", FAIL_ON_MEMBER_SIGNAL}};

#define CAUSES (sizeof causes / sizeof *causes)

static const struct field rows[] = {
    {"metrics", FIELD_OTHER,
     .expected = "\"any\", \"required\" or \"optional\", or an object that leads from models to "
                 "one of these",
     .schema = "{'anyOf': [{'enum': ['any', 'required', 'optional']}, {'type': 'object', "
               "'additionalProperties': "
               "{'enum': ['any', 'required', 'optional']}}]}",
     .initial = "any",
     .help = "which of `log_patterns` must have matched for a success: any: at least one, where "
             "there are any; "
             "required: all; optional: none"},
    {"fail_on", FIELD_OTHER,
     .expected = "a list of \"shell_message\", \"oom_kill\" and \"member_signal\"",
     .schema =
         "{'type': 'array', 'items': {'enum': ['shell_message', 'oom_kill', 'member_signal']}}",
     .initial = "all three",
     .help = "what fails a training that exits with 0: a shell's line that a signal ended a "
             "program of it; a kill "
             "for want of memory in its cgroup; an orphan of it that a signal ended"},
    {"cpu_models", FIELD_LIST, offsetof(struct repo, cpu_models), .initial = "none",
     .help = "models that use no GPU: that they did not is no evidence"},
    {"reads_checkpoints", FIELD_BOOL, offsetof(struct repo, reads_checkpoints), .initial = "false",
     .help = "the training is meant to read checkpoints that are older than itself (pretrained "
             "weights): they are "
             "not named"},
};

const struct field_table registry_rules_table =
    FIELD_TABLE("An entry of `models`: what else success is", rows);

void registry_check_model(const struct source *source, const char *path, const char *key,
                          const char *model, const struct repo *repo)
{
    if (strv_has(&repo->models, model))
        return;
    AUTO_FREE char *nearest =
        problem_nearest(model, (const char *const *)repo->models.items, repo->models.count);
    field_error(source, path, "'%s': '%s' is none of the repository's models%s", key, model,
                nearest);
}

static void read_rule(const struct source *source, const char *path, const json_t *json,
                      enum metrics_rule *out)
{
    const char *name = json_string_value(json);
    for (int i = 0; name && metrics_names[i]; i++)
        if (strcmp(metrics_names[i], name) == 0) {
            *out = (enum metrics_rule)i;
            return;
        }
    field_refuse(source, path, "metrics", "\"any\", \"required\" or \"optional\"", json);
}

static void read_model_rule(const struct source *source, const char *path, const char *model,
                            const json_t *json, void *out)
{
    struct repo *repo = out;
    struct registry_model_rule *to = &repo->model_rules[repo->model_rule_count++];
    *to = (struct registry_model_rule){.model = mem_strdup(model), .metrics = METRICS_ANY};
    registry_check_model(source, path, "metrics", model, repo);
    read_rule(source, path, json, &to->metrics);
}

static void read_metrics_rules(const struct source *source, const char *path, const json_t *json,
                               struct repo *out)
{
    const json_t *given = json_get(json, "metrics");
    AUTO_FREE char *place = json_path_key(path, "metrics");
    out->model_rules = mem_array(json_object_size(given) + 1, sizeof *out->model_rules);
    if (json_is_object(given))
        fields_each(source, path, json, "metrics", read_model_rule, out);
    else if (given)
        read_rule(source, place, given, &out->metrics_rule);
}

static void read_fail_on(const struct source *source, const char *path, const json_t *json,
                         struct repo *out)
{
    const json_t *given = json_get(json, "fail_on");
    AUTO_FREE char *place = json_path_key(path, "fail_on");
    if (!given)
        return;
    out->fail_on = 0;
    if (!json_is_array(given))
        field_refuse(source, place, "fail_on", rows[1].expected, given);
    for (size_t i = 0; i < json_array_size(given); i++) {
        const char *name = json_string_value(json_array_get(given, i));
        unsigned flag = 0;
        for (size_t k = 0; name && k < CAUSES; k++)
            flag |= strcmp(causes[k].name, name) == 0 ? causes[k].flag : 0;
        if (!flag)
            field_refuse(source, place, "fail_on", rows[1].expected, json_array_get(given, i));
        out->fail_on |= flag;
    }
}

void registry_read_rules(const struct source *source, const char *path, const json_t *json,
                         struct repo *out)
{
    out->metrics_rule = METRICS_ANY;
    out->fail_on = FAIL_ON_ALL;
    fields_read(source, path, json, &registry_rules_table, out);
    read_metrics_rules(source, path, json, out);
    read_fail_on(source, path, json, out);
    AUTO_FREE char *place = json_path_key(path, "cpu_models");
    for (size_t i = 0; i < out->cpu_models.count; i++)
        registry_check_model(source, place, "cpu_models", out->cpu_models.items[i], out);
}

void registry_rules_fini(struct repo *repo)
{
    EACH (model_rule, repo->model_rules, repo->model_rule_count)
        free(model_rule->model);
    free(repo->model_rules);
    strv_fini(&repo->cpu_models);
}

struct success_rules repo_rules(const struct repo *repo, const char *model)
{
    struct success_rules rules = {.metrics = repo->metrics_rule,
                                  .fail_on = repo->fail_on,
                                  .cpu_only = strv_has(&repo->cpu_models, model),
                                  .reads_checkpoints = repo->reads_checkpoints};
    EACH (model_rule, repo->model_rules, repo->model_rule_count)
        if (strcmp(model_rule->model, model) == 0)
            rules.metrics = model_rule->metrics;
    return rules;
}

json_t *success_rules_to_json(const struct success_rules *rules)
{
    json_t *fail_on = json_array();
    EACH (cause, causes, CAUSES)
        if (rules->fail_on & cause->flag)
            json_array_append_new(fail_on, json_string(cause->name));
    return json_pack("{s:s, s:o, s:o*, s:o*}", "metrics", metrics_names[rules->metrics], "fail_on",
                     fail_on, "cpu_only", rules->cpu_only ? json_true() : NULL, "reads_checkpoints",
                     rules->reads_checkpoints ? json_true() : NULL);
}

struct success_rules success_rules_from_json(const json_t *json)
{
    /* Plans made before there were rules hold none, and keep to none. */
    struct success_rules rules = {
        .cpu_only = !json || json_is_true(json_object_get(json, "cpu_only")),
        .reads_checkpoints = !json || json_is_true(json_object_get(json, "reads_checkpoints"))};
    const char *metrics = json_get_text(json, "metrics");
    const json_t *fail_on = json_object_get(json, "fail_on");
    for (int i = 0; metrics && metrics_names[i]; i++)
        if (strcmp(metrics_names[i], metrics) == 0)
            rules.metrics = (enum metrics_rule)i;
    for (size_t i = 0; i < json_array_size(fail_on); i++)
        EACH (cause, causes, CAUSES) {
            const char *name = json_string_value(json_array_get(fail_on, i));
            rules.fail_on |= name && strcmp(cause->name, name) == 0 ? cause->flag : 0;
        }
    return rules;
}
