#include "sharing/result.h"

#include "base/json.h"
#include "base/mem.h"

#include <string.h>

static const json_t *own(const json_t *experiment)
{
    return json_get(experiment, "tare");
}

bool result_ended(const json_t *experiment)
{
    return result_succeeded(experiment) || json_says(own(experiment), "outcome", "failed");
}

bool result_succeeded(const json_t *experiment)
{
    return json_says(own(experiment), "outcome", "succeeded");
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
    return json_string_value(json_array_get(json_get(oom, "reasons"), 0));
}

const char *result_remedy(const json_t *oom, const char *name)
{
    const json_t *remedies = json_get(oom, "remedies");
    for (size_t i = 0; i < json_array_size(remedies); i++) {
        const json_t *remedy = json_array_get(remedies, i);
        if (json_says(remedy, "name", name))
            return json_get_text(remedy, "what");
    }
    return NULL;
}

json_t *result_alone(const json_t *experiment)
{
    static const char *const keys[] = {"number", "started", "duration_seconds",
                                       "error",  "memory",  "oom"};
    const json_t *last = result_attempt(experiment), *tare = own(experiment);
    json_t *attempts = json_array(), *attempt = json_object();
    EACH_OF (key, keys)
        if (json_get(last, *key))
            json_object_set(attempt, *key, json_object_get(last, *key));
    if (last)
        json_array_append(attempts, attempt);
    json_decref(attempt);
    return json_pack("{s:{s:O*, s:O*, s:{s:O*}, s:o}}", "tare", "outcome",
                     json_get(tare, "outcome"), "failure", json_get(tare, "failure"), "energy",
                     "gpu", result_gpu_energy(experiment), "attempts", attempts);
}
