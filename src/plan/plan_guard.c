#include "plan/job.h"

#include "base/json.h"

#include <string.h>

/* Where each number stands in struct guard_settings. */
static const struct {
    const char *key;
    size_t offset;
} numbers[] = {
    {"wait_s", offsetof(struct guard_settings, preflight.wait_s)},
    {"baseline_s", offsetof(struct guard_settings, preflight.baseline_s)},
    {"utilisation_percent", offsetof(struct guard_settings, preflight.utilisation_percent)},
    {"temperature_band_c", offsetof(struct guard_settings, preflight.band_c)},
    {"temperature_max_c", offsetof(struct guard_settings, preflight.temperature_c)},
    {"memory_wait_s", offsetof(struct guard_settings, preflight.memory_wait_s)},
    {"cooldown_min_s", offsetof(struct guard_settings, cooldown.min_s)},
    {"cooldown_max_s", offsetof(struct guard_settings, cooldown.max_s)},
};

#define NUMBERS (sizeof numbers / sizeof *numbers)

static double number_get(const struct guard_settings *guard, size_t which)
{
    double number;
    memcpy(&number, (const char *)guard + numbers[which].offset, sizeof number);
    return number;
}

json_t *plan_guard_to_json(const struct guard_settings *guard)
{
    json_t *json = json_object();
    json_object_set_new(json, "policy", json_string(preflight_policies[guard->preflight.policy]));
    json_object_set_new(json, "memory_bytes", json_integer((json_int_t)guard->preflight.memory_bytes));
    json_object_set_new(json, "cooldown", json_string(cooldown_modes[guard->cooldown.mode]));
    for (size_t i = 0; i < NUMBERS; i++)
        json_object_set_new(json, numbers[i].key, json_finite(number_get(guard, i)));
    return json;
}

static bool name_from_json(const json_t *json, const char *key, const char *const *names, int *out, struct err *err)
{
    const char *name = json_get_text(json, key);
    for (int i = 0; name && names[i]; i++)
        if (strcmp(names[i], name) == 0) {
            *out = i;
            return true;
        }
    return err_set(err, "guard: '%s' is missing or unknown", key);
}

bool plan_guard_from_json(const json_t *head, struct guard_settings *out, struct err *err)
{
    const json_t *json = json_object_get(head, "guard");
    json_int_t memory = 0;
    *out = guard_settings_default;
    if (!json)
        return true;
    if (!name_from_json(json, "policy", preflight_policies, &out->preflight.policy, err) ||
        !name_from_json(json, "cooldown", cooldown_modes, &out->cooldown.mode, err))
        return false;
    if (!json_get_int(json, "memory_bytes", &memory) || memory < 0)
        return err_set(err, "guard: 'memory_bytes' is missing or no number");
    out->preflight.memory_bytes = (uint64_t)memory;
    for (size_t i = 0; i < NUMBERS; i++) {
        double number;
        if (!json_get_number(json, numbers[i].key, &number))
            return err_set(err, "guard: '%s' is missing or no number", numbers[i].key);
        memcpy((char *)out + numbers[i].offset, &number, sizeof number);
    }
    return true;
}
