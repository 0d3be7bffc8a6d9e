/* An experiment as run.db keeps it. What is absent (NULL) is left out. */
#include "plan/plan.h"

#include "base/fs.h"
#include "base/mem.h"
#include "plan/job.h"

#include <stdlib.h>
#include <string.h>

void plan_set_text(json_t *json, const char *key, const char *text)
{
    if (text)
        json_object_set_new(json, key, json_string(text));
}

void plan_set_list(json_t *json, const char *key, const struct strv *list)
{
    json_t *array = json_array();
    for (size_t i = 0; i < list->count; i++)
        json_array_append_new(array, json_string(list->items[i]));
    json_object_set_new(json, key, array);
}

static json_t *params_to_json(const struct plan_job *job)
{
    json_t *array = json_array();
    for (size_t i = 0; i < job->param_count; i++) {
        const struct plan_param *param = &job->params[i];
        json_t *one = json_object();
        plan_set_text(one, "name", param->name);
        json_object_set_new(one, "value", value_to_json(&param->value));
        json_object_set_new(one, "mutated", json_boolean(param->mutated));
        plan_set_text(one, "flag", param->flag);
        if (param->place > 0)
            json_object_set_new(one, "place", json_integer((json_int_t)param->place));
        json_array_append_new(array, one);
    }
    return array;
}

static json_t *metrics_to_json(const struct plan_job *job)
{
    json_t *array = json_array();
    for (size_t i = 0; i < job->metric_count; i++) {
        json_t *one = json_object();
        plan_set_text(one, "name", job->metrics[i].name);
        plan_set_text(one, "pattern", job->metrics[i].pattern);
        if (job->metrics[i].goal != GOAL_UNKNOWN)
            plan_set_text(one, "goal", goal_name(job->metrics[i].goal));
        json_array_append_new(array, one);
    }
    return array;
}

static json_t *marks_to_json(const struct plan_job *job)
{
    json_t *array = json_array();
    for (size_t i = 0; i < job->mark_count; i++) {
        json_t *one = json_object();
        plan_set_text(one, "name", job->marks[i].name);
        plan_set_text(one, "start", job->marks[i].start);
        plan_set_text(one, "end", job->marks[i].end);
        json_array_append_new(array, one);
    }
    return array;
}

static json_t *job_to_json(const struct plan_job *job)
{
    json_t *json = json_object();
    plan_set_text(json, "repository", job->repo);
    plan_set_text(json, "model", job->model);
    plan_set_text(json, "mode", mode_name(job->mode));
    json_object_set_new(json, "hyperparameters", params_to_json(job));
    plan_set_text(json, "cwd", job->cwd);
    plan_set_list(json, "argv", &job->argv);
    plan_set_list(json, "env", &job->env);
    plan_set_list(json, "path_prepend", &job->path_prepend);
    json_object_set_new(json, "metrics", metrics_to_json(job));
    if (job->mark_count > 0)
        json_object_set_new(json, "marks", marks_to_json(job));
    if (job->oom_step_count > 0)
        json_object_set_new(json, "oom_steps", plan_oom_to_json(job));
    if (job->memory_snapshot)
        json_object_set_new(json, "memory_snapshot", json_true());
    if (job->track_gpu_memory != SWITCH_UNSAID)
        json_object_set_new(json, "track_gpu_memory", json_boolean(job->track_gpu_memory == SWITCH_ON));
    if (job->gpu_limit.bytes > 0)
        json_object_set_new(json, "gpu_memory_limit_bytes", json_integer((json_int_t)job->gpu_limit.bytes));
    if (job->gpu_limit.share > 0)
        json_object_set_new(json, "gpu_memory_limit_share", json_finite(job->gpu_limit.share));
    plan_set_list(json, "success", &job->success);
    plan_set_list(json, "errors", &job->errors);
    json_object_set_new(json, "exit_code_required", json_boolean(job->exit_code_required));
    json_object_set_new(json, "rules", success_rules_to_json(&job->rules));
    return json;
}

static const struct plan_number timeout_number[] = {{"timeout_s", offsetof(struct plan_experiment, timeout_s)}, {0}};

json_t *plan_experiment_to_json(const struct plan_experiment *experiment)
{
    json_t *json = json_object();
    plan_set_text(json, "id", experiment->id);
    json_object_set_new(json, "number", json_integer((json_int_t)experiment->number));
    json_object_set_new(json, "entry", json_integer((json_int_t)experiment->entry));
    if (experiment->configuration != experiment->entry)
        json_object_set_new(json, "configuration", json_integer((json_int_t)experiment->configuration));
    json_object_set_new(json, "foreground", job_to_json(&experiment->foreground));
    if (experiment->parallel)
        json_object_set_new(json, "background", job_to_json(&experiment->background));
    json_object_set_new(json, "max_retries", json_integer(experiment->max_retries));
    plan_set_text(json, "governor", experiment->governor);
    plan_numbers_to_json(json, timeout_number, experiment);
    if (experiment->expected_s.valid)
        json_object_set_new(json, "expected_s", json_finite(experiment->expected_s.value));
    if (experiment->exclusive)
        json_object_set_new(json, "exclusive", json_true());
    if (experiment->start_after_s.valid)
        json_object_set_new(json, "start_after_s", json_finite(experiment->start_after_s.value));
    return json;
}

static bool get_text(const json_t *json, const char *key, char **out, struct err *err)
{
    const char *text = json_get_text(json, key);
    if (!text)
        return err_set(err, "'%s' is missing or not a string", key);
    *out = mem_strdup(text);
    return true;
}

static bool get_list(const json_t *json, const char *key, struct strv *out, struct err *err)
{
    const json_t *array = json_object_get(json, key);
    if (!json_is_array(array))
        return err_set(err, "'%s' is missing or no list", key);
    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *item = json_string_value(json_array_get(array, i));
        if (!item)
            return err_set(err, "'%s' holds what is not a string", key);
        strv_add(out, item);
    }
    return true;
}

static bool get_bool(const json_t *json, const char *key, bool *out, struct err *err)
{
    const json_t *value = json_object_get(json, key);
    if (!json_is_boolean(value))
        return err_set(err, "'%s' is missing or neither true nor false", key);
    *out = json_is_true(value);
    return true;
}

bool plan_get_integer(const json_t *json, const char *key, int64_t *out, struct err *err)
{
    json_int_t number = 0;
    if (!json_get_int(json, key, &number))
        return err_set(err, "'%s' is missing or no integer", key);
    *out = number;
    return true;
}

static bool get_count(const json_t *json, const char *key, size_t *out, struct err *err)
{
    int64_t number = 0;
    if (!plan_get_integer(json, key, &number, err))
        return false;
    if (number < 0)
        return err_set(err, "'%s' is negative", key);
    *out = (size_t)number;
    return true;
}

static bool params_from_json(const json_t *json, struct plan_job *job, struct err *err)
{
    const json_t *array = json_object_get(json, "hyperparameters");
    if (!json_is_array(array))
        return err_set(err, "'hyperparameters' is missing or no list");
    job->params = mem_array(json_array_size(array), sizeof *job->params);
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *one = json_array_get(array, i);
        struct plan_param *param = &job->params[job->param_count++];
        const json_t *value = json_object_get(one, "value");
        if (!get_text(one, "name", &param->name, err) || !get_bool(one, "mutated", &param->mutated, err))
            return false;
        if (!value || !value_from_json(value, &param->value))
            return err_set(err, "'%s' has no value", param->name);
        /* Plans made before there were steps after an out-of-memory failure hold neither. */
        json_int_t place = 0;
        param->flag = mem_strdup(json_get_text(one, "flag"));
        if (json_get_int(one, "place", &place) && place > 0)
            param->place = (size_t)place;
    }
    return true;
}

static bool metrics_from_json(const json_t *json, struct plan_job *job, struct err *err)
{
    const json_t *array = json_object_get(json, "metrics");
    if (!json_is_array(array))
        return err_set(err, "'metrics' is missing or no list");
    job->metrics = mem_array(json_array_size(array), sizeof *job->metrics);
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *one = json_array_get(array, i);
        struct registry_metric *metric = &job->metrics[job->metric_count++];
        if (!get_text(one, "name", &metric->name, err) || !get_text(one, "pattern", &metric->pattern, err))
            return false;
        goal_parse(json_get_text(one, "goal"), &metric->goal); /* absent: the registry did not say it */
    }
    return true;
}

/* Plans made before there were marks hold none. */
static bool marks_from_json(const json_t *json, struct plan_job *job, struct err *err)
{
    const json_t *array = json_object_get(json, "marks");
    if (!array)
        return true;
    if (!json_is_array(array))
        return err_set(err, "'marks' is no list");
    job->marks = mem_array(json_array_size(array), sizeof *job->marks);
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *one = json_array_get(array, i);
        struct registry_mark *mark = &job->marks[job->mark_count++];
        if (!get_text(one, "name", &mark->name, err))
            return false;
        mark->start = mem_strdup(json_get_text(one, "start"));
        mark->end = mem_strdup(json_get_text(one, "end"));
    }
    return true;
}

static void gpu_memory_from_json(const json_t *json, struct plan_job *job)
{
    json_int_t bytes = 0;
    const json_t *track = json_object_get(json, "track_gpu_memory");
    job->track_gpu_memory = json_is_true(track) ? SWITCH_ON : json_is_false(track) ? SWITCH_OFF : SWITCH_UNSAID;
    if (json_get_int(json, "gpu_memory_limit_bytes", &bytes) && bytes > 0)
        job->gpu_limit.bytes = (uint64_t)bytes;
    json_get_number(json, "gpu_memory_limit_share", &job->gpu_limit.share);
}

static bool job_from_json(const json_t *json, struct plan_job *job, struct err *err)
{
    if (!mode_from_name(json_get_text(json, "mode"), &job->mode))
        return err_set(err, "'mode' is missing or unknown");
    job->memory_snapshot = json_is_true(json_object_get(json, "memory_snapshot"));
    gpu_memory_from_json(json, job);
    job->rules = success_rules_from_json(json_object_get(json, "rules"));
    return get_text(json, "repository", &job->repo, err) && get_text(json, "model", &job->model, err) &&
           params_from_json(json, job, err) && get_text(json, "cwd", &job->cwd, err) &&
           get_list(json, "argv", &job->argv, err) && get_list(json, "env", &job->env, err) &&
           get_list(json, "path_prepend", &job->path_prepend, err) && metrics_from_json(json, job, err) &&
           marks_from_json(json, job, err) && plan_oom_from_json(json, job, err) &&
           get_list(json, "success", &job->success, err) && get_list(json, "errors", &job->errors, err) &&
           get_bool(json, "exit_code_required", &job->exit_code_required, err);
}

/* "_007" or "_007_parallel" at the end: no file or folder of the run itself has such a name. */
static bool ends_as_id(const char *id)
{
    static const char parallel[] = "_parallel";
    size_t length = strlen(id), tail = sizeof parallel - 1, digits = 0;
    if (length > tail && strcmp(id + length - tail, parallel) == 0)
        length -= tail;
    while (digits < length && id[length - digits - 1] >= '0' && id[length - digits - 1] <= '9')
        digits++;
    return digits >= 3 && length > digits && id[length - digits - 1] == '_';
}

/* The plan may come with a folder that somebody sent. */
static bool get_id(const json_t *json, char **out, struct err *err)
{
    if (!get_text(json, "id", out, err))
        return false;
    if (!fs_check_name(*out, err))
        return err_wrap(
            err, "'id' must name the experiment's folder, and this plan was changed by something else than tare");
    return ends_as_id(*out) || err_set(err,
                                       "'id' is '%.200s', not <repository>_<model>_<number>: this plan was changed by "
                                       "something else than tare",
                                       *out);
}

static bool experiment_from_json(const json_t *json, struct plan_experiment *out, struct err *err)
{
    const json_t *background = json_object_get(json, "background");
    out->parallel = background != NULL;
    out->governor = mem_strdup(json_get_text(json, "governor"));
    out->expected_s.valid = json_get_number(json, "expected_s", &out->expected_s.value);
    out->exclusive = json_is_true(json_object_get(json, "exclusive"));
    out->start_after_s.valid =
        json_get_number(json, "start_after_s", &out->start_after_s.value) && out->start_after_s.value >= 0;
    if (!get_id(json, &out->id, err) || !get_count(json, "number", &out->number, err) ||
        !get_count(json, "entry", &out->entry, err) || !plan_get_integer(json, "max_retries", &out->max_retries, err) ||
        !plan_numbers_from_json(json, timeout_number, out, err))
        return false;
    out->configuration = out->entry;
    if (json_object_get(json, "configuration") && !get_count(json, "configuration", &out->configuration, err))
        return false;
    if (!job_from_json(json_object_get(json, "foreground"), &out->foreground, err))
        return err_wrap(err, "foreground");
    if (background && !job_from_json(background, &out->background, err))
        return err_wrap(err, "background");
    return true;
}

bool plan_experiment_from_json(const json_t *json, struct plan_experiment *out, struct err *err)
{
    *out = (struct plan_experiment){0};
    if (experiment_from_json(json, out, err))
        return true;
    plan_experiment_fini(out);
    return err_wrap(err, "experiment");
}
