#include "plan/around.h"

#include "base/mem.h"

#include <stdlib.h>

/* The plan while it grows. */
struct growing {
    const struct plan *plan; /* as it was */
    struct plan_experiment *items;
    size_t count;
    struct err *err;
};

static const struct plan_experiment *find(const struct plan *plan, size_t entry)
{
    for (size_t i = 0; i < plan->count; i++)
        if (plan->experiments[i].entry == entry)
            return &plan->experiments[i];
    return NULL;
}

/* Each has a list of its own, so the copy goes the way on which run.db keeps it. */
static bool add_copy(struct growing *growing, const struct plan_experiment *experiment)
{
    struct plan_experiment *out = &growing->items[growing->count];
    json_t *json = plan_experiment_to_json(experiment);
    bool ok = plan_experiment_from_json(json, out, growing->err);
    json_decref(json);
    if (!ok)
        return false;
    out->number = ++growing->count;
    free(out->id);
    out->id = plan_experiment_id(out->foreground.repo, out->foreground.model, out->number, out->parallel);
    return true;
}

static bool add_of_entry(struct growing *growing, size_t entry)
{
    if (entry == PLAN_AROUND_NONE)
        return true;
    const struct plan_experiment *experiment = find(growing->plan, entry);
    return experiment ? add_copy(growing, experiment)
                      : err_set(growing->err, "entry %zu of the plan has no experiment", entry);
}

static bool is_around(const size_t *before, const size_t *after, size_t entries, size_t entry)
{
    for (size_t e = 0; e < entries; e++)
        if (before[e] == entry || after[e] == entry)
            return true;
    return false;
}

bool plan_surround(struct plan *plan, const size_t *before, const size_t *after, size_t entries, struct err *err)
{
    struct growing growing = {
        .plan = plan, .items = mem_array(3 * plan->count + 1, sizeof *plan->experiments), .err = err};
    bool ok = true;
    for (size_t i = 0; ok && i < plan->count; i++) {
        size_t entry = plan->experiments[i].entry;
        if (is_around(before, after, entries, entry))
            continue;
        ok = add_of_entry(&growing, entry < entries ? before[entry] : PLAN_AROUND_NONE) &&
             add_copy(&growing, &plan->experiments[i]) &&
             add_of_entry(&growing, entry < entries ? after[entry] : PLAN_AROUND_NONE);
    }
    struct plan_experiment *gone = ok ? plan->experiments : growing.items;
    size_t count = ok ? plan->count : growing.count;
    if (ok) {
        plan->experiments = growing.items;
        plan->count = growing.count;
    }
    for (size_t i = 0; i < count; i++)
        plan_experiment_fini(&gone[i]);
    free(gone);
    return ok;
}
