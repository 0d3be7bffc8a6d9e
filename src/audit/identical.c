#include "audit/identical.h"

#include "base/mem.h"
#include "stats/describe.h"

#include <math.h>
#include <string.h>

static bool is_seed(const char *name)
{
    return strcmp(name, "seed") == 0 || strcmp(name, "random_seed") == 0 || strcmp(name, "manual_seed") == 0;
}

static bool has_all_of(const struct dataset_experiment *a, const struct dataset_experiment *b)
{
    for (size_t i = 0; i < a->param_count; i++) {
        const struct value *other = dataset_param(b, a->params[i].name);
        if (is_seed(a->params[i].name))
            continue;
        if (!other)
            return false;
        AUTO_FREE char *left = value_key(&a->params[i].value);
        AUTO_FREE char *right = value_key(other);
        if (strcmp(left, right) != 0)
            return false;
    }
    return true;
}

bool audit_same_params(const struct dataset_experiment *a, const struct dataset_experiment *b)
{
    return has_all_of(a, b) && has_all_of(b, a);
}

/* One set's squared coefficient of variation, weighted by its degrees of freedom. */
static void add_set(struct audit_spread *spread, const double *values, size_t n, double *squares)
{
    struct reading cv = stats_cv(values, n);
    if (!cv.valid)
        return;
    spread->sets++;
    spread->values += n;
    spread->freedom += n - 1;
    *squares += (double)(n - 1) * cv.value * cv.value;
}

struct audit_spread audit_spread_of(const struct dataset *dataset, const size_t *items, size_t count, bool mixed,
                                    audit_figure *figure, const void *context)
{
    struct audit_spread out = {0};
    double squares = 0;
    AUTO_FREE bool *taken = mem_array(count + 1, sizeof *taken);
    AUTO_FREE double *values = mem_array(count + 1, sizeof *values);
    for (size_t i = 0; i < count; i++) {
        size_t n = 0;
        for (size_t k = i; k < count; k++) {
            const struct dataset_experiment *experiment = &dataset->items[items[k]];
            struct reading value = figure(experiment, context);
            if (taken[k] || !value.valid || (!mixed && !audit_same_params(&dataset->items[items[i]], experiment)))
                continue;
            taken[k] = true;
            values[n++] = value.value;
        }
        add_set(&out, values, n, &squares);
    }
    if (out.freedom)
        out.cv = (struct reading){sqrt(squares / (double)out.freedom), true};
    return out;
}
