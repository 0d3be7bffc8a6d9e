#include "plan/plan_json.h"
#include "base/fs_path.h"
#include "plan/config/registry_rules.h"

#include "base/mem.h"
#include "base/record.h"
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

#define NEEDED   .presence = RECORD_NEEDED
#define MAY_MISS .presence = RECORD_MAY_MISS
#define SPARSE   .presence = RECORD_SPARSE

#define STEP(member) RECORD(struct registry_oom_step, member, MAY_MISS)
static const struct registry_oom_step once = {.times = 1};
static const struct record_field step_fields[] = {
    RECORD_STRUCTS(struct registry_oom_step, "changes", changes, change_count, NULL, MAY_MISS,
                   .to = change_json, .from = read_plan_change),
    STEP(args),
    STEP(env),
    STEP(times),
    {0}};

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

static const struct record_field param_fields[] = {
    RECORD(struct plan_param, name, NEEDED),    RECORD(struct plan_param, value, NEEDED),
    RECORD(struct plan_param, mutated, NEEDED), RECORD(struct plan_param, flag, SPARSE),
    RECORD(struct plan_param, place, SPARSE),   {0},
};

static const struct record_field metric_fields[] = {
    RECORD(struct registry_metric, name, NEEDED),
    RECORD(struct registry_metric, pattern, NEEDED),
    RECORD_CHOICE(struct registry_metric, "goal", goal, goal_names, SPARSE, .first = GOAL_MINIMIZE),
    {0},
};

static const struct record_field mark_fields[] = {
    RECORD(struct registry_mark, name, NEEDED),
    RECORD(struct registry_mark, start, SPARSE),
    RECORD(struct registry_mark, end, SPARSE),
    {0},
};

#define JOB(key, member, ...) RECORD_AS(struct plan_job, key, member, __VA_ARGS__)
#define JOB_LIST(key, member, count, table, ...) \
    RECORD_STRUCTS(struct plan_job, key, member, count, table, __VA_ARGS__)

static const struct record_field job_fields[] = {
    JOB("repository", repo, NEEDED),
    JOB("model", model, NEEDED),
    RECORD_CHOICE(struct plan_job, "mode", mode, job_mode_names, NEEDED),
    JOB_LIST("hyperparameters", params, param_count, param_fields, NEEDED),
    JOB("cwd", cwd, NEEDED),
    JOB("argv", argv, NEEDED),
    JOB("env", env, NEEDED),
    JOB("placeholders", placeholders, SPARSE),
    JOB("path_prepend", path_prepend, NEEDED),
    JOB_LIST("metrics", metrics, metric_count, metric_fields, NEEDED),
    JOB_LIST("marks", marks, mark_count, mark_fields, SPARSE),
    JOB_LIST("oom_steps", oom_steps, oom_step_count, step_fields, SPARSE, .initial = &once),
    JOB("memory_snapshot", memory_snapshot, SPARSE),
    {.key = "track_gpu_memory",
     .type = RECORD_SWITCH,
     MAY_MISS,
     .at = offsetof(struct plan_job, track_gpu_memory)},
    JOB("gpu_memory_limit_bytes", gpu_limit.bytes, SPARSE),
    JOB("gpu_memory_limit_share", gpu_limit.share, SPARSE),
    JOB("success", success, NEEDED),
    JOB("errors", errors, NEEDED),
    JOB("exit_code_required", exit_code_required, NEEDED),
    RECORD_STRUCT(struct plan_job, "rules", rules, NULL, NEEDED, .to = rules_json,
                  .from = read_rules),
    {0},
};

/* ---- An experiment. */

#define EXPERIMENT(member, ...) RECORD(struct plan_experiment, member, __VA_ARGS__)

static const struct record_field experiment_fields[] = {
    EXPERIMENT(id, NEEDED),
    EXPERIMENT(number, NEEDED),
    EXPERIMENT(entry, NEEDED),
    EXPERIMENT(configuration, MAY_MISS),
    RECORD_STRUCT(struct plan_experiment, "foreground", foreground, job_fields, NEEDED),
    RECORD_STRUCT_OWNED(struct plan_experiment, "background", background, job_fields, SPARSE),
    EXPERIMENT(max_retries, NEEDED),
    EXPERIMENT(governor, SPARSE),
    EXPERIMENT(timeout_s, NEEDED),
    EXPERIMENT(expected_s, SPARSE),
    EXPERIMENT(exclusive, SPARSE),
    EXPERIMENT(start_after_s, SPARSE),
    {0},
};

json_t *plan_experiment_to_json(const struct plan_experiment *experiment)
{
    json_t *json = record_json(experiment_fields, experiment);
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
    if (record_read(experiment_fields, json, out, err) && check_id(out->id, err)) {
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
    for (const struct record_field *key = job_fields; alike && key->key; key++) {
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

/* 0: there is none. */
#define BUDGET(member) RECORD_IF(struct run_budget, member, #member, member, .high = HUGE_VAL)
static const struct record_field budget_fields[] = {BUDGET(energy_j), BUDGET(time_s), {0}};

json_t *run_budget_to_json(const struct run_budget *budget)
{
    return run_budget_is_set(budget) ? record_json(budget_fields, budget) : NULL;
}

void run_budget_from_json(const json_t *json, struct run_budget *out)
{
    *out = (struct run_budget){0};
    record_get(budget_fields, json, out);
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

#define PARALLEL(member) RECORD(struct parallel_timing, member, NEEDED)
static const struct record_field parallel_fields[] = {
    PARALLEL(wait_s), PARALLEL(hold_s), PARALLEL(limit_s), PARALLEL(restart_delay_s), {0}};

#define PRIVATE(key, member) RECORD_AS(struct limits, key, member, MAY_MISS)
static const struct record_field private_fields[] = {
    PRIVATE("shm", own.shm), PRIVATE("ipc", own.ipc), PRIVATE("tmp", own.tmp), {0}};

#define GUARD(key, member, ...) RECORD_AS(struct guard_settings, key, member, __VA_ARGS__)

static const struct record_field guard_fields[] = {
    RECORD_CHOICE(struct guard_settings, "policy", preflight.policy, preflight_policies, NEEDED),
    GUARD("memory_bytes", preflight.memory_bytes, NEEDED),
    RECORD_CHOICE(struct guard_settings, "cooldown", cooldown.mode, cooldown_modes, NEEDED),
    GUARD("wait_s", preflight.wait_s, NEEDED),
    GUARD("baseline_s", preflight.baseline_s, NEEDED),
    GUARD("utilisation_percent", preflight.utilisation_percent, NEEDED),
    GUARD("temperature_band_c", preflight.band_c, NEEDED),
    GUARD("temperature_max_c", preflight.temperature_c, NEEDED),
    GUARD("memory_wait_s", preflight.memory_wait_s, NEEDED),
    GUARD("cooldown_min_s", cooldown.min_s, NEEDED),
    GUARD("cooldown_max_s", cooldown.max_s, NEEDED),
    GUARD("energy_half_width_percent", half_width_percent, MAY_MISS),
    RECORD_CHOICE(struct guard_settings, "calibrate", calibrate, calibrate_modes + 1, SPARSE,
                  .first = CALIBRATE_NEVER),
    {0},
};

#define HEAD(key, member, ...) RECORD_AS(struct plan, key, member, __VA_ARGS__)

/* The bits of a uint64_t: JSON's integers end at 2^63 here. */
#define HEAD_BITS(text, member)                                                          \
    {                                                                                    \
        .key = (text), .type = RECORD_INT64, NEEDED, .at = offsetof(struct plan, member) \
    }

static const struct record_field head_fields[] = {
    HEAD("name", name, SPARSE),
    HEAD_BITS("seed", seed),
    RECORD_CHOICE(struct plan, "order", order, plan_orders, NEEDED),
    HEAD("between_runs_s", timing.between_runs_s, NEEDED),
    HEAD("between_configurations_s", timing.between_configurations_s, NEEDED),
    HEAD("before_retry_s", timing.before_retry_s, NEEDED),
    HEAD("stop_grace_s", timing.stop_grace_s, NEEDED),
    RECORD_STRUCT(struct plan, "parallel", parallel, parallel_fields, MAY_MISS),
    HEAD("cpu_time_s", limits.job.cpu_time_s, NEEDED),
    HEAD("memory_bytes", limits.job.memory_bytes, NEEDED),
    HEAD_BITS("log_bytes", limits.log_bytes),
    RECORD_STRUCT(struct plan, "private", limits, private_fields, MAY_MISS),
    RECORD_STRUCT(struct plan, "guard", guard, guard_fields, MAY_MISS),
    HEAD("gpus", pool.gpus, SPARSE),
    HEAD("gpus_per_experiment", pool.per_experiment, MAY_MISS),
    RECORD_CHOICE(struct plan, "cpu_sets", pool.cpu_sets, cpu_sets_modes, MAY_MISS),
    HEAD("best", has_best, SPARSE),
    HEAD("study_files", study_files, SPARSE),
    HEAD("hang_s", limits.hang_s, SPARSE),
    RECORD_STRUCT(struct plan, "budget", budget, NULL, SPARSE, .to = budget_key_json,
                  .from = read_budget),
    {0},
};

json_t *plan_head_to_json(const struct plan *plan)
{
    return record_json(head_fields, plan);
}

bool plan_head_from_json(const json_t *json, struct plan *out, struct err *err)
{
    *out = (struct plan){.parallel = parallel_timing_default,
                         .guard = guard_settings_default,
                         .pool = {.cpu_sets = CPU_SETS_NONE}};
    if (record_read(head_fields, json, out, err))
        return true;
    plan_fini(out);
    return err_wrap(err, "plan");
}
