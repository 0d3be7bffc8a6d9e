/* All of a plan that is not an experiment, as run.db keeps it, and the budget as each session records it too. */
#include "plan/job.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static const struct plan_number timing_numbers[] = {
    {"between_runs_s", offsetof(struct timing, between_runs_s)},
    {"between_configurations_s", offsetof(struct timing, between_configurations_s)},
    {"before_retry_s", offsetof(struct timing, before_retry_s)},
    {"stop_grace_s", offsetof(struct timing, stop_grace_s)},
    {0},
};
static const struct plan_number parallel_numbers[] = {
    {"wait_s", offsetof(struct parallel_timing, wait_s)},
    {"hold_s", offsetof(struct parallel_timing, hold_s)},
    {"limit_s", offsetof(struct parallel_timing, limit_s)},
    {"restart_delay_s", offsetof(struct parallel_timing, restart_delay_s)},
    {0},
};
static const struct plan_number limit_numbers[] = {{"cpu_time_s", offsetof(struct limits, cpu_time_s)}, {0}};
static const struct plan_number guard_numbers[] = {
    {"wait_s", offsetof(struct guard_settings, preflight.wait_s)},
    {"baseline_s", offsetof(struct guard_settings, preflight.baseline_s)},
    {"utilisation_percent", offsetof(struct guard_settings, preflight.utilisation_percent)},
    {"temperature_band_c", offsetof(struct guard_settings, preflight.band_c)},
    {"temperature_max_c", offsetof(struct guard_settings, preflight.temperature_c)},
    {"memory_wait_s", offsetof(struct guard_settings, preflight.memory_wait_s)},
    {"cooldown_min_s", offsetof(struct guard_settings, cooldown.min_s)},
    {"cooldown_max_s", offsetof(struct guard_settings, cooldown.max_s)},
    {0},
};
static const struct plan_number budget_numbers[] = {
    {"energy_j", offsetof(struct run_budget, energy_j)},
    {"time_s", offsetof(struct run_budget, time_s)},
    {"carbon_g", offsetof(struct run_budget, carbon_g)},
    {"carbon_g_per_kwh", offsetof(struct run_budget, intensity_g_per_kwh)},
    {0},
};

static double number_at(const struct plan_number *row, const void *of)
{
    double number;
    memcpy(&number, (const char *)of + row->offset, sizeof number);
    return number;
}

void plan_numbers_to_json(json_t *json, const struct plan_number *rows, const void *of)
{
    for (; rows->key; rows++)
        json_object_set_new(json, rows->key, json_finite(number_at(rows, of)));
}

bool plan_numbers_from_json(const json_t *json, const struct plan_number *rows, void *out, struct err *err)
{
    for (; rows->key; rows++) {
        double number;
        if (!json_get_number(json, rows->key, &number))
            return err_set(err, "'%s' is missing or no number", rows->key);
        memcpy((char *)out + rows->offset, &number, sizeof number);
    }
    return true;
}

static bool name_from_json(const json_t *json, const char *key, const char *const *names, int *out, struct err *err)
{
    const char *name = json_get_text(json, key);
    for (int i = 0; name && names[i]; i++)
        if (strcmp(names[i], name) == 0) {
            *out = i;
            return true;
        }
    return err_set(err, "'%s' is missing or unknown", key);
}

static json_t *guard_to_json(const struct guard_settings *guard)
{
    json_t *json = json_object();
    json_object_set_new(json, "policy", json_string(preflight_policies[guard->preflight.policy]));
    json_object_set_new(json, "memory_bytes", json_integer((json_int_t)guard->preflight.memory_bytes));
    json_object_set_new(json, "cooldown", json_string(cooldown_modes[guard->cooldown.mode]));
    plan_numbers_to_json(json, guard_numbers, guard);
    return json;
}

/* A plan made before there was a guard says nothing of it and has the defaults. */
static bool guard_from_json(const json_t *head, struct guard_settings *out, struct err *err)
{
    const json_t *json = json_object_get(head, "guard");
    json_int_t memory = 0;
    *out = guard_settings_default;
    if (!json)
        return true;
    if (!name_from_json(json, "policy", preflight_policies, &out->preflight.policy, err) ||
        !name_from_json(json, "cooldown", cooldown_modes, &out->cooldown.mode, err))
        return err_wrap(err, "guard");
    if (!json_get_int(json, "memory_bytes", &memory) || memory < 0)
        return err_set(err, "guard: 'memory_bytes' is missing or no number");
    out->preflight.memory_bytes = (uint64_t)memory;
    return plan_numbers_from_json(json, guard_numbers, out, err) || err_wrap(err, "guard");
}

bool run_budget_is_set(const struct run_budget *budget)
{
    return budget->energy_j > 0 || budget->time_s > 0 || budget->carbon_g > 0;
}

json_t *run_budget_to_json(const struct run_budget *budget)
{
    if (!run_budget_is_set(budget))
        return NULL;
    json_t *json = json_object();
    for (const struct plan_number *row = budget_numbers; row->key; row++) {
        double value = number_at(row, budget);
        json_object_set_new(json, row->key, value > 0 ? json_finite(value) : json_null());
    }
    json_object_set_new(json, "carbon_source", json_text_or_null(budget->source));
    return json;
}

void run_budget_from_json(const json_t *json, struct run_budget *out)
{
    *out = (struct run_budget){.source = mem_strdup(json_get_text(json, "carbon_source"))};
    for (const struct plan_number *row = budget_numbers; row->key; row++) {
        double value = 0;
        if (json_get_number(json, row->key, &value) && value > 0)
            memcpy((char *)out + row->offset, &value, sizeof value);
    }
}

void run_budget_copy(const struct run_budget *from, struct run_budget *to)
{
    *to = *from;
    to->source = mem_strdup(from->source);
}

void run_budget_fini(struct run_budget *budget)
{
    free(budget->source);
    *budget = (struct run_budget){0};
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
    plan_set_text(json, "name", plan->name);
    /* As a signed number: JSON's integers end at 2^63 here. Reading back undoes it. */
    json_object_set_new(json, "seed", json_integer((json_int_t)plan->seed));
    plan_set_text(json, "order", plan_orders[plan->order]);
    plan_numbers_to_json(json, timing_numbers, &plan->timing);
    json_t *parallel = json_object();
    plan_numbers_to_json(parallel, parallel_numbers, &plan->parallel);
    json_object_set_new(json, "parallel", parallel);
    plan_numbers_to_json(json, limit_numbers, &plan->limits);
    json_object_set_new(json, "memory_bytes", json_integer((json_int_t)plan->limits.memory_bytes));
    json_object_set_new(json, "log_bytes", json_integer((json_int_t)plan->limits.log_bytes));
    json_object_set_new(json, "private", private_to_json(&plan->limits));
    json_object_set_new(json, "guard", guard_to_json(&plan->guard));
    plan_set_text(json, "gpus", plan->pool.gpus);
    json_object_set_new(json, "gpus_per_experiment", json_integer(plan->pool.per_experiment));
    plan_set_text(json, "cpu_sets", cpu_sets_modes[plan->pool.cpu_sets]);
    if (plan->has_best)
        json_object_set_new(json, "best", json_true());
    if (plan->limits.hang_s > 0)
        json_object_set_new(json, "hang_s", json_finite(plan->limits.hang_s));
    json_t *budget = run_budget_to_json(&plan->budget);
    if (budget)
        json_object_set_new(json, "budget", budget);
    return json;
}

/* Plans made before parallel experiments could be run say nothing of them. */
static bool parallel_from_json(const json_t *json, struct parallel_timing *out, struct err *err)
{
    *out = parallel_timing_default;
    const json_t *object = json_object_get(json, "parallel");
    return !object || plan_numbers_from_json(object, parallel_numbers, out, err) || err_wrap(err, "parallel");
}

static bool head_from_json(const json_t *json, struct plan *out, struct err *err)
{
    int64_t seed = 0, memory_bytes = 0, log_bytes = 0;
    int order = 0;
    if (!name_from_json(json, "order", plan_orders, &order, err) || !plan_get_integer(json, "seed", &seed, err) ||
        !plan_numbers_from_json(json, timing_numbers, &out->timing, err) ||
        !parallel_from_json(json, &out->parallel, err) ||
        !plan_numbers_from_json(json, limit_numbers, &out->limits, err) ||
        !plan_get_integer(json, "memory_bytes", &memory_bytes, err) ||
        !plan_get_integer(json, "log_bytes", &log_bytes, err) || !guard_from_json(json, &out->guard, err))
        return false;
    out->order = (enum plan_order)order;
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
        (!plan_get_integer(json, "gpus_per_experiment", &out->pool.per_experiment, err) ||
         out->pool.per_experiment < 0))
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
