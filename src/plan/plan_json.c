#include "plan/plan_json.h"
#include "base/fs_path.h"
#include "plan/config/registry_rules.h"

#include "base/mem.h"
#include "plan/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- The steps after an out-of-memory failure. */

/* JSON has no infinity: a bound that is none is left out. */
static json_t *change_json(const void *item)
{
    const struct registry_change *change = item;
    if (!change->scales)
        return json_pack("{s:o*, s:o}", "name", json_string(change->name), "value",
                         value_to_json(&change->value));
    return json_pack("{s:o*, s:o, s:o*, s:o*}", "name", json_string(change->name), "factor",
                     json_finite(change->factor), "low",
                     isfinite(change->low) ? json_finite(change->low) : NULL, "high",
                     isfinite(change->high) ? json_finite(change->high) : NULL);
}

static bool read_plan_change(const json_t *json, void *item, struct err *err)
{
    struct registry_change *out = item;
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

#define AT(member) .at = offsetof(struct registry_oom_step, member)

static const struct key step_keys[] = {
    {"changes", KEY_LIST, AT(changes), KEY_MAY_MISS, .to = change_json, .from = read_plan_change,
     .count_at = offsetof(struct registry_oom_step, change_count),
     .size = sizeof(struct registry_change)},
    {"args", KEY_TEXTS, AT(args), KEY_MAY_MISS},
    {"env", KEY_TEXTS, AT(env), KEY_MAY_MISS},
    {"times", KEY_INT, AT(times), KEY_MAY_MISS},
    {0},
};
#undef AT

static json_t *step_json(const void *item)
{
    return keys_json(step_keys, item);
}

static bool read_plan_step(const json_t *json, void *item, struct err *err)
{
    *(struct registry_oom_step *)item = (struct registry_oom_step){.times = 1};
    return keys_read(step_keys, json, item, err);
}

/* ---- A job. */

static json_t *rules_json(const void *rules)
{
    return success_rules_to_json(rules);
}

static bool read_rules(const json_t *json, void *rules, struct err *err)
{
    (void)err;
    *(struct success_rules *)rules = success_rules_from_json(json);
    return true;
}

static const struct key param_keys[] = {
    {"name", KEY_TEXT, .at = offsetof(struct plan_param, name)},
    {"value", KEY_VALUE, .at = offsetof(struct plan_param, value)},
    {"mutated", KEY_BOOL, .at = offsetof(struct plan_param, mutated)},
    {"flag", KEY_TEXT, .at = offsetof(struct plan_param, flag), KEY_SPARSE},
    {"place", KEY_SIZE, .at = offsetof(struct plan_param, place), KEY_SPARSE},
    {0},
};

static const struct key metric_keys[] = {
    {"name", KEY_TEXT, .at = offsetof(struct registry_metric, name)},
    {"pattern", KEY_TEXT, .at = offsetof(struct registry_metric, pattern)},
    {"goal", KEY_NAME, .at = offsetof(struct registry_metric, goal), KEY_SPARSE,
     .names = goal_names, .first = GOAL_MINIMIZE},
    {0},
};

static const struct key mark_keys[] = {
    {"name", KEY_TEXT, .at = offsetof(struct registry_mark, name)},
    {"start", KEY_TEXT, .at = offsetof(struct registry_mark, start), KEY_SPARSE},
    {"end", KEY_TEXT, .at = offsetof(struct registry_mark, end), KEY_SPARSE},
    {0},
};

#define AT(member) .at = offsetof(struct plan_job, member)
#define LIST_OF(list, number) \
    .count_at = offsetof(struct plan_job, number), .size = sizeof *((struct plan_job *)0)->list

static const struct key job_keys[] = {
    {"repository", KEY_TEXT, AT(repo)},
    {"model", KEY_TEXT, AT(model)},
    {"mode", KEY_NAME, AT(mode), .names = job_mode_names},
    {"hyperparameters", KEY_LIST, AT(params), .fields = param_keys, LIST_OF(params, param_count)},
    {"cwd", KEY_TEXT, AT(cwd)},
    {"argv", KEY_TEXTS, AT(argv)},
    {"env", KEY_TEXTS, AT(env)},
    {"placeholders", KEY_BOOL, AT(placeholders), KEY_SPARSE},
    {"path_prepend", KEY_TEXTS, AT(path_prepend)},
    {"metrics", KEY_LIST, AT(metrics), .fields = metric_keys, LIST_OF(metrics, metric_count)},
    {"marks", KEY_LIST, AT(marks), KEY_SPARSE, .fields = mark_keys, LIST_OF(marks, mark_count)},
    {"oom_steps", KEY_LIST, AT(oom_steps), KEY_SPARSE, .to = step_json, .from = read_plan_step,
     LIST_OF(oom_steps, oom_step_count)},
    {"memory_snapshot", KEY_BOOL, AT(memory_snapshot), KEY_SPARSE},
    {"track_gpu_memory", KEY_SWITCH, AT(track_gpu_memory), KEY_SPARSE},
    {"gpu_memory_limit_bytes", KEY_SIZE, AT(gpu_limit.bytes), KEY_SPARSE},
    {"gpu_memory_limit_share", KEY_DOUBLE, AT(gpu_limit.share), KEY_SPARSE},
    {"success", KEY_TEXTS, AT(success)},
    {"errors", KEY_TEXTS, AT(errors)},
    {"exit_code_required", KEY_BOOL, AT(exit_code_required)},
    {"rules", KEY_OBJECT, AT(rules), .to = rules_json, .from = read_rules},
    {0},
};
#undef AT

/* ---- An experiment. */

#define AT(member) .at = offsetof(struct plan_experiment, member)

static const struct key experiment_keys[] = {
    {"id", KEY_TEXT, AT(id)},
    {"number", KEY_SIZE, AT(number)},
    {"entry", KEY_SIZE, AT(entry)},
    {"configuration", KEY_SIZE, AT(configuration), KEY_MAY_MISS},
    {"foreground", KEY_OBJECT, AT(foreground), .fields = job_keys},
    {"background", KEY_OWNED, AT(background), KEY_SPARSE, .fields = job_keys,
     .size = sizeof(struct plan_job)},
    {"max_retries", KEY_INT, AT(max_retries)},
    {"governor", KEY_TEXT, AT(governor), KEY_SPARSE},
    {"timeout_s", KEY_DOUBLE, AT(timeout_s)},
    {"expected_s", KEY_READING, AT(expected_s), KEY_SPARSE},
    {"exclusive", KEY_BOOL, AT(exclusive), KEY_SPARSE},
    {"start_after_s", KEY_READING, AT(start_after_s), KEY_SPARSE},
    {0},
};
#undef AT

json_t *plan_experiment_to_json(const struct plan_experiment *experiment)
{
    json_t *json = keys_json(experiment_keys, experiment);
    if (experiment->configuration == experiment->entry)
        json_object_del(json, "configuration");
    return json;
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
static bool check_id(const char *id, struct err *err)
{
    if (!fs_check_name(id, err))
        return err_wrap(err, "'id' must name the experiment's folder, and this plan was changed by "
                             "something else than tare");
    return ends_as_id(id) ||
           err_set(err,
                   "'id' is '%.200s', not <repository>_<model>_<number>: this plan was changed by "
                   "something else than tare",
                   id);
}

bool plan_experiment_from_json(const json_t *json, struct plan_experiment *out, struct err *err)
{
    *out =
        (struct plan_experiment){.parallel = json_is_object(json_object_get(json, "background"))};
    if (keys_read(experiment_keys, json, out, err) && check_id(out->id, err)) {
        if (!json_object_get(json, "configuration"))
            out->configuration = out->entry;
        out->start_after_s.valid = out->start_after_s.valid && out->start_after_s.value >= 0;
        return true;
    }
    plan_experiment_fini(out);
    return err_wrap(err, "experiment");
}

/* Hyperparameters, the arguments made of them, and whether these have placeholders. */
static bool is_own_key(const char *key)
{
    return strcmp(key, "hyperparameters") == 0 || strcmp(key, "argv") == 0 ||
           strcmp(key, "placeholders") == 0;
}

static bool is_alike(const json_t *a, const json_t *b)
{
    bool alike = true;
    for (const struct key *key = job_keys; alike && key->key; key++) {
        const json_t *of_a = json_object_get(a, key->key), *of_b = json_object_get(b, key->key);
        alike = is_own_key(key->key) || of_a == of_b || json_equal(of_a, of_b);
    }
    return alike;
}

void plan_experiment_share(struct plan_experiment *experiment, const json_t *json,
                           struct plan_experiment *like, const json_t *of_like)
{
    static const char fore[] = "foreground", back[] = "background";
    if (is_alike(json_object_get(json, fore), json_object_get(of_like, fore)))
        plan_job_share(&experiment->foreground, &like->foreground);
    if (experiment->background && like->background &&
        is_alike(json_object_get(json, back), json_object_get(of_like, back)))
        plan_job_share(experiment->background, like->background);
}

/* ---- The head. */

bool run_budget_is_set(const struct run_budget *budget)
{
    return budget->energy_j > 0 || budget->time_s > 0;
}

static json_t *positive_json(double number)
{
    return number > 0 ? json_finite(number) : json_null();
}

json_t *run_budget_to_json(const struct run_budget *budget)
{
    if (!run_budget_is_set(budget))
        return NULL;
    return json_pack("{s:o, s:o}", "energy_j", positive_json(budget->energy_j), "time_s",
                     positive_json(budget->time_s));
}

/* 0: there is none. */
static double positive_of(const json_t *json, const char *key)
{
    double number = 0;
    return json_get_number(json, key, &number) && number > 0 ? number : 0;
}

void run_budget_from_json(const json_t *json, struct run_budget *out)
{
    *out = (struct run_budget){.energy_j = positive_of(json, "energy_j"),
                               .time_s = positive_of(json, "time_s")};
}

static json_t *budget_key_json(const void *budget)
{
    return run_budget_to_json(budget);
}

static bool read_budget(const json_t *json, void *budget, struct err *err)
{
    (void)err;
    run_budget_from_json(json, budget);
    return true;
}

static const struct key parallel_keys[] = {
    {"wait_s", KEY_DOUBLE, .at = offsetof(struct parallel_timing, wait_s)},
    {"hold_s", KEY_DOUBLE, .at = offsetof(struct parallel_timing, hold_s)},
    {"limit_s", KEY_DOUBLE, .at = offsetof(struct parallel_timing, limit_s)},
    {"restart_delay_s", KEY_DOUBLE, .at = offsetof(struct parallel_timing, restart_delay_s)},
    {0},
};

static const struct key private_keys[] = {
    {"shm", KEY_BOOL, .at = offsetof(struct limits, own.shm), KEY_MAY_MISS},
    {"ipc", KEY_BOOL, .at = offsetof(struct limits, own.ipc), KEY_MAY_MISS},
    {"tmp", KEY_BOOL, .at = offsetof(struct limits, own.tmp), KEY_MAY_MISS},
    {0},
};

#define AT(member) .at = offsetof(struct guard_settings, member)

static const struct key guard_keys[] = {
    {"policy", KEY_NAME, AT(preflight.policy), .names = preflight_policies},
    {"memory_bytes", KEY_SIZE, AT(preflight.memory_bytes)},
    {"cooldown", KEY_NAME, AT(cooldown.mode), .names = cooldown_modes},
    {"wait_s", KEY_DOUBLE, AT(preflight.wait_s)},
    {"baseline_s", KEY_DOUBLE, AT(preflight.baseline_s)},
    {"utilisation_percent", KEY_DOUBLE, AT(preflight.utilisation_percent)},
    {"temperature_band_c", KEY_DOUBLE, AT(preflight.band_c)},
    {"temperature_max_c", KEY_DOUBLE, AT(preflight.temperature_c)},
    {"memory_wait_s", KEY_DOUBLE, AT(preflight.memory_wait_s)},
    {"cooldown_min_s", KEY_DOUBLE, AT(cooldown.min_s)},
    {"cooldown_max_s", KEY_DOUBLE, AT(cooldown.max_s)},
    {"energy_half_width_percent", KEY_DOUBLE, AT(half_width_percent), KEY_MAY_MISS},
    {"calibrate", KEY_NAME, AT(calibrate), KEY_SPARSE, .names = calibrate_modes + 1,
     .first = CALIBRATE_NEVER},
    {0},
};
#undef AT
#define AT(member) .at = offsetof(struct plan, member)

static const struct key head_keys[] = {
    {"name", KEY_TEXT, AT(name), KEY_SPARSE},
    {"seed", KEY_INT, AT(seed)},
    {"order", KEY_NAME, AT(order), .names = plan_orders},
    {"between_runs_s", KEY_DOUBLE, AT(timing.between_runs_s)},
    {"between_configurations_s", KEY_DOUBLE, AT(timing.between_configurations_s)},
    {"before_retry_s", KEY_DOUBLE, AT(timing.before_retry_s)},
    {"stop_grace_s", KEY_DOUBLE, AT(timing.stop_grace_s)},
    {"parallel", KEY_OBJECT, AT(parallel), KEY_MAY_MISS, .fields = parallel_keys},
    {"cpu_time_s", KEY_DOUBLE, AT(limits.job.cpu_time_s)},
    {"memory_bytes", KEY_SIZE, AT(limits.job.memory_bytes), KEY_NEEDED},
    {"log_bytes", KEY_INT, AT(limits.log_bytes)},
    {"private", KEY_OBJECT, AT(limits), KEY_MAY_MISS, .fields = private_keys},
    {"guard", KEY_OBJECT, AT(guard), KEY_MAY_MISS, .fields = guard_keys},
    {"gpus", KEY_TEXT, AT(pool.gpus), KEY_SPARSE},
    {"gpus_per_experiment", KEY_SIZE, AT(pool.per_experiment), KEY_MAY_MISS},
    {"cpu_sets", KEY_NAME, AT(pool.cpu_sets), KEY_MAY_MISS, .names = cpu_sets_modes},
    {"best", KEY_BOOL, AT(has_best), KEY_SPARSE},
    {"study_files", KEY_BOOL, AT(study_files), KEY_SPARSE},
    {"hang_s", KEY_DOUBLE, AT(limits.hang_s), KEY_SPARSE},
    {"budget", KEY_OBJECT, AT(budget), KEY_SPARSE, .to = budget_key_json, .from = read_budget},
    {0},
};
#undef AT

json_t *plan_head_to_json(const struct plan *plan)
{
    return keys_json(head_keys, plan);
}

bool plan_head_from_json(const json_t *json, struct plan *out, struct err *err)
{
    *out = (struct plan){.parallel = parallel_timing_default,
                         .guard = guard_settings_default,
                         .pool = {.cpu_sets = CPU_SETS_NONE}};
    if (keys_read(head_keys, json, out, err))
        return true;
    plan_fini(out);
    return err_wrap(err, "plan");
}
