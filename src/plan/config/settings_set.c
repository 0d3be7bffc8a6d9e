/* What the command line sets over a settings file: --set PATH=VALUE and -n RUNS. The document's tree is changed; its text stays,
 * for the places of all else. */
#include "plan/config/settings.h"

#include "base/mem.h"
#include "plan/config/field.h"

#include <stdlib.h>
#include <string.h>

/* One --set while it is applied. */
struct setting {
    const char *path; /* as given: "experiments.0.model" */
    struct json_doc *doc;
    struct problems *problems;
    char *place; /* JSON path of the value that is entered */
};

static bool refuse(const struct setting *set, const char *why)
{
    AUTO_FREE char *text = mem_printf("--set %s: %s", set->path, why);
    problems_add(set->problems, SEVERITY_ERROR, NULL, NULL, "%s", text);
    return false;
}

static void enter_place(struct setting *set, char *place)
{
    free(set->place);
    set->place = place;
}

/* A key that is not there, on the way to another: most likely misspelt when one that is there is near. */
static bool check_new_key(const struct setting *set, const json_t *object, const char *key)
{
    AUTO_FREE const char **names = mem_array(json_object_size(object), sizeof *names);
    size_t count = 0;
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value)
    {
        names[count++] = name;
    }
    AUTO_FREE char *nearest = problem_nearest(key, names, count);
    if (!*nearest)
        return true;
    AUTO_FREE char *why = mem_printf("there is no key '%s' in %s%s", key, set->place, nearest);
    return refuse(set, why);
}

/* The element of a list that a step of the path names; NULL: told. */
static bool find_index(const struct setting *set, const json_t *list, const char *step, size_t *index)
{
    size_t count = json_array_size(list);
    char *end = NULL;
    unsigned long given = *step >= '0' && *step <= '9' ? strtoul(step, &end, 10) : count;
    *index = given;
    if (given < count && end && !*end)
        return true;
    AUTO_FREE char *why = count ? mem_printf("%s is a list of %zu: a place from 0 to %zu is needed, not '%s'", set->place,
                                             count, count - 1, step)
                                : mem_printf("%s is an empty list", set->place);
    return refuse(set, why);
}

/* Takes value. Puts it where the steps lead to. */
static bool put(struct setting *set, const struct strv *steps, json_t *value)
{
    json_t *at = set->doc->root;
    for (size_t i = 0; i < steps->count; i++) {
        const char *step = steps->items[i];
        bool last = i + 1 == steps->count;
        json_t *next = NULL;
        size_t index = 0;
        if (json_is_array(at)) {
            if (!find_index(set, at, step, &index))
                break;
            enter_place(set, json_path_index(set->place, index));
            next = json_array_get(at, index);
            if (last)
                return json_array_set_new(at, index, value) == 0;
        } else if (json_is_object(at)) {
            next = (json_t *)(uintptr_t)json_get(at, step);
            if (!last && !next && !check_new_key(set, at, step))
                break;
            enter_place(set, json_path_key(set->place, step));
            if (last)
                return json_object_set_new(at, step, value) == 0;
            if (!next)
                json_object_set_new(at, step, next = json_object());
        } else {
            AUTO_FREE char *shown = field_shown(at), *why = mem_printf("%s is %s, so there is no '%s' in it", set->place,
                                                                       shown, step);
            refuse(set, why);
            break;
        }
        at = next;
    }
    json_decref(value);
    return false;
}

/* JSON, else a string; NULL: neither. */
static json_t *read_value(const char *text)
{
    json_t *value = json_load_bounded(text, strlen(text), JSON_DECODE_ANY, NULL);
    return value ? value : json_string(text);
}

bool settings_set(struct json_doc *doc, const char *assignment, struct problems *problems)
{
    const char *equals = strchr(assignment, '=');
    AUTO_FREE char *path = mem_strndup(assignment, equals ? (size_t)(equals - assignment) : strlen(assignment));
    AUTO_STRV struct strv steps = {0};
    bool empty = false;
    for (const char *from = path;; from += strcspn(from, ".") + 1) {
        AUTO_FREE char *step = mem_strndup(from, strcspn(from, "."));
        empty = empty || !*step;
        strv_add(&steps, step);
        if (!from[strcspn(from, ".")])
            break;
    }
    struct setting set = {.path = path, .doc = doc, .problems = problems, .place = mem_strdup("$")};
    json_t *value = equals ? read_value(equals + 1) : NULL;
    bool good = equals && !empty && value;
    if (good) {
        good = put(&set, &steps, json_incref(value));
        if (good)
            json_doc_override(doc, set.place);
    } else {
        refuse(&set, equals && !empty ? "the value is not UTF-8"
                                      : "expected PATH=VALUE, such as experiments.0.hyperparameters.epochs=3");
    }
    json_decref(value);
    free(set.place);
    return good;
}

static void set_runs(struct json_doc *doc, const char *path, json_t *object, int64_t runs, bool always)
{
    const json_t *said = json_get(object, "runs_per_config");
    if (!json_is_object(object) || (!always && (!said || (json_is_integer(said) && json_integer_value(said) == 0))))
        return;
    AUTO_FREE char *place = json_path_key(path, "runs_per_config");
    json_object_set_new(object, "runs_per_config", json_integer(runs));
    json_doc_override(doc, place);
}

void settings_set_runs(struct json_doc *doc, int64_t runs)
{
    json_t *entries = json_object_get(doc->root, "experiments");
    set_runs(doc, "$", doc->root, runs, true);
    for (size_t i = 0; i < json_array_size(entries); i++) {
        AUTO_FREE char *path = json_path_index("$.experiments", i);
        AUTO_FREE char *side = json_path_key(path, "foreground");
        set_runs(doc, path, json_array_get(entries, i), runs, false);
        set_runs(doc, side, json_object_get(json_array_get(entries, i), "foreground"), runs, false);
    }
}
