#include "plan/job.h"

#include "base/mem.h"

#include <math.h>

/* JSON has no infinity: a bound that is none is left out. */
static void set_bound(json_t *json, const char *key, double bound)
{
    if (isfinite(bound))
        json_object_set_new(json, key, json_finite(bound));
}

static json_t *change_to_json(const struct registry_change *change)
{
    json_t *json = json_object();
    json_object_set_new(json, "name", json_string(change->name));
    if (!change->scales) {
        json_object_set_new(json, "value", value_to_json(&change->value));
        return json;
    }
    json_object_set_new(json, "factor", json_finite(change->factor));
    set_bound(json, "low", change->low);
    set_bound(json, "high", change->high);
    return json;
}

json_t *plan_oom_to_json(const struct plan_job *job)
{
    json_t *list = json_array();
    for (size_t i = 0; i < job->oom_step_count; i++) {
        const struct registry_oom_step *step = &job->oom_steps[i];
        json_t *json = json_object(), *changes = json_array();
        for (size_t k = 0; k < step->change_count; k++)
            json_array_append_new(changes, change_to_json(&step->changes[k]));
        json_object_set_new(json, "changes", changes);
        plan_set_list(json, "args", &step->args);
        plan_set_list(json, "env", &step->env);
        json_object_set_new(json, "times", json_integer(step->times));
        json_array_append_new(list, json);
    }
    return list;
}

static bool change_from_json(const json_t *json, struct registry_change *out, struct err *err)
{
    const char *name = json_get_text(json, "name");
    *out = (struct registry_change){.low = -HUGE_VAL, .high = HUGE_VAL};
    out->name = mem_strdup(name ? name : "");
    out->scales = json_get_number(json, "factor", &out->factor);
    json_get_number(json, "low", &out->low);
    json_get_number(json, "high", &out->high);
    const json_t *value = json_object_get(json, "value");
    if (name && (out->scales || (value && value_from_json(value, &out->value))))
        return true;
    return err_set(err, "'oom_steps': a change without a name, or without a factor or value");
}

static void texts_from_json(const json_t *json, struct strv *out)
{
    for (size_t i = 0; i < json_array_size(json); i++)
        if (json_is_string(json_array_get(json, i)))
            strv_add(out, json_string_value(json_array_get(json, i)));
}

static bool step_from_json(const json_t *json, struct registry_oom_step *out, struct err *err)
{
    const json_t *changes = json_object_get(json, "changes");
    json_int_t times = 1;
    out->changes = mem_array(json_array_size(changes) + 1, sizeof *out->changes);
    texts_from_json(json_object_get(json, "args"), &out->args);
    texts_from_json(json_object_get(json, "env"), &out->env);
    json_get_int(json, "times", &times);
    out->times = times;
    for (size_t i = 0; i < json_array_size(changes); i++)
        if (!change_from_json(json_array_get(changes, i), &out->changes[out->change_count++], err))
            return false;
    return true;
}

bool plan_oom_from_json(const json_t *json, struct plan_job *out, struct err *err)
{
    const json_t *list = json_object_get(json, "oom_steps");
    out->oom_steps = mem_array(json_array_size(list) + 1, sizeof *out->oom_steps);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!step_from_json(json_array_get(list, i), &out->oom_steps[out->oom_step_count++], err))
            return false;
    return true;
}
