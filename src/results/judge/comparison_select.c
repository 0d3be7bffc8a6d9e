#include "results/judge/comparison.h"

#include "base/mem.h"
#include "base/text.h"
#include "plan/config/problem.h"

#include <string.h>

/* The error shows so many values of a key at most. */
enum { SHOWN_VALUES = 8 };

/* What begins behind the last colon, where an equals sign follows it: paths have colons too. */
static const char *selector_of(const char *text)
{
    const char *colon = strrchr(text, ':');
    return colon && strchr(colon, '=') && !strchr(colon, '/') ? colon + 1 : NULL;
}

bool comparison_parse(const char *text, struct comparison_side *out, struct err *err)
{
    const char *selector = selector_of(text);
    *out = (struct comparison_side){.text = mem_strdup(text)};
    out->path = selector ? mem_strndup(text, (size_t)(selector - 1 - text)) : mem_strdup(text);
    AUTO_FREE char *copy = mem_strdup(selector ? selector : "");
    char *rest = NULL;
    for (char *part = strtok_r(copy, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
        char *equals = strchr(part, '=');
        if (!equals || equals == part || !equals[1])
            return err_set(err, "'%s' is no key=value", part);
        *equals = '\0';
        strv_add(&out->keys, part);
        strv_add(&out->values, equals + 1);
    }
    return *out->path || err_set(err, "'%s' names no folder", text);
}

bool comparison_selects(const struct comparison_side *side, const struct dataset_experiment *experiment)
{
    for (size_t i = 0; i < side->keys.count; i++) {
        const char *key = side->keys.items[i], *wanted = side->values.items[i];
        const struct value *param = dataset_param(experiment, key);
        if (strcmp(key, "repo") == 0 || strcmp(key, "repository") == 0) {
            if (strcmp(experiment->repo, wanted) != 0)
                return false;
        } else if (strcmp(key, "model") == 0) {
            if (strcmp(experiment->model, wanted) != 0)
                return false;
        } else if (strcmp(key, "mode") == 0) {
            bool sequential = strcmp(wanted, "sequential") == 0 && !experiment->parallel; /* whichever it was */
            if (!sequential && strcmp(dataset_mode(experiment), wanted) != 0)
                return false;
        } else {
            struct value read = value_parse(wanted);
            AUTO_FREE char *left = value_key(&read);
            AUTO_FREE char *right = param ? value_key(param) : mem_strdup("");
            value_fini(&read);
            if (!param || strcmp(left, right) != 0)
                return false;
        }
    }
    return true;
}

/* What an experiment has under the key, as it is written in a selector. NULL: it has none. The caller frees it. */
static char *value_under(const struct dataset_experiment *experiment, const char *key)
{
    if (strcmp(key, "repo") == 0 || strcmp(key, "repository") == 0)
        return mem_strdup(experiment->repo);
    if (strcmp(key, "model") == 0)
        return mem_strdup(experiment->model);
    if (strcmp(key, "mode") == 0)
        return mem_strdup(dataset_mode(experiment));
    const struct value *param = dataset_param(experiment, key);
    return param ? value_format(param) : NULL;
}

static void collect_keys(const struct dataset *dataset, size_t folder, struct strv *out)
{
    strv_add(out, "repo");
    strv_add(out, "model");
    strv_add(out, "mode");
    for (size_t i = 0; i < dataset->count; i++)
        for (size_t p = 0; dataset->items[i].folder == folder && p < dataset->items[i].param_count; p++)
            strv_add_once(out, dataset->items[i].params[p].name);
}

static bool unknown_key(const struct dataset *dataset, const struct comparison_side *side, size_t folder, const char *key,
                        struct err *err)
{
    AUTO_STRV struct strv keys = {0};
    AUTO_TEXT struct text known = {0};
    collect_keys(dataset, folder, &keys);
    AUTO_FREE char *nearest = problem_nearest(key, (const char *const *)keys.items, keys.count);
    for (size_t i = 0; i < keys.count; i++)
        text_addf(&known, "%s%s", i ? ", " : "", keys.items[i]);
    return err_set(err, "%s: nothing there has a '%s' (there are %s)%s", side->text, key, text_get(&known), nearest);
}

bool comparison_selects_nothing(const struct dataset *dataset, const struct comparison_side *side, size_t folder,
                            struct err *err)
{
    for (size_t k = 0; k < side->keys.count; k++) {
        const char *key = side->keys.items[k];
        const struct comparison_side one = {.keys = {.items = &side->keys.items[k], .count = 1},
                                        .values = {.items = &side->values.items[k], .count = 1}};
        AUTO_STRV struct strv values = {0};
        AUTO_TEXT struct text shown = {0};
        bool has_value = false;
        for (size_t i = 0; i < dataset->count && !has_value; i++) {
            AUTO_FREE char *value = dataset->items[i].folder == folder ? value_under(&dataset->items[i], key) : NULL;
            has_value = value && comparison_selects(&one, &dataset->items[i]);
            if (value)
                strv_add_once(&values, value);
        }
        if (has_value)
            continue;
        if (values.count == 0 && dataset->count > 0)
            return unknown_key(dataset, side, folder, key, err);
        for (size_t i = 0; i < values.count && i < SHOWN_VALUES; i++)
            text_addf(&shown, "%s%s", i ? ", " : "", values.items[i]);
        return err_set(err, "%s: nothing there has %s=%s (there are %s%s)", side->text, key, side->values.items[k],
                       text_get(&shown), values.count > SHOWN_VALUES ? ", ..." : "");
    }
    return err_set(err, "%s: no successful experiment that is not contaminated (%zu left out)", side->text,
                   side->left_out);
}
