#include "audit/identical.h"

#include "base/mem.h"
#include "base/text.h"
#include "stats/describe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool audit_is_seed(const char *name)
{
    return strcmp(name, "seed") == 0 || strcmp(name, "random_seed") == 0 || strcmp(name, "manual_seed") == 0;
}

static int compare_params(const void *a, const void *b)
{
    const struct dataset_param *const *left = a, *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

/* Lengths stand before what they are of. */
static char *params_key(const struct dataset_experiment *experiment, bool seeds)
{
    AUTO_TEXT struct text key = {0};
    AUTO_FREE const struct dataset_param **params = mem_array(experiment->param_count + 1, sizeof *params);
    size_t count = 0;
    for (size_t i = 0; i < experiment->param_count; i++)
        if (seeds || !audit_is_seed(experiment->params[i].name))
            params[count++] = &experiment->params[i];
    qsort(params, count, sizeof *params, compare_params);
    for (size_t i = 0; i < count; i++) {
        AUTO_FREE char *value = value_key(&params[i]->value);
        text_addf(&key, "%zu:%s%zu:%s", strlen(params[i]->name), params[i]->name, strlen(value), value);
    }
    return text_take(&key);
}

char *audit_params_key(const struct dataset_experiment *experiment)
{
    return params_key(experiment, false);
}

char *audit_params_key_with_seeds(const struct dataset_experiment *experiment)
{
    return params_key(experiment, true);
}

struct keyed {
    char *key;
    size_t index;
};

static int compare_keys(const void *a, const void *b)
{
    const struct keyed *left = a, *right = b;
    int order = strcmp(left->key, right->key);
    return order ? order : (left->index > right->index) - (left->index < right->index);
}

/* For each of the experiments the next one with the same hyperparameters, or count; first: none before it has them. */
static void chain(const struct dataset *dataset, const size_t *items, size_t count, bool mixed, size_t *next,
                  bool *first)
{
    AUTO_FREE struct keyed *keys = mem_array(count + 1, sizeof *keys);
    for (size_t i = 0; i < count; i++)
        keys[i] = (struct keyed){mixed ? mem_strdup("") : audit_params_key(&dataset->items[items[i]]), i};
    qsort(keys, count, sizeof *keys, compare_keys);
    for (size_t i = 0; i < count; i++) {
        first[keys[i].index] = i == 0 || strcmp(keys[i].key, keys[i - 1].key) != 0;
        next[keys[i].index] = i + 1 < count && strcmp(keys[i].key, keys[i + 1].key) == 0 ? keys[i + 1].index : count;
    }
    for (size_t i = 0; i < count; i++)
        free(keys[i].key);
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
    AUTO_FREE bool *first = mem_array(count + 1, sizeof *first);
    AUTO_FREE size_t *next = mem_array(count + 1, sizeof *next);
    AUTO_FREE double *values = mem_array(count + 1, sizeof *values);
    chain(dataset, items, count, mixed, next, first);
    for (size_t i = 0; i < count; i++) {
        size_t n = 0;
        for (size_t k = i; first[i] && k < count; k = next[k]) {
            struct reading value = figure(&dataset->items[items[k]], context);
            if (value.valid)
                values[n++] = value.value;
        }
        add_set(&out, values, n, &squares);
    }
    if (out.freedom)
        out.cv = (struct reading){sqrt(squares / (double)out.freedom), true};
    return out;
}
