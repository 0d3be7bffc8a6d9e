/* The plan as run.db keeps it. What is absent (NULL) is left out. */
#include "plan/plan.h"

#include "base/fs.h"
#include "base/mem.h"
#include "plan/job.h"

#include <stdlib.h>
#include <string.h>

static void set_text(json_t *json, const char *key, const char *text)
{
    if (text)
        json_object_set_new(json, key, json_string(text));
}

static void set_list(json_t *json, const char *key, const struct strv *list)
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
        set_text(one, "name", param->name);
        json_object_set_new(one, "value", value_to_json(&param->value));
        json_object_set_new(one, "mutated", json_boolean(param->mutated));
        set_text(one, "flag", param->flag);
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
        set_text(one, "name", job->metrics[i].name);
        set_text(one, "pattern", job->metrics[i].pattern);
        if (job->metrics[i].goal != GOAL_UNKNOWN)
            set_text(one, "goal", goal_name(job->metrics[i].goal));
        json_array_append_new(array, one);
    }
    return array;
}

static json_t *marks_to_json(const struct plan_job *job)
{
    json_t *array = json_array();
    for (size_t i = 0; i < job->mark_count; i++) {
        json_t *one = json_object();
        set_text(one, "name", job->marks[i].name);
        set_text(one, "start", job->marks[i].start);
        set_text(one, "end", job->marks[i].end);
        json_array_append_new(array, one);
    }
    return array;
}

static json_t *job_to_json(const struct plan_job *job)
{
    json_t *json = json_object();
    set_text(json, "repository", job->repo);
    set_text(json, "model", job->model);
    set_text(json, "mode", mode_name(job->mode));
    json_object_set_new(json, "hyperparameters", params_to_json(job));
    set_text(json, "cwd", job->cwd);
    set_list(json, "argv", &job->argv);
    set_list(json, "env", &job->env);
    set_list(json, "path_prepend", &job->path_prepend);
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
    set_list(json, "success", &job->success);
    set_list(json, "errors", &job->errors);
    json_object_set_new(json, "exit_code_required", json_boolean(job->exit_code_required));
    json_object_set_new(json, "rules", success_rules_to_json(&job->rules));
    return json;
}

json_t *plan_experiment_to_json(const struct plan_experiment *experiment)
{
    json_t *json = json_object();
    set_text(json, "id", experiment->id);
    json_object_set_new(json, "number", json_integer((json_int_t)experiment->number));
    json_object_set_new(json, "entry", json_integer((json_int_t)experiment->entry));
    if (experiment->configuration != experiment->entry)
        json_object_set_new(json, "configuration", json_integer((json_int_t)experiment->configuration));
    json_object_set_new(json, "foreground", job_to_json(&experiment->foreground));
    if (experiment->parallel)
        json_object_set_new(json, "background", job_to_json(&experiment->background));
    json_object_set_new(json, "max_retries", json_integer(experiment->max_retries));
    set_text(json, "governor", experiment->governor);
    json_object_set_new(json, "timeout_s", json_finite(experiment->timeout_s));
    if (experiment->expected_s.valid)
        json_object_set_new(json, "expected_s", json_finite(experiment->expected_s.value));
    if (experiment->exclusive)
        json_object_set_new(json, "exclusive", json_true());
    if (experiment->start_after_s.valid)
        json_object_set_new(json, "start_after_s", json_finite(experiment->start_after_s.value));
    return json;
}

/* Where each stands in struct parallel_timing. */
static const struct {
    const char *key;
    size_t offset;
} parallel_times[] = {
    {"wait_s", offsetof(struct parallel_timing, wait_s)},
    {"hold_s", offsetof(struct parallel_timing, hold_s)},
    {"limit_s", offsetof(struct parallel_timing, limit_s)},
    {"restart_delay_s", offsetof(struct parallel_timing, restart_delay_s)},
};

enum { PARALLEL_TIMES = sizeof parallel_times / sizeof *parallel_times };

static double *parallel_time(struct parallel_timing *timing, size_t which)
{
    return (double *)(void *)((char *)timing + parallel_times[which].offset);
}

static json_t *parallel_to_json(struct parallel_timing timing)
{
    json_t *json = json_object();
    for (size_t i = 0; i < PARALLEL_TIMES; i++)
        json_object_set_new(json, parallel_times[i].key, json_finite(*parallel_time(&timing, i)));
    return json;
}

static json_t *private_to_json(const struct limits *limits)
{
    json_t *json = json_object();
    json_object_set_new(json, "shm", json_boolean(limits->own.shm));
    json_object_set_new(json, "ipc", json_boolean(limits->own.ipc));
    json_object_set_new(json, "tmp", json_boolean(limits->own.tmp));
    return json;
}

json_t *plan_head_to_json(const struct plan *plan)
{
    json_t *json = json_object();
    set_text(json, "name", plan->name);
    /* As a signed number: JSON's integers end at 2^63 here. Reading back undoes it. */
    json_object_set_new(json, "seed", json_integer((json_int_t)plan->seed));
    set_text(json, "order", plan_orders[plan->order]);
    json_object_set_new(json, "between_runs_s", json_finite(plan->timing.between_runs_s));
    json_object_set_new(json, "between_configurations_s", json_finite(plan->timing.between_configurations_s));
    json_object_set_new(json, "before_retry_s", json_finite(plan->timing.before_retry_s));
    json_object_set_new(json, "stop_grace_s", json_finite(plan->timing.stop_grace_s));
    json_object_set_new(json, "parallel", parallel_to_json(plan->parallel));
    json_object_set_new(json, "cpu_time_s", json_finite(plan->limits.cpu_time_s));
    json_object_set_new(json, "memory_bytes", json_integer((json_int_t)plan->limits.memory_bytes));
    json_object_set_new(json, "log_bytes", json_integer((json_int_t)plan->limits.log_bytes));
    json_object_set_new(json, "private", private_to_json(&plan->limits));
    json_object_set_new(json, "guard", plan_guard_to_json(&plan->guard));
    set_text(json, "gpus", plan->pool.gpus);
    json_object_set_new(json, "gpus_per_experiment", json_integer(plan->pool.per_experiment));
    set_text(json, "cpu_sets", cpu_sets_modes[plan->pool.cpu_sets]);
    if (plan->has_best)
        json_object_set_new(json, "best", json_true());
    if (plan->limits.hang_s > 0)
        json_object_set_new(json, "hang_s", json_finite(plan->limits.hang_s));
    json_t *budget = run_budget_to_json(&plan->budget);
    if (budget)
        json_object_set_new(json, "budget", budget);
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

static bool get_integer(const json_t *json, const char *key, int64_t *out, struct err *err)
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
    if (!get_integer(json, key, &number, err))
        return false;
    if (number < 0)
        return err_set(err, "'%s' is negative", key);
    *out = (size_t)number;
    return true;
}

static bool get_number(const json_t *json, const char *key, double *out, struct err *err)
{
    if (!json_get_number(json, key, out))
        return err_set(err, "'%s' is missing or no number", key);
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
        !get_count(json, "entry", &out->entry, err) || !get_integer(json, "max_retries", &out->max_retries, err) ||
        !get_number(json, "timeout_s", &out->timeout_s, err))
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

/* Plans made before parallel experiments could be run say nothing of them. */
static bool parallel_from_json(const json_t *json, struct parallel_timing *out, struct err *err)
{
    *out = parallel_timing_default;
    const json_t *object = json_object_get(json, "parallel");
    for (size_t i = 0; object && i < PARALLEL_TIMES; i++)
        if (!get_number(object, parallel_times[i].key, parallel_time(out, i), err))
            return err_wrap(err, "parallel");
    return true;
}

static bool order_from_json(const json_t *json, enum plan_order *out)
{
    const char *name = json_get_text(json, "order");
    for (size_t i = 0; name && plan_orders[i]; i++)
        if (strcmp(name, plan_orders[i]) == 0) {
            *out = (enum plan_order)i;
            return true;
        }
    return false;
}

static bool head_from_json(const json_t *json, struct plan *out, struct err *err)
{
    int64_t seed = 0, memory_bytes = 0, log_bytes = 0;
    if (!order_from_json(json, &out->order))
        return err_set(err, "'order' is missing or unknown");
    if (!get_integer(json, "seed", &seed, err) ||
        !get_number(json, "between_runs_s", &out->timing.between_runs_s, err) ||
        !get_number(json, "between_configurations_s", &out->timing.between_configurations_s, err) ||
        !get_number(json, "before_retry_s", &out->timing.before_retry_s, err) ||
        !get_number(json, "stop_grace_s", &out->timing.stop_grace_s, err) ||
        !parallel_from_json(json, &out->parallel, err) ||
        !get_number(json, "cpu_time_s", &out->limits.cpu_time_s, err) ||
        !get_integer(json, "memory_bytes", &memory_bytes, err) || !get_integer(json, "log_bytes", &log_bytes, err) ||
        !plan_guard_from_json(json, &out->guard, err))
        return false;
    /* Plans made before there was such say nothing of it. */
    const json_t *own = json_object_get(json, "private");
    out->limits.own.shm = json_is_true(json_object_get(own, "shm"));
    out->limits.own.ipc = json_is_true(json_object_get(own, "ipc"));
    out->limits.own.tmp = json_is_true(json_object_get(own, "tmp"));
    json_get_number(json, "hang_s", &out->limits.hang_s);
    run_budget_from_json(json_object_get(json, "budget"), &out->budget);
    out->pool.gpus = mem_strdup(json_get_text(json, "gpus"));
    out->pool.per_experiment = json_object_get(json, "gpus_per_experiment") ? 1 : 0;
    if (out->pool.per_experiment &&
        (!get_integer(json, "gpus_per_experiment", &out->pool.per_experiment, err) || out->pool.per_experiment < 0))
        return err_set(err, "'gpus_per_experiment' is no number of GPUs");
    const char *cpu_sets = json_get_text(json, "cpu_sets");
    out->pool.cpu_sets =
        cpu_sets && strcmp(cpu_sets, cpu_sets_modes[CPU_SETS_NEAR]) == 0 ? CPU_SETS_NEAR : CPU_SETS_NONE;
    out->has_best = json_is_true(json_object_get(json, "best"));
    out->seed = (uint64_t)seed;
    out->limits.memory_bytes = (uint64_t)memory_bytes;
    out->limits.log_bytes = (uint64_t)log_bytes;
    out->name = mem_strdup(json_get_text(json, "name"));
    return true;
}

bool plan_head_from_json(const json_t *json, struct plan *out, struct err *err)
{
    *out = (struct plan){0};
    return head_from_json(json, out, err) || err_wrap(err, "plan");
}
