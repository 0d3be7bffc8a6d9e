#include "plan/change.h"
#include "plan/command.h"
#include "plan/plan_json.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

static void append_change_record(json_t *changed, const char *kind, const char *name, json_t *from,
                                 json_t *to)
{
    json_t *json = json_object();
    json_object_set_new(json, "kind", json_string(kind));
    json_object_set_new(json, "name", json_string(name));
    json_object_set_new(json, "from", from);
    json_object_set_new(json, "to", to);
    json_array_append_new(changed, json);
}

/* False: the hyperparameter cannot be changed so. */
static bool compute_changed_value(const struct plan_param *param,
                                  const struct registry_change *change, struct value *out)
{
    if (!change->scales) {
        *out = value_copy(&change->value);
        return true;
    }
    double now = param->value.kind == VALUE_INT     ? (double)param->value.integer
                 : param->value.kind == VALUE_FLOAT ? param->value.real
                                                    : NAN,
           then = now * change->factor;
    if (param->value.kind == VALUE_INT)
        then = floor(then);
    if (!isfinite(then) || then == now || then < change->low || then > change->high)
        return false;
    *out = param->value.kind == VALUE_INT ? value_int((int64_t)then)
                                          : value_float(number_round(then, 6));
    return true;
}

static void pass_param(struct plan_job *job, struct plan_param *param)
{
    if (param->place > 0 && param->place < job->argv.count) {
        free(job->argv.items[param->place]);
        job->argv.items[param->place] = plan_param_word(param);
    } else if (param->flag) {
        plan_param_append(param, &job->argv);
    } else {
        AUTO_FREE char *text = value_format(&param->value);
        AUTO_FREE char *variable = command_param_variable(param->name);
        strv_env_set(&job->env, variable, text);
    }
}

/* Removes the value and, if it is an argument of its own, the flag; later arguments move. */
static void remove_param_words(struct plan_job *job, struct plan_param *param)
{
    size_t place = param->place;
    if (place == 0 || place >= job->argv.count)
        return;
    size_t words = plan_param_is_joined(param) ? 1 : 2, first = place + 1 - words;
    for (size_t i = first; i <= place; i++)
        free(job->argv.items[i]);
    memmove(job->argv.items + first, job->argv.items + place + 1,
            (job->argv.count - place) * sizeof *job->argv.items);
    job->argv.count -= words;
    param->place = 0;
    EACH (item, job->params, job->param_count)
        if (item->place > place)
            item->place -= words;
}

static void set_param(struct plan_job *job, const struct registry_change *change,
                      struct value *value, json_t *changed)
{
    struct plan_param *param = plan_job_param(job, change->name);
    AUTO_FREE char *one = value_key(&param->value);
    AUTO_FREE char *other = value_key(value);
    if (strcmp(one, other) == 0)
        return;
    append_change_record(changed, "hyperparameter", param->name, value_to_json(&param->value),
                         value_to_json(value));
    value_fini(&param->value);
    param->value = *value;
    *value = (struct value){0};
    if (param->value.kind == VALUE_NULL)
        remove_param_words(job, param);
    else
        pass_param(job, param);
}

void change_set_env(struct plan_job *job, const char *name, const char *from, const char *to,
                    json_t *changed)
{
    strv_env_set(&job->env, name, to);
    append_change_record(changed, "environment", name, json_text_or_null(from), json_string(to));
}

static void set_env(struct plan_job *job, const char *entry, json_t *changed)
{
    const char *equals = strchr(entry, '=');
    if (!equals)
        return;
    AUTO_FREE char *name = mem_strndup(entry, (size_t)(equals - entry));
    AUTO_FREE char *from = mem_strdup(strv_env_get(&job->env, name));
    if (!from || strcmp(from, equals + 1) != 0)
        change_set_env(job, name, from, equals + 1, changed);
}

bool change_take_step(struct plan_job *job, size_t number, json_t *changed)
{
    const struct registry_oom_step *step = &job->oom_steps[number];
    struct value *values = mem_array(step->change_count + 1, sizeof *values);
    size_t before = json_array_size(changed), fit = 0;
    for (; fit < step->change_count; fit++) {
        const struct plan_param *param = plan_job_param(job, step->changes[fit].name);
        if (!param || !compute_changed_value(param, &step->changes[fit], &values[fit]))
            break;
    }
    if (fit == step->change_count) {
        for (size_t i = 0; i < step->change_count; i++)
            set_param(job, &step->changes[i], &values[i], changed);
        EACH (item, step->args.items, step->args.count) {
            strv_add(&job->argv, *item);
            append_change_record(changed, "argument", *item, json_null(), json_null());
        }
        EACH (entry, step->env.items, step->env.count)
            set_env(job, *entry, changed);
    }
    EACH (row, values, step->change_count)
        value_fini(row);
    free(values);
    return json_array_size(changed) > before;
}

struct plan_experiment *change_copy(const struct plan_experiment *experiment)
{
    struct plan_experiment *copy = mem_alloc(sizeof *copy);
    json_t *json = plan_experiment_to_json(experiment);
    bool ok = plan_experiment_from_json(json, copy, NULL);
    json_decref(json);
    if (ok)
        return copy;
    free(copy);
    return NULL;
}

static void add_json_value(const json_t *json, struct text *out)
{
    struct value value = {0};
    if (json_is_null(json) || !value_from_json(json, &value)) {
        text_add(out, "none");
        return;
    }
    AUTO_FREE char *text = value_format(&value);
    text_add(out, text);
    value_fini(&value);
}

/* What several steps made of one thing: from the first, to the last. NULL: it stood before
 * already. */
static const json_t *last_about(const json_t *changed, size_t from, const char *kind,
                                const char *name)
{
    const json_t *last = NULL;
    for (size_t i = 0; i < json_array_size(changed); i++) {
        const json_t *one = json_array_get(changed, i);
        const char *its_kind = json_get_text(one, "kind"), *its_name = json_get_text(one, "name");
        if (!(its_kind && its_name && strcmp(its_kind, kind) == 0 && strcmp(its_name, name) == 0))
            continue;
        if (i < from)
            return NULL;
        last = one;
    }
    return last;
}

static void describe_change(const json_t *one, const json_t *last, struct text *out)
{
    const char *kind = json_get_text(one, "kind");
    text_add(out, out->length ? "; " : "");
    text_add(out, json_get_text(one, "name"));
    if (strcmp(kind, "environment") == 0) {
        text_add_char(out, '=');
        add_json_value(json_object_get(last, "to"), out);
    } else if (strcmp(kind, "hyperparameter") == 0) {
        text_add_char(out, ' ');
        add_json_value(json_object_get(one, "from"), out);
        text_add(out, " -> ");
        add_json_value(json_object_get(last, "to"), out);
    }
}

char *change_text(const json_t *changed)
{
    struct text text = {0};
    for (size_t i = 0; i < json_array_size(changed); i++) {
        const json_t *one = json_array_get(changed, i);
        const char *kind = json_get_text(one, "kind"), *name = json_get_text(one, "name");
        if (!kind || !name)
            continue;
        const json_t *last =
            strcmp(kind, "argument") == 0 ? one : last_about(changed, i, kind, name);
        if (last)
            describe_change(one, last, &text);
    }
    return text_take(&text);
}
