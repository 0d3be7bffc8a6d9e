#include "results/judge/identical.h"

#include "base/mem.h"
#include "base/text.h"
#include "plan/config/registry.h"
#include "stats/describe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool audit_is_one_of(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (strcasecmp(name, *words) == 0)
            return true;
    return false;
}

bool audit_is_seed(const char *name)
{
    return param_name_is_seed(name);
}

bool audit_is_epochs(const char *name)
{
    static const char *const epochs[] = {"epochs", "num_epochs", "n_epochs", "max_epochs", NULL};
    return audit_is_one_of(name, epochs);
}

/* A name, and how many experiments have it. */
struct spelling {
    const char *name;
    size_t uses;
};

/* Of one name the spelling that most experiments have, then the one with small letters. */
static int compare_spellings(const void *a, const void *b)
{
    const struct spelling *left = a, *right = b;
    int order = strcasecmp(left->name, right->name);
    if (order == 0 && left->uses != right->uses)
        return left->uses > right->uses ? -1 : 1;
    return order ? order : strcmp(right->name, left->name);
}

static size_t find_spellings(const struct dataset *dataset, struct spelling **out)
{
    size_t count = 0;
    EACH (item, dataset->items, dataset->count)
        EACH (param, item->params, item->param_count) {
            const char *name = param->name;
            size_t k = 0;
            while (k < count && strcmp((*out)[k].name, name) != 0)
                k++;
            if (k == count) {
                *out = mem_room(*out, count, sizeof **out);
                (*out)[count++] = (struct spelling){.name = name};
            }
            (*out)[k].uses++;
        }
    if (count)
        qsort(*out, count, sizeof **out, compare_spellings);
    return count;
}

static bool one_has_both(const struct dataset *dataset, const struct spelling *spellings,
                         size_t count)
{
    EACH (item, dataset->items, dataset->count) {
        size_t has = 0;
        EACH (entry, spellings, count)
            has += dataset_param(item, entry->name) != NULL;
        if (has > 1)
            return true;
    }
    return false;
}

static void call_them(struct dataset *dataset, const char *name)
{
    EACH (item, dataset->items, dataset->count)
        EACH (param, item->params, item->param_count) {
            if (strcmp(param->name, name) != 0 && strcasecmp(param->name, name) == 0) {
                free(param->name);
                param->name = mem_strdup(name);
            }
        }
}

void audit_join_names(struct dataset *dataset)
{
    AUTO_FREE struct spelling *spellings = NULL;
    size_t count = find_spellings(dataset, &spellings), first = dataset->spelling_count;
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1;
             to < count && strcasecmp(spellings[to].name, spellings[from].name) == 0;)
            to++;
        bool apart = to - from > 1 && one_has_both(dataset, &spellings[from], to - from);
        dataset->spellings = mem_resize(dataset->spellings, dataset->spelling_count + to - from,
                                        sizeof *dataset->spellings);
        for (size_t k = from + 1; k < to; k++)
            dataset->spellings[dataset->spelling_count++] = (struct dataset_spelling){
                mem_strdup(spellings[from].name), mem_strdup(spellings[k].name), apart};
    }
    /* The names that spellings has are freed by this. */
    for (size_t k = first; k < dataset->spelling_count; k++)
        if (!dataset->spellings[k].apart)
            call_them(dataset, dataset->spellings[k].name);
}

static int compare_params(const void *a, const void *b)
{
    const struct dataset_param *const *left = a, *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

/* Lengths stand before what they are of. */
char *audit_params_key(const struct dataset_experiment *experiment, bool seeds)
{
    AUTO_TEXT struct text key = {0};
    AUTO_FREE const struct dataset_param **params =
        mem_array(experiment->param_count + 1, sizeof *params);
    size_t count = 0;
    EACH (param, experiment->params, experiment->param_count)
        if (seeds || !audit_is_seed(param->name))
            params[count++] = param;
    qsort(params, count, sizeof *params, compare_params);
    EACH (item, params, count) {
        AUTO_FREE char *value = value_key(&(*item)->value);
        text_addf(&key, "%zu:%s%zu:%s", strlen((*item)->name), (*item)->name, strlen(value), value);
    }
    return text_take(&key);
}

/* Texts and what they are of. */
struct keyed {
    char *key;
    size_t index;
};

static int compare_keys(const void *a, const void *b)
{
    const struct keyed *left = a, *right = b;
    int order = strcmp(left->key, right->key);
    return order ? order : ORDER(left->index, right->index);
}

size_t audit_group_by(char **keys, size_t count, size_t **order, size_t **groups)
{
    AUTO_FREE struct keyed *sorted = mem_array(count + 1, sizeof *sorted);
    size_t found = 0;
    *order = mem_array(count + 1, sizeof **order);
    *groups = mem_array(count + 1, sizeof **groups);
    for (size_t i = 0; i < count; i++)
        sorted[i] = (struct keyed){keys[i], i};
    qsort(sorted, count, sizeof *sorted, compare_keys);
    for (size_t i = 0; i < count; i++) {
        (*order)[i] = sorted[i].index;
        if (i == 0 || strcmp(sorted[i].key, sorted[i - 1].key) != 0)
            (*groups)[found++] = i;
    }
    (*groups)[found] = count;
    EACH (item, keys, count)
        free(steal_ptr(*item));
    return found;
}

size_t audit_group(const struct dataset *dataset, size_t **order, size_t **groups)
{
    AUTO_FREE char **keys = mem_array(dataset->count + 1, sizeof *keys);
    for (size_t i = 0; i < dataset->count; i++)
        keys[i] = mem_printf("%s\x01%s\x01%d", dataset->items[i].repo, dataset->items[i].model,
                             dataset->items[i].parallel);
    return audit_group_by(keys, dataset->count, order, groups);
}

bool audit_param_differs(const struct dataset *dataset, const size_t *items, size_t count,
                         const char *name)
{
    AUTO_FREE char *first = NULL;
    EACH (item, items, count) {
        const struct value *value = dataset_param(&dataset->items[*item], name);
        AUTO_FREE char *text = value ? value_key(value) : mem_strdup("");
        if (first && strcmp(first, text) != 0)
            return true;
        if (!first)
            first = steal_ptr(text);
    }
    return false;
}

size_t audit_settings(const struct dataset *dataset, const size_t *items, const size_t *part,
                      size_t count, size_t *setting)
{
    AUTO_FREE char **keys = mem_array(count + 1, sizeof *keys);
    AUTO_FREE size_t *first = mem_array(count + 1, sizeof *first), *order = NULL, *groups = NULL;
    for (size_t i = 0; i < count; i++) {
        AUTO_FREE char *key = audit_params_key(&dataset->items[items[i]], false);
        keys[i] = mem_printf("%zu %s", part ? part[i] : 0, key);
    }
    size_t found = audit_group_by(keys, count, &order, &groups), settings = 0;
    for (size_t g = 0; g < found; g++)
        for (size_t i = groups[g]; i < groups[g + 1]; i++)
            first[order[i]] = order[groups[g]];
    for (size_t i = 0; i < count; i++)
        setting[i] = first[i] == i ? settings++ : setting[first[i]];
    return settings;
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

struct audit_spread audit_spread_of(const struct dataset *dataset, const size_t *items,
                                    size_t count, bool mixed, audit_figure *figure,
                                    const void *context)
{
    struct audit_spread out = {0};
    double squares = 0;
    AUTO_FREE size_t *setting = mem_array(count + 1, sizeof *setting);
    /* of each setting's values; before they come, its beginning */
    AUTO_FREE size_t *end = mem_array(count + 2, sizeof *end);
    AUTO_FREE double *values = mem_array(count + 1, sizeof *values);
    size_t settings = mixed ? 1 : audit_settings(dataset, items, NULL, count, setting);
    for (size_t i = 0; i < count; i++)
        end[setting[i] + 1] += figure(&dataset->items[items[i]], context).valid;
    for (size_t s = 0; s < settings; s++)
        end[s + 1] += end[s];
    for (size_t i = 0; i < count; i++) {
        struct reading value = figure(&dataset->items[items[i]], context);
        if (value.valid)
            values[end[setting[i]]++] = value.value;
    }
    for (size_t s = 0, begin = 0; s < settings; begin = end[s++])
        add_set(&out, values + begin, end[s] - begin, &squares);
    if (out.freedom)
        out.cv = (struct reading){sqrt(squares / (double)out.freedom), true};
    return out;
}
