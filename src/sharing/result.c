#include "sharing/result.h"

#include "base/json.h"
#include "base/mem.h"

#include <string.h>

static const json_t *own(const json_t *experiment)
{
    return json_get(experiment, "tare");
}

static bool has_outcome(const json_t *experiment, const char *outcome)
{
    const char *text = json_get_text(own(experiment), "outcome");
    return text && strcmp(text, outcome) == 0;
}

bool result_ended(const json_t *experiment)
{
    return has_outcome(experiment, "succeeded") || has_outcome(experiment, "failed");
}

bool result_succeeded(const json_t *experiment)
{
    return has_outcome(experiment, "succeeded");
}

const json_t *result_attempt(const json_t *experiment)
{
    const json_t *attempts = json_get(own(experiment), "attempts");
    size_t count = json_array_size(attempts);
    return count ? json_array_get(attempts, count - 1) : NULL;
}

const json_t *result_gpu_energy(const json_t *experiment)
{
    return json_get(json_get(own(experiment), "energy"), "gpu");
}

const json_t *result_parallel(const json_t *experiment)
{
    return json_get(own(experiment), "parallel");
}

char *result_error(const json_t *experiment)
{
    const char *error = json_get_text(result_attempt(experiment), "error");
    return mem_strdup(error ? error : "it is not known why");
}

const char *result_oom_reason(const json_t *oom)
{
    const json_t *first = json_array_get(json_get(oom, "reasons"), 0);
    return json_is_string(first) ? json_string_value(first) : NULL;
}

const char *result_remedy(const json_t *oom, const char *name)
{
    const json_t *remedies = json_get(oom, "remedies");
    for (size_t i = 0; i < json_array_size(remedies); i++) {
        const json_t *remedy = json_array_get(remedies, i);
        const char *its = json_get_text(remedy, "name");
        if (its && strcmp(its, name) == 0)
            return json_get_text(remedy, "what");
    }
    return NULL;
}

static void keep(json_t *to, const json_t *from, const char *key)
{
    const json_t *value = json_get(from, key);
    if (value)
        json_object_set_new(to, key, json_deep_copy(value));
}

json_t *result_alone(const json_t *experiment)
{
    json_t *json = json_object(), *tare = json_object(), *energy = json_object(), *attempt = json_object();
    const json_t *last = result_attempt(experiment);
    keep(attempt, last, "number");
    keep(attempt, last, "started");
    keep(attempt, last, "duration_seconds");
    keep(attempt, last, "error");
    keep(attempt, last, "memory");
    keep(attempt, last, "oom");
    keep(energy, json_get(own(experiment), "energy"), "gpu");
    keep(tare, own(experiment), "outcome");
    keep(tare, own(experiment), "failure");
    json_object_set_new(tare, "energy", energy);
    json_object_set_new(tare, "attempts", last ? json_pack("[o]", attempt) : json_array());
    if (!last)
        json_decref(attempt);
    json_object_set_new(json, "tare", tare);
    return json;
}
