#include "results/store/page_json.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/value.h"

#include <math.h>
#include <stdio.h>

json_t *page_json_offsets(const json_t *run)
{
    const json_t *sessions = json_object_get(run, "sessions"),
                 *zone_s = json_object_get(run, "zone_s");
    size_t i;
    json_t *session;
    if (json_is_integer(zone_s))
        return json_pack("[[i, O]]", 0, zone_s);
    json_array_foreach(sessions, i, session)
    {
        json_t *offsets = json_object_get(json_object_get(session, "zone"), "offsets");
        if (json_array_size(offsets))
            return json_incref(offsets);
    }
    return json_null();
}

void page_json_spell_large(json_t *object, const char *key)
{
    enum { ENOUGH = 24 };
    static const json_int_t most = (json_int_t)1 << 53;
    json_int_t number;
    char digits[ENOUGH];
    if (!json_get_int(object, key, &number) || (number <= most && number >= -most))
        return;
    snprintf(digits, sizeof digits, "%" JSON_INTEGER_FORMAT, number);
    json_object_set_new(object, key, json_string(digits));
}

static void spell_large_params(json_t *job)
{
    json_t *params = json_object_get(job, "hyperparameters");
    const char *key;
    json_t *value;
    json_object_foreach(params, key, value) page_json_spell_large(params, key);
}

/* A row for each component: name, type, u, its unit, sensitivity, joules, degrees of freedom,
 * source. The names of the keys would be most of it. */
static json_t *compact_budget(const json_t *budget)
{
    static const char *const keys[] = {
        "component",          "type",  "u", "unit", "sensitivity", "contribution_j",
        "degrees_of_freedom", "source"};
    enum { DIGITS = 4 };
    json_t *out = json_object(), *rows = json_array();
    size_t i;
    json_t *component;
    json_array_foreach(json_object_get(budget, "components"), i, component)
    {
        json_t *row = json_array();
        EACH_OF (key, keys) {
            json_t *cell = json_object_get(component, *key);
            if (json_is_real(cell))
                json_array_append_new(row,
                                      json_finite(number_round(json_real_value(cell), DIGITS)));
            else
                json_array_append(row, cell ? cell : json_null());
        }
        json_array_append_new(rows, row);
    }
    json_object_set_new(out, "rows", rows);
    return out;
}

/* Of the GPUs' energy the budget is shown; the others are in experiment.json. */
static void shrink_budgets(json_t *energy)
{
    static const char *const others[] = {"cpu_package", "dram", "platform"};
    json_t *gpu = json_object_get(energy, "gpu"), *budget = json_object_get(gpu, "budget"), *device;
    size_t i;
    if (json_is_object(budget))
        json_object_set_new(gpu, "budget", compact_budget(budget));
    for (i = 0; i < sizeof others / sizeof *others; i++)
        json_object_del(json_object_get(energy, others[i]), "budget");
    json_array_foreach(json_object_get(energy, "devices"), i, device)
        json_object_del(device, "budget");
}

static struct page_json_item page_item_of(const json_t *experiment)
{
    const json_t *spans = json_object_get(experiment, "spans"),
                 *last = json_array_get(spans, json_array_size(spans) - 1);
    struct reading from_ms = json_get_reading(last, "from_ms");
    json_int_t number = 0;
    json_get_int(experiment, "number", &number);
    return (struct page_json_item){.id = json_get_text(experiment, "experiment_id"),
                                   .number = number,
                                   .start_s = from_ms.valid ? from_ms.value / 1000 : NAN};
}

json_t *page_json_slim(const json_t *experiment, struct page_json_item *item)
{
    json_t *out = json_deep_copy(experiment);
    json_t *own = json_object_get(out, "tare");
    size_t i;
    json_t *attempt;
    if (item)
        *item = page_item_of(experiment);
    json_object_del(json_object_get(own, "parallel"), "looks");
    shrink_budgets(json_object_get(own, "energy"));
    json_array_foreach(json_object_get(own, "attempts"), i, attempt)
    {
        json_object_del(attempt, "energy");
        json_object_del(json_object_get(attempt, "parallel"), "looks");
    }
    spell_large_params(out);
    spell_large_params(json_object_get(out, "foreground"));
    spell_large_params(json_object_get(out, "background"));
    return out;
}

const json_t *page_json_experiments(const json_t *run, bool *of_study)
{
    *of_study = json_object_get(run, "layout") != NULL;
    return json_object_get(run, "experiments");
}

void page_json_add_problem(json_t *head, const char *text)
{
    json_t *problems = json_object_get(head, "problems");
    if (!json_is_array(problems)) {
        problems = json_array();
        json_object_set_new(head, "problems", problems);
    }
    json_array_append_new(problems, json_string(text));
}

bool page_json_has_trace(const json_t *experiment)
{
    return json_object_get(experiment, "trace") != NULL;
}

void page_json_each_snapshot(const json_t *run, page_json_snapshot_fn *each, void *context)
{
    const json_t *experiments = json_object_get(run, "experiments"), *experiment, *attempt;
    size_t i, k;
    json_array_foreach(experiments, i, experiment)
    {
        const json_t *attempts = json_get(json_get(experiment, "tare"), "attempts");
        json_array_foreach(attempts, k, attempt)
        {
            json_int_t number = 0;
            struct page_json_snapshot snapshot = {
                .id = json_get_text(experiment, "experiment_id"),
                .file = json_get_text(json_get(attempt, "snapshot"), "file"),
                .last = k + 1 == json_array_size(attempts)};
            if (!snapshot.file || !json_get_int(attempt, "number", &number))
                continue;
            snapshot.attempt = number;
            each(context, &snapshot);
        }
    }
}
