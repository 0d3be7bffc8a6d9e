#include "base/record.h"

#include "base/csv.h"
#include "base/json.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static bool is_field_known(const struct record_field *field, const char *record)
{
    for (size_t i = 0; i < field->known_size; i++)
        if (record[field->known_at + i])
            return true;
    return field->known_size == 0;
}

static const char *value_name(const struct record_field *field, int value)
{
    if (field->name)
        return field->name((unsigned)value);
    return value < field->first ? NULL : field->names[value - field->first];
}

static bool is_text(const struct record_field *field)
{
    return field->type <= RECORD_NAMED;
}

/* NULL: absent. */
static const char *field_text(const struct record_field *field, const void *at)
{
    if (field->type == RECORD_NAMED)
        return value_name(field, *(const int *)at);
    return field->type == RECORD_CHARS ? at : *(const char *const *)at;
}

static size_t *count_of(const struct record_field *field, const void *record)
{
    return (size_t *)(void *)((char *)record + field->count_at);
}

/* The structs of a field, and their number. */
static char *items_of(const struct record_field *field, const void *record, size_t *count)
{
    char *at = (char *)record + field->at;
    char *items = field->type == RECORD_NESTED ? at : *(char **)(void *)at;
    *count = field->type == RECORD_LIST ? *count_of(field, record) : items != NULL;
    return items;
}

static json_t *item_json(const struct record_field *field, const void *item)
{
    return field->to ? field->to(item) : record_json(field->fields, item);
}

static json_t *items_json(const struct record_field *field, const char *items, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, item_json(field, items + i * field->size));
    return list;
}

/* NULL: absent. */
static json_t *field_json(const struct record_field *field, const char *record)
{
    const void *at = record + field->at;
    const struct reading *reading = at;
    const char *items;
    size_t count;
    switch (field->type) {
    case RECORD_TEXT:
    case RECORD_BORROWED:
    case RECORD_CHARS:
    case RECORD_NAMED:
        return json_string(field_text(field, at));
    case RECORD_READING:
        return reading->valid ? json_from_reading(reading->value) : NULL;
    case RECORD_SIZE:
    case RECORD_INT64:
        return json_integer(*(const int64_t *)at);
    case RECORD_INT:
        return json_integer(*(const int *)at);
    case RECORD_DOUBLE:
        return json_finite(*(const double *)at);
    case RECORD_BYTES:
        return json_integer((json_int_t)(*(const double *)at));
    case RECORD_BYTES_READING:
        return reading->valid ? json_integer((json_int_t)reading->value) : NULL;
    case RECORD_BOOL:
        return json_boolean(*(const bool *)at);
    case RECORD_SWITCH:
        return *(const int *)at ? json_boolean(*(const int *)at == 2) : NULL;
    case RECORD_VALUE:
        return value_to_json(at);
    case RECORD_TEXTS:
        return json_texts((const char *const *)((const struct strv *)at)->items);
    case RECORD_JSON:
    case RECORD_JSON_PART:
        return json_incref(*(json_t *const *)at);
    case RECORD_NESTED:
    case RECORD_OWNED:
        items = items_of(field, record, &count);
        return items ? item_json(field, items) : NULL;
    case RECORD_LIST:
        items = items_of(field, record, &count);
        return items_json(field, items, count);
    }
    return NULL;
}

static bool is_field_empty(const struct record_field *field, const json_t *json)
{
    bool number = field->type != RECORD_READING && json_is_number(json);
    return json_is_false(json) || (number && json_number_value(json) == 0) ||
           (field->type == RECORD_CHARS && json_string_length(json) == 0) ||
           (json_is_array(json) && json_array_size(json) == 0);
}

void record_set(json_t *object, const struct record_field *fields, const void *record)
{
    for (; fields->key; fields++) {
        json_t *json = is_field_known(fields, record) ? field_json(fields, record) : NULL;
        if (fields->presence == RECORD_SPARSE && is_field_empty(fields, json))
            json_decref(json);
        else if (json || fields->presence == RECORD_NULL)
            json_object_set_new(object, fields->key, json ? json : json_null());
    }
}

json_t *record_json(const struct record_field *fields, const void *record)
{
    json_t *out = json_object();
    record_set(out, fields, record);
    return out;
}

json_t *record_list_json(const struct record_field *fields, const void *records, size_t count,
                         size_t size)
{
    return items_json(&(struct record_field){.fields = fields, .size = size}, records, count);
}

static bool is_within_field(const struct record_field *field, double number)
{
    return !(field->low < field->high) || (number >= field->low && number <= field->high);
}

static bool read_name(const struct record_field *field, const char *text, int *out)
{
    int value = field->first;
    for (; text && (field->name ? value < field->values : field->names[value - field->first] != 0);
         value++) {
        const char *name = value_name(field, value);
        if (name && strcmp(name, text) == 0) {
            *out = value;
            return true;
        }
    }
    return false;
}

/* The reason why the JSON is refused, or NULL. */
static const char *read_one_value(const struct record_field *field, const json_t *json, void *at)
{
    const char *text = json_string_value(json);
    json_int_t integer = json_integer_value(json);
    double number = json_number_value(json);
    switch (field->type) {
    case RECORD_TEXT:
    case RECORD_BORROWED:
        if (!text)
            return "not a string";
        *(const char **)at = field->type == RECORD_TEXT ? mem_strdup(text) : text;
        return NULL;
    case RECORD_CHARS:
        if (!text || strlen(text) >= field->size)
            return text ? "too long" : "not a string";
        strcpy(at, text);
        return NULL;
    case RECORD_NAMED:
        return read_name(field, text, at) ? NULL : "unknown";
    case RECORD_SIZE:
    case RECORD_INT:
    case RECORD_INT64:
        if (!json_is_integer(json))
            return "no integer";
        if (field->type == RECORD_SIZE && integer < 0)
            return "negative";
        if (!is_within_field(field, number) ||
            (field->type == RECORD_INT && integer != (int)integer))
            return "out of bounds";
        if (field->type == RECORD_INT)
            *(int *)at = (int)integer;
        else
            *(int64_t *)at = integer;
        return NULL;
    case RECORD_BOOL:
    case RECORD_SWITCH:
        if (!json_is_boolean(json))
            return "neither true nor false";
        if (field->type == RECORD_SWITCH)
            *(int *)at = json_is_true(json) ? 2 : 1;
        else
            *(bool *)at = json_is_true(json);
        return NULL;
    case RECORD_VALUE:
        return json && value_from_json(json, at) ? NULL : "no value";
    case RECORD_JSON:
    case RECORD_JSON_PART:
        if (!json || json_is_null(json))
            return "no value";
        *(const json_t **)at = field->type == RECORD_JSON ? json_incref((json_t *)json) : json;
        return NULL;
    default: /* doubles and readings */
        if (!json_is_number(json) || !is_within_field(field, number))
            return json_is_number(json) ? "out of bounds" : "no number";
        if (field->type == RECORD_DOUBLE || field->type == RECORD_BYTES)
            *(double *)at = number;
        else
            *(struct reading *)at = (struct reading){number, true};
        return NULL;
    }
}

/* Without err the functions below pass over errors. */

static bool read_fields(const struct record_field *fields, const json_t *json, char *record,
                        struct err *err);

static bool read_item(const struct record_field *field, const json_t *json, void *item,
                      struct err *err)
{
    if (field->initial)
        memcpy(item, field->initial, field->size);
    return field->from ? field->from(json, item, err) : read_fields(field->fields, json, item, err);
}

static bool read_list(const struct record_field *field, const json_t *json, char *record,
                      struct err *err)
{
    size_t *count = count_of(field, record), size = field->size;
    char *items = mem_room(NULL, 0, size);
    memcpy(record + field->at, &items, sizeof items);
    for (*count = 0; *count < json_array_size(json);) {
        items = mem_room(items, *count, size);
        memcpy(record + field->at, &items, sizeof items);
        char *item = memset(items + *count * size, 0, size);
        if (!read_item(field, json_array_get(json, (*count)++), item, err) && err)
            return false;
    }
    return true;
}

static bool read_field(const struct record_field *field, const json_t *json, char *record,
                       struct err *err)
{
    char *at = record + field->at;
    const char *wrong = NULL;
    switch (field->type) {
    case RECORD_TEXTS:
        for (size_t i = 0; i < json_array_size(json); i++) {
            const char *text = json_string_value(json_array_get(json, i));
            if (text)
                strv_add((struct strv *)(void *)at, text);
            else if (err)
                return err_set(err, "'%s' holds what is not a string", field->key);
        }
        wrong = json_is_array(json) ? NULL : "no list";
        break;
    case RECORD_OWNED: {
        void *item = mem_alloc(field->size);
        memcpy(at, &item, sizeof item);
        at = item;
    }
        /* fall through */
    case RECORD_NESTED:
        return read_item(field, json, at, err) || err_wrap(err, "%s", field->key);
    case RECORD_LIST:
        if (json_is_array(json))
            return read_list(field, json, record, err);
        wrong = "no list";
        break;
    default:
        wrong = read_one_value(field, json, at);
    }
    return !wrong || err_set(err, "'%s' is missing or %s", field->key, wrong);
}

/* By a path of keys and of places in lists, from the end where they are below 0. */
static const json_t *find_by_path(const json_t *json, const char *path)
{
    const char *dot = strchr(path, '.');
    if (dot) {
        AUTO_FREE char *first = mem_strndup(path, (size_t)(dot - path));
        return find_by_path(find_by_path(json, first), dot + 1);
    }
    char *end;
    if (!json_is_array(json))
        return json_object_get(json, path);
    size_t place = (size_t)strtol(path, &end, 10);
    return json_array_get(json, *end           ? SIZE_MAX
                                : *path == '-' ? place + json_array_size(json)
                                               : place);
}

static bool read_fields(const struct record_field *fields, const json_t *json, char *record,
                        struct err *err)
{
    for (; fields->key; fields++) {
        const json_t *value = find_by_path(json, fields->key);
        bool absent = !value || json_is_null(value);
        if (fields->unread || (absent && (!err || fields->presence != RECORD_NEEDED)))
            continue;
        if (!read_field(fields, value, record, err) && err)
            return false;
    }
    return true;
}

bool record_read(const struct record_field *fields, const json_t *json, void *record,
                 struct err *err)
{
    struct err ignored;
    return read_fields(fields, json, record, err ? err : &ignored);
}

void record_get(const struct record_field *fields, const json_t *json, void *record)
{
    read_fields(fields, json, record, NULL);
}

void record_free(const struct record_field *fields, void *record)
{
    for (; fields->key; fields++) {
        void *at = (char *)record + fields->at;
        size_t count = 0;
        if (fields->type == RECORD_VALUE)
            value_fini(at);
        else if (fields->type == RECORD_TEXTS)
            strv_fini(at);
        else if (fields->type == RECORD_JSON)
            json_decref(*(json_t **)at);
        else if (fields->type >= RECORD_NESTED && fields->fields) {
            char *items = items_of(fields, record, &count);
            for (size_t i = 0; i < count; i++)
                record_free(fields->fields, items + i * fields->size);
        }
        if (fields->type == RECORD_TEXT || fields->type > RECORD_NESTED)
            free(*(void **)at);
    }
}

static void add_field_cell(const struct record_field *field, const char *record, struct text *out)
{
    char number[32];
    const void *at = record + field->at;
    if (is_text(field)) {
        const char *text = field_text(field, at);
        csv_add_cell(out, text ? text : "");
        return;
    }
    json_t *json = field->type == RECORD_DOUBLE ? json_from_reading(*(const double *)at)
                                                : field_json(field, record);
    if (json_is_integer(json))
        text_addf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(json));
    else if (json_is_boolean(json)) /* as in summary.csv */
        text_add(out, json_is_true(json) ? "True" : "False");
    else if (json_is_string(json))
        csv_add_cell(out, json_string_value(json));
    else if (json) {
        number_shortest(json_real_value(json), number);
        csv_add_cell(out, number);
    }
    json_decref(json);
}

static bool has_cell(const struct record_field *field)
{
    return field->type < RECORD_VALUE;
}

void record_csv_header(const struct record_field *fields, struct text *out)
{
    const char *comma = "";
    for (; fields->key; fields++)
        if (has_cell(fields)) {
            text_add(out, comma);
            csv_add_cell(out, fields->key);
            comma = ",";
        }
}

void record_csv_row(const struct record_field *fields, const void *record, struct text *out)
{
    const char *comma = "";
    for (; fields->key; fields++)
        if (has_cell(fields)) {
            text_add(out, comma);
            if (is_field_known(fields, record))
                add_field_cell(fields, record, out);
            comma = ",";
        }
}
