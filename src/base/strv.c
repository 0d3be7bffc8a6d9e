#include "base/strv.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static bool is_packed(const struct strv *list)
{
    return list->items && list->capacity == 0;
}

/* Each string has an allocation of its own again. */
static void unpack(struct strv *list)
{
    if (!is_packed(list))
        return;
    char **packed = list->items;
    list->capacity = list->count + 1;
    list->items = mem_array(list->capacity, sizeof *list->items);
    for (size_t i = 0; i < list->count; i++)
        list->items[i] = mem_strdup(packed[i]);
    free(packed);
}

void strv_pack(struct strv *list)
{
    size_t bytes = (list->count + 1) * sizeof *list->items;
    if (!list->items || is_packed(list))
        return;
    EACH (item, list->items, list->count)
        bytes += strlen(*item) + 1;
    struct strv packed = {.items = mem_alloc(bytes), .count = list->count};
    char *at = (char *)(packed.items + list->count + 1);
    for (size_t i = 0; i < list->count; i++) {
        packed.items[i] = at;
        at = stpcpy(at, list->items[i]) + 1;
    }
    strv_fini(list);
    *list = packed;
}

void strv_add_owned(struct strv *list, char *s)
{
    unpack(list);
    if (list->count + 2 > list->capacity) {
        list->capacity = list->capacity ? list->capacity * 2 : 8;
        list->items = mem_resize(list->items, list->capacity, sizeof *list->items);
    }
    list->items[list->count++] = s;
    list->items[list->count] = NULL;
}

void strv_add(struct strv *list, const char *s)
{
    strv_add_owned(list, mem_strdup(s));
}

void strv_add_all(struct strv *list, const struct strv *more)
{
    EACH (item, more->items, more->count)
        strv_add(list, *item);
}

bool strv_has(const struct strv *list, const char *s)
{
    EACH (item, list->items, list->count)
        if (strcmp(*item, s) == 0)
            return true;
    return false;
}

void strv_add_once(struct strv *list, const char *s)
{
    if (!strv_has(list, s))
        strv_add(list, s);
}

static int compare_strings(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void strv_sort(struct strv *list)
{
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, compare_strings);
}

char *strv_join(const struct strv *list, const char *between)
{
    struct text joined = {0};
    for (size_t i = 0; i < list->count; i++) {
        if (i)
            text_add(&joined, between);
        text_add(&joined, list->items[i]);
    }
    return text_take(&joined);
}

void strv_fini(struct strv *list)
{
    for (size_t i = 0; i < list->count && !is_packed(list); i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct strv){0};
}

/* The place of NAME in the environment, or count. */
static size_t env_index(const struct strv *env, const char *name)
{
    size_t length = strlen(name);
    size_t i = 0;
    while (i < env->count &&
           !(strncmp(env->items[i], name, length) == 0 && env->items[i][length] == '='))
        i++;
    return i;
}

void strv_env_set(struct strv *env, const char *name, const char *value)
{
    char *entry = mem_printf("%s=%s", name, value);
    size_t i = env_index(env, name);
    if (i == env->count) {
        strv_add_owned(env, entry);
        return;
    }
    unpack(env);
    free(env->items[i]);
    env->items[i] = entry;
}

void strv_env_set_all(struct strv *env, const struct strv *more)
{
    EACH (item, more->items, more->count) {
        const char *equals = strchr(*item, '=');
        AUTO_FREE char *name = equals ? mem_strndup(*item, (size_t)(equals - *item)) : NULL;
        if (name)
            strv_env_set(env, name, equals + 1);
    }
}

const char *strv_env_get(const struct strv *env, const char *name)
{
    size_t i = env_index(env, name);
    return i < env->count ? env->items[i] + strlen(name) + 1 : NULL;
}
