/* Converts structs to JSON and back by a table of keys. */
#include "plan/job.h"

#include "base/mem.h"

#include <string.h>

static json_t *item_json(const struct key *key, const void *item)
{
    return key->fields ? keys_json(key->fields, item) : key->to(item);
}

/* NULL: it is left out. */
static json_t *value_json(const struct key *key, const char *of)
{
    const void *at = of + key->at;
    switch (key->type) {
    case KEY_TEXT:
        return json_string(*(const char *const *)at);
    case KEY_INT:
    case KEY_SIZE:
        return json_integer(*(const int64_t *)at);
    case KEY_DOUBLE:
        return json_finite(*(const double *)at);
    case KEY_READING: {
        const struct reading *reading = at;
        return reading->valid ? json_finite(reading->value) : NULL;
    }
    case KEY_BOOL:
        return json_boolean(*(const bool *)at);
    case KEY_SWITCH: {
        enum setting_switch said = *(const enum setting_switch *)at;
        return said == SWITCH_UNSAID ? NULL : json_boolean(said == SWITCH_ON);
    }
    case KEY_VALUE:
        return value_to_json(at);
    case KEY_NAME: {
        int place = *(const int *)at - key->first;
        return place < 0 ? NULL : json_string(key->names[place]);
    }
    case KEY_TEXTS:
        return json_texts((const char *const *)((const struct strv *)at)->items);
    case KEY_OBJECT:
        return item_json(key, at);
    case KEY_OWNED: {
        const void *item = *(const void *const *)at;
        return item ? item_json(key, item) : NULL;
    }
    case KEY_LIST: {
        json_t *array = json_array();
        const char *items = *(const char *const *)at;
        size_t count = *(const size_t *)(const void *)(of + key->count_at);
        for (size_t i = 0; i < count; i++)
            json_array_append_new(array, item_json(key, items + i * key->size));
        return array;
    }
    }
    return NULL;
}

static bool is_empty_key(const struct key *key, const json_t *json)
{
    bool number = key->type == KEY_INT || key->type == KEY_SIZE || key->type == KEY_DOUBLE;
    return (number && json_number_value(json) == 0) ||
           (key->type == KEY_BOOL && json_is_false(json)) ||
           (key->type == KEY_LIST && json_array_size(json) == 0);
}

json_t *keys_json(const struct key *keys, const void *of)
{
    json_t *out = json_object();
    for (; keys->key; keys++) {
        json_t *json = value_json(keys, of);
        if (keys->presence == KEY_SPARSE && is_empty_key(keys, json))
            json_decref(json);
        else
            json_object_set_new(out, keys->key, json);
    }
    return out;
}

static bool wrong(const struct key *key, const char *how, struct err *err)
{
    return err_set(err, "'%s' is missing or %s", key->key, how);
}

static bool read_key_texts(const struct key *key, const json_t *json, struct strv *out,
                           struct err *err)
{
    if (!json_is_array(json))
        return wrong(key, "no list", err);
    for (size_t i = 0; i < json_array_size(json); i++) {
        const char *item = json_string_value(json_array_get(json, i));
        if (!item)
            return err_set(err, "'%s' holds what is not a string", key->key);
        strv_add(out, item);
    }
    return true;
}

static bool read_key_name(const struct key *key, const json_t *json, int *out, struct err *err)
{
    const char *name = json_string_value(json);
    for (int i = 0; name && key->names[i]; i++)
        if (strcmp(key->names[i], name) == 0) {
            *out = key->first + i;
            return true;
        }
    return wrong(key, "unknown", err);
}

static bool read_key_item(const struct key *key, const json_t *json, void *item, struct err *err)
{
    return key->from ? key->from(json, item, err) : keys_read(key->fields, json, item, err);
}

static bool read_key_list(const struct key *key, const json_t *json, char *out, struct err *err)
{
    if (!json_is_array(json))
        return wrong(key, "no list", err);
    char *items = mem_array(json_array_size(json) + 1, key->size);
    size_t *count = (size_t *)(void *)(out + key->count_at);
    memcpy(out + key->at, &items, sizeof items);
    for (size_t i = 0; i < json_array_size(json); i++) {
        *count = i + 1;
        if (!read_key_item(key, json_array_get(json, i), items + i * key->size, err))
            return false;
    }
    return true;
}

static bool read_key_value(const struct key *key, const json_t *json, char *out, struct err *err)
{
    void *at = out + key->at;
    switch (key->type) {
    case KEY_TEXT:
        if (!json_is_string(json))
            return wrong(key, "not a string", err);
        *(char **)at = mem_strdup(json_string_value(json));
        return true;
    case KEY_INT:
    case KEY_SIZE:
        if (!json_is_integer(json))
            return wrong(key, "no integer", err);
        if (key->type == KEY_SIZE && json_integer_value(json) < 0)
            return err_set(err, "'%s' is negative", key->key);
        *(int64_t *)at = json_integer_value(json);
        return true;
    case KEY_DOUBLE:
    case KEY_READING:
        if (!json_is_number(json))
            return wrong(key, "no number", err);
        if (key->type == KEY_READING)
            *(struct reading *)at = (struct reading){json_number_value(json), true};
        else
            *(double *)at = json_number_value(json);
        return true;
    case KEY_BOOL:
    case KEY_SWITCH:
        if (!json_is_boolean(json))
            return wrong(key, "neither true nor false", err);
        if (key->type == KEY_SWITCH)
            *(enum setting_switch *)at = json_is_true(json) ? SWITCH_ON : SWITCH_OFF;
        else
            *(bool *)at = json_is_true(json);
        return true;
    case KEY_VALUE:
        return (json && value_from_json(json, at)) || wrong(key, "no value", err);
    case KEY_NAME:
        return read_key_name(key, json, at, err);
    case KEY_TEXTS:
        return read_key_texts(key, json, at, err);
    case KEY_OBJECT:
        return read_key_item(key, json, at, err) || err_wrap(err, "%s", key->key);
    case KEY_OWNED:
        *(void **)at = mem_alloc(key->size);
        return read_key_item(key, json, *(void **)at, err) || err_wrap(err, "%s", key->key);
    case KEY_LIST:
        return read_key_list(key, json, out, err);
    }
    return false;
}

bool keys_read(const struct key *keys, const json_t *json, void *out, struct err *err)
{
    for (; keys->key; keys++) {
        const json_t *value = json_object_get(json, keys->key);
        if (keys->presence != KEY_NEEDED && (!value || json_is_null(value)))
            continue;
        if (!read_key_value(keys, value, out, err))
            return false;
    }
    return true;
}
