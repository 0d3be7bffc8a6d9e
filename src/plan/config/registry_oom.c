#include "plan/config/registry_oom.h"
#include "base/json_place.h"
#include "plan/config/registry_param.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 20, MOST_TIMES = 20 };

static const double LEAST_FACTOR = 0.001, MOST_FACTOR = 1000;

/* Up to here a double tells every whole number from the next. */
static const double WHOLE_LIMIT = 9007199254740992.0;

static const struct field step_rows[] = {
    {"scale", FIELD_OTHER, .expected = "an object of factors",
     .schema = "{'type': 'object', 'additionalProperties': {'type': 'number', 'minimum': 0.001, "
               "'maximum': 1000, "
               "'not': {'const': 1}}}",
     .initial = "none",
     .help = "a hyperparameter's name leads to the factor by which its value is multiplied, such "
             "as 0.5; integers "
             "are rounded down"},
    {"set", FIELD_OTHER, .expected = "an object of values", .schema = FIELD_SCALARS,
     .initial = "none", .help = "a hyperparameter's name leads to its new value"},
    {"bounds", FIELD_OTHER, .expected = "an object of [low, high]",
     .schema = "{'type': 'object', 'additionalProperties': {'type': 'array', 'minItems': 2, "
               "'maxItems': 2, 'items': "
               "{'type': 'number'}}}",
     .initial = "the range of each hyperparameter",
     .help = "what scaling may lead to; a step that would lead beyond is not taken"},
    {"args", FIELD_LIST, offsetof(struct registry_oom_step, args), .initial = "none",
     .help = "words added to the command, such as [\"--amp\"]"},
    {"env", FIELD_NAMES_TO_TEXTS, offsetof(struct registry_oom_step, env), .initial = "none",
     .help = "environment variables that are set"},
    {"times", FIELD_INT, offsetof(struct registry_oom_step, times), .low = 1, .high = MOST_TIMES,
     .initial = "1", .help = "how often the step may be taken, before the next one comes"},
};

const struct field_table registry_oom_table = FIELD_TABLE("A step of `oom_steps`", step_rows);

/* NULL: unknown hyperparameter, which was reported. */
static const struct param *find_step_param(const struct source *source, const char *path,
                                           const struct repo *repo, const char *name)
{
    const struct param *param = repo_param(repo, name);
    if (param)
        return param;
    const char **names = mem_array(repo->param_count + 1, sizeof *names);
    for (size_t i = 0; i < repo->param_count; i++)
        names[i] = repo->params[i].name;
    AUTO_FREE char *nearest = problem_nearest(name, names, repo->param_count);
    problems_add_at_key(source->problems, SEVERITY_ERROR, source->doc, path,
                        "'%s' is none of the repository's hyperparameters%s", name, nearest);
    free(names);
    return NULL;
}

static struct registry_change *add_step_change(struct registry_oom_step *step, const char *name)
{
    struct registry_change *change = &step->changes[step->change_count++];
    *change = (struct registry_change){.name = mem_strdup(name)};
    return change;
}

static void read_factor(const struct source *source, const char *path, const struct param *param,
                        const json_t *json, struct registry_oom_step *step)
{
    double factor = json_number_value(json);
    if (param->type >= PARAM_CHOICE) {
        problems_add_at_key(source->problems, SEVERITY_ERROR, source->doc, path,
                            "'%s' is a %s: it can be %s, not scaled", param->name,
                            param->type == PARAM_CHOICE ? "choice"
                            : param->type == PARAM_BOOL ? "bool"
                                                        : "text",
                            param->type == PARAM_BOOL ? "given by args" : "set");
        return;
    }
    if (!json_is_number(json) || factor < LEAST_FACTOR || factor > MOST_FACTOR || factor == 1) {
        field_refuse(source, path, param->name, "a factor from 0.001 to 1000 other than 1", json);
        return;
    }
    struct registry_change *change = add_step_change(step, param->name);
    change->scales = true;
    change->factor = factor;
    change->low = param->has_range ? param->low : param->type == PARAM_INT ? 1 : -HUGE_VAL;
    change->high = param->has_range           ? param->high
                   : param->type == PARAM_INT ? WHOLE_LIMIT
                                              : HUGE_VAL;
    if (param->type == PARAM_INT && fabs(change->high) > WHOLE_LIMIT)
        change->high = WHOLE_LIMIT;
}

static void read_change_value(const struct source *source, const char *path,
                              const struct param *param, const json_t *json,
                              struct registry_oom_step *step)
{
    static const char *const expected[] = {[PARAM_INT] = "an integer",
                                           [PARAM_FLOAT] = "a number",
                                           [PARAM_CHOICE] = "one of its choices",
                                           [PARAM_BOOL] =
                                               "no value here (a bool can be given by args)",
                                           [PARAM_TEXT] = "a string"};
    struct value value = {0};
    bool scalar = value_from_json(json, &value);
    bool fits = scalar &&
                (param->type == PARAM_INT     ? value.kind == VALUE_INT
                 : param->type == PARAM_FLOAT ? value.kind == VALUE_INT || value.kind == VALUE_FLOAT
                 : param->type == PARAM_TEXT
                     ? value.kind == VALUE_TEXT
                     : param->type == PARAM_CHOICE && registry_has_choice(param, &value));
    if (!fits) {
        field_refuse(source, path, param->name, expected[param->type], json);
        value_fini(&value);
        return;
    }
    add_step_change(step, param->name)->value = value;
}

/* Where changes go to, and how each is read. */
struct changes {
    const struct repo *repo;
    void (*read)(const struct source *source, const char *path, const struct param *param,
                 const json_t *json, struct registry_oom_step *step);
    struct registry_oom_step *step;
};

static void read_step_change(const struct source *source, const char *path, const char *name,
                             const json_t *json, void *out)
{
    const struct changes *changes = out;
    const struct param *param = find_step_param(source, path, changes->repo, name);
    bool twice = false;
    EACH (change, changes->step->changes, changes->step->change_count)
        twice |= strcmp(change->name, name) == 0;
    if (twice)
        problems_add_at_key(source->problems, SEVERITY_ERROR, source->doc, path,
                            "'%s' is both scaled and set", name);
    else if (param)
        changes->read(source, path, param, json, changes->step);
}

static void read_bounds(const struct source *source, const char *path, const char *name,
                        const json_t *json, void *out)
{
    struct registry_oom_step *step = out;
    const json_t *low = json_array_get(json, 0), *high = json_array_get(json, 1);
    if (json_array_size(json) != 2 || !json_is_number(low) || !json_is_number(high) ||
        json_number_value(low) > json_number_value(high)) {
        field_refuse(source, path, name, "[low, high]", json);
        return;
    }
    EACH (change, step->changes, step->change_count) {
        if (strcmp(change->name, name) != 0 || !change->scales)
            continue;
        change->low = json_number_value(low);
        change->high = json_number_value(high);
        return;
    }
    problems_add_at_key(source->problems, SEVERITY_WARNING, source->doc, path,
                        "bounds of '%s', which this step does not scale, have no effect", name);
}

static void read_oom_step(const struct source *source, const char *path, const json_t *json,
                          const struct repo *repo, struct registry_oom_step *out)
{
    size_t errors = source->problems->errors;
    *out = (struct registry_oom_step){.times = 1};
    if (!json_is_object(json)) {
        field_refuse(source, path, "oom_steps", "an object (a step)", json);
        return;
    }
    fields_check_keys(source, path, json, &registry_oom_table, UNKNOWN_ARE_WARNINGS, NULL);
    fields_read(source, path, json, &registry_oom_table, out);
    out->changes = mem_array(json_object_size(json_get(json, "scale")) +
                                 json_object_size(json_get(json, "set")) + 1,
                             sizeof *out->changes);
    fields_each(source, path, json, "scale", read_step_change,
                &(struct changes){repo, read_factor, out});
    fields_each(source, path, json, "set", read_step_change,
                &(struct changes){repo, read_change_value, out});
    fields_each(source, path, json, "bounds", read_bounds, out);
    if (out->change_count + out->args.count + out->env.count == 0 &&
        source->problems->errors == errors)
        field_error(source, path,
                    "a step that changes nothing: it needs one of scale, set, args and env");
}

void registry_read_oom_steps(const struct source *source, const char *path, const json_t *json,
                             struct repo *out)
{
    const json_t *steps = json_get(json, "oom_steps");
    AUTO_FREE char *place = json_path_key(path, "oom_steps");
    if (!steps)
        return;
    if (!json_is_array(steps) || json_array_size(steps) > MOST_STEPS) {
        field_refuse(source, place, "oom_steps", "a list of at most 20 steps", steps);
        return;
    }
    out->oom_steps = mem_array(json_array_size(steps) + 1, sizeof *out->oom_steps);
    for (size_t i = 0; i < json_array_size(steps); i++) {
        AUTO_FREE char *item = json_path_index(place, i);
        read_oom_step(source, item, json_array_get(steps, i), out,
                      &out->oom_steps[out->oom_step_count++]);
    }
}

struct registry_oom_step registry_oom_step_copy(const struct registry_oom_step *step)
{
    struct registry_oom_step copy = {.times = step->times, .change_count = step->change_count};
    copy.changes = mem_array(step->change_count + 1, sizeof *copy.changes);
    for (size_t i = 0; i < step->change_count; i++) {
        copy.changes[i] = step->changes[i];
        copy.changes[i].name = mem_strdup(step->changes[i].name);
        copy.changes[i].value = value_copy(&step->changes[i].value);
    }
    strv_add_all(&copy.args, &step->args);
    strv_add_all(&copy.env, &step->env);
    return copy;
}

void registry_oom_step_fini(struct registry_oom_step *step)
{
    EACH (change, step->changes, step->change_count) {
        free(change->name);
        value_fini(&change->value);
    }
    free(step->changes);
    strv_fini(&step->args);
    strv_fini(&step->env);
}

void registry_oom_steps_fini(struct registry_oom_step *steps, size_t count)
{
    EACH (step, steps, count)
        registry_oom_step_fini(step);
    free(steps);
}
