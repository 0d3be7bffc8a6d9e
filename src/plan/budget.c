/* What a whole run may use, as the plan and each session record it. */
#include "plan/plan.h"

#include "base/json.h"
#include "base/mem.h"

#include <stdlib.h>

static const struct {
    const char *key;
    size_t offset;
} budget_rows[] = {
    {"energy_j", offsetof(struct run_budget, energy_j)},
    {"time_s", offsetof(struct run_budget, time_s)},
    {"carbon_g", offsetof(struct run_budget, carbon_g)},
    {"carbon_g_per_kwh", offsetof(struct run_budget, intensity_g_per_kwh)},
};
enum { BUDGET_ROWS = sizeof budget_rows / sizeof *budget_rows };

bool run_budget_is_set(const struct run_budget *budget)
{
    return budget->energy_j > 0 || budget->time_s > 0 || budget->carbon_g > 0;
}

json_t *run_budget_to_json(const struct run_budget *budget)
{
    if (!run_budget_is_set(budget))
        return NULL;
    json_t *json = json_object();
    for (size_t i = 0; i < BUDGET_ROWS; i++) {
        double value = *(const double *)(const void *)((const char *)budget + budget_rows[i].offset);
        json_object_set_new(json, budget_rows[i].key, value > 0 ? json_finite(value) : json_null());
    }
    json_object_set_new(json, "carbon_source", json_text_or_null(budget->source));
    return json;
}

void run_budget_from_json(const json_t *json, struct run_budget *out)
{
    *out = (struct run_budget){.source = mem_strdup(json_get_text(json, "carbon_source"))};
    for (size_t i = 0; i < BUDGET_ROWS; i++) {
        double value = 0;
        if (json_get_number(json, budget_rows[i].key, &value) && value > 0)
            *(double *)(void *)((char *)out + budget_rows[i].offset) = value;
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
