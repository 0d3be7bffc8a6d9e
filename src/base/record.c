#include "base/record.h"

#include "base/csv.h"
#include "base/json.h"
#include "base/mem.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
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

static size_t *count_of(const struct record_field *field, const void *record)
{
    return (size_t *)(void *)((char *)record + field->count_at);
}

static json_t *item_json(const struct record_field *field, const void *item)
{
    return field->fields ? record_json(field->fields, item) : field->to(item);
}

static json_t *list_json(const struct record_field *field, const char *items, size_t count)
{
    json_t *out = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(out, field->type == RECORD_NUMBERS
                                       ? json_finite(((const double *)(const void *)items)[i])
                                       : item_json(field, items + i * field->size));
    return out;
}

/* NULL: absent. */
static json_t *field_json(const struct record_field *field, const char *record)
{
    const void *at = record + field->at;
    switch (field->type) {
    case RECORD_TEXT:
    case RECORD_BORROWED:
        return json_string(*(const char *const *)at);
    case RECORD_CHARS:
        return json_string(at);
    case RECORD_READING: {
        const struct reading *reading = at;
        return reading->valid ? json_from_reading(reading->value) : NULL;
    }
    case RECORD_SIZE:
        return json_integer((json_int_t)(*(const size_t *)at));
    case RECORD_INT:
        return json_integer(*(const int *)at);
    case RECORD_INT64:
        return json_integer(*(const int64_t *)at);
    case RECORD_DOUBLE:
        return json_finite(*(const double *)at);
    case RECORD_BYTES:
        return json_integer((json_int_t)(*(const double *)at));
    case RECORD_BYTES_READING: {
        const struct reading *reading = at;
        return reading->valid ? json_integer((json_int_t)reading->value) : NULL;
    }
    case RECORD_BOOL:
        return json_boolean(*(const bool *)at);
    case RECORD_SWITCH: {
        int said = *(const int *)at;
        return said ? json_boolean(said == 2) : NULL;
    }
    case RECORD_NAMED:
        return json_string(value_name(field, *(const int *)at));
    case RECORD_VALUE:
        return value_to_json(at);
    case RECORD_TEXTS:
        return json_texts((const char *const *)((const struct strv *)at)->items);
    case RECORD_JSON:
    case RECORD_JSON_PART:
        return json_incref(*(json_t *const *)at);
    case RECORD_NESTED:
        return item_json(field, at);
    case RECORD_OWNED: {
        const void *item = *(const void *const *)at;
        return item ? item_json(field, item) : NULL;
    }
    case RECORD_NUMBERS:
    case RECORD_LIST:
        return list_json(field, *(const void *const *)at, *count_of(field, record));
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
    json_t *out = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(out, record_json(fields, (const char *)records + i * size));
    return out;
}

static bool refuse_field(const struct record_field *field, const char *how, struct err *err)
{
    return err_set(err, "'%s' is missing or %s", field->key, how);
}

static bool read_record(const struct record_field *fields, const json_t *json, char *record,
                        bool lenient, struct err *err);

static bool read_item(const struct record_field *field, const json_t *json, void *item,
                      bool lenient, struct err *err)
{
    if (field->initial)
        memcpy(item, field->initial, field->size);
    return field->from ? field->from(json, item, err)
                       : read_record(field->fields, json, item, lenient, err);
}

static bool is_in_bounds(const struct record_field *field, double number)
{
    return !(field->low < field->high) || (number >= field->low && number <= field->high);
}

static bool read_integer(const struct record_field *field, const json_t *json, void *at,
                         struct err *err)
{
    json_int_t number = json_integer_value(json);
    if (!json_is_integer(json))
        return refuse_field(field, "no integer", err);
    if (field->type == RECORD_SIZE && number < 0)
        return err_set(err, "'%s' is negative", field->key);
    if (!is_in_bounds(field, (double)number) ||
        (field->type == RECORD_INT && (number < INT_MIN || number > INT_MAX)))
        return refuse_field(field, "out of bounds", err);
    if (field->type == RECORD_INT)
        *(int *)at = (int)number;
    else
        *(int64_t *)at = number;
    return true;
}

static bool read_number(const struct record_field *field, const json_t *json, void *at,
                        struct err *err)
{
    double number = json_number_value(json);
    if (!json_is_number(json))
        return refuse_field(field, "no number", err);
    if (!is_in_bounds(field, number))
        return refuse_field(field, "out of bounds", err);
    if (field->type == RECORD_DOUBLE || field->type == RECORD_BYTES)
        *(double *)at = number;
    else
        *(struct reading *)at = (struct reading){number, true};
    return true;
}

static bool read_name(const struct record_field *field, const json_t *json, int *out,
                      struct err *err)
{
    const char *text = json_string_value(json);
    for (int value = field->first;
         text && (field->name ? value < field->values : field->names[value - field->first] != NULL);
         value++) {
        const char *name = value_name(field, value);
        if (name && strcmp(name, text) == 0) {
            *out = value;
            return true;
        }
    }
    return refuse_field(field, "unknown", err);
}

static bool read_texts(const struct record_field *field, const json_t *json, struct strv *out,
                       bool lenient, struct err *err)
{
    if (!json_is_array(json))
        return refuse_field(field, "no list", err);
    for (size_t i = 0; i < json_array_size(json); i++) {
        const char *item = json_string_value(json_array_get(json, i));
        if (item)
            strv_add(out, item);
        else if (!lenient)
            return err_set(err, "'%s' holds what is not a string", field->key);
    }
    return true;
}

static bool read_list(const struct record_field *field, const json_t *json, char *record,
                      bool lenient, struct err *err)
{
    if (!json_is_array(json))
        return refuse_field(field, "no list", err);
    bool numbers = field->type == RECORD_NUMBERS;
    size_t size = numbers ? sizeof(double) : field->size, *count = count_of(field, record);
    char *items = mem_array(json_array_size(json) + 1, size);
    memcpy(record + field->at, &items, sizeof items);
    for (*count = 0; *count < json_array_size(json);) {
        const json_t *item = json_array_get(json, *count);
        char *at = items + (*count)++ * size;
        double number = json_is_number(item) ? json_number_value(item) : NAN;
        if (numbers)
            *(double *)(void *)at = is_in_bounds(field, number) ? number : NAN;
        else if (!read_item(field, item, at, lenient, err) && !lenient)
            return false;
    }
    return true;
}

static bool read_boolean(const struct record_field *field, const json_t *json, void *at,
                         struct err *err)
{
    if (!json_is_boolean(json))
        return refuse_field(field, "neither true nor false", err);
    if (field->type == RECORD_SWITCH)
        *(int *)at = json_is_true(json) ? 2 : 1;
    else
        *(bool *)at = json_is_true(json);
    return true;
}

static bool read_chars(const struct record_field *field, const json_t *json, char *out,
                       struct err *err)
{
    if (!json_is_string(json) || json_string_length(json) >= field->size)
        return refuse_field(field, json_is_string(json) ? "too long" : "not a string", err);
    memcpy(out, json_string_value(json), json_string_length(json) + 1);
    return true;
}

static bool read_field(const struct record_field *field, const json_t *json, char *record,
                       bool lenient, struct err *err)
{
    void *at = record + field->at;
    switch (field->type) {
    case RECORD_TEXT:
    case RECORD_BORROWED:
        if (!json_is_string(json))
            return refuse_field(field, "not a string", err);
        *(const char **)at = field->type == RECORD_TEXT ? mem_strdup(json_string_value(json))
                                                        : json_string_value(json);
        return true;
    case RECORD_CHARS:
        return read_chars(field, json, at, err);
    case RECORD_SIZE:
    case RECORD_INT:
    case RECORD_INT64:
        return read_integer(field, json, at, err);
    case RECORD_READING:
    case RECORD_DOUBLE:
    case RECORD_BYTES:
    case RECORD_BYTES_READING:
        return read_number(field, json, at, err);
    case RECORD_BOOL:
    case RECORD_SWITCH:
        return read_boolean(field, json, at, err);
    case RECORD_NAMED:
        return read_name(field, json, at, err);
    case RECORD_VALUE:
        return (json && value_from_json(json, at)) || refuse_field(field, "no value", err);
    case RECORD_TEXTS:
        return read_texts(field, json, at, lenient, err);
    case RECORD_JSON:
    case RECORD_JSON_PART:
        if (!json || json_is_null(json))
            return refuse_field(field, "no value", err);
        *(const json_t **)at = field->type == RECORD_JSON ? json_incref((json_t *)json) : json;
        return true;
    case RECORD_OWNED:
        *(void **)at = mem_alloc(field->size);
        at = *(void **)at;
        /* fall through */
    case RECORD_NESTED:
        return read_item(field, json, at, lenient, err) || err_wrap(err, "%s", field->key);
    case RECORD_NUMBERS:
    case RECORD_LIST:
        return read_list(field, json, record, lenient, err);
    }
    return false;
}

static bool read_record(const struct record_field *fields, const json_t *json, char *record,
                        bool lenient, struct err *err)
{
    for (; fields->key; fields++) {
        const json_t *value = json_object_get(json, fields->key);
        bool absent = !value || json_is_null(value);
        if (fields->unread || (absent && (lenient || fields->presence != RECORD_NEEDED)))
            continue;
        if (!read_field(fields, value, record, lenient, err) && !lenient)
            return false;
    }
    return true;
}

bool record_read(const struct record_field *fields, const json_t *json, void *record,
                 struct err *err)
{
    return read_record(fields, json, record, false, err);
}

void record_get(const struct record_field *fields, const json_t *json, void *record)
{
    read_record(fields, json, record, true, NULL);
}

void record_free(const struct record_field *fields, void *record)
{
    for (; fields->key; fields++) {
        void *at = (char *)record + fields->at;
        switch (fields->type) {
        case RECORD_TEXT:
            free(*(char **)at);
            break;
        case RECORD_VALUE:
            value_fini(at);
            break;
        case RECORD_TEXTS:
            strv_fini(at);
            break;
        case RECORD_JSON:
            json_decref(*(json_t **)at);
            break;
        case RECORD_NESTED:
            if (fields->fields)
                record_free(fields->fields, at);
            break;
        case RECORD_OWNED:
            if (fields->fields && *(void **)at)
                record_free(fields->fields, *(void **)at);
            free(*(void **)at);
            break;
        case RECORD_LIST:
            for (size_t i = 0; fields->fields && i < *count_of(fields, record); i++)
                record_free(fields->fields, *(char **)at + i * fields->size);
            /* fall through */
        case RECORD_NUMBERS:
            free(*(void **)at);
            break;
        default:
            break;
        }
    }
}

static void add_csv_number(double number, struct text *out)
{
    char shortest[32];
    number_shortest(number, shortest);
    csv_add_cell(out, shortest);
}

static void add_csv_text(const char *text, struct text *out)
{
    csv_add_cell(out, text ? text : "");
}

static void add_field_cell(const struct record_field *field, const void *at, struct text *out)
{
    switch (field->type) {
    case RECORD_TEXT:
    case RECORD_BORROWED:
        add_csv_text(*(const char *const *)at, out);
        break;
    case RECORD_CHARS:
        add_csv_text(at, out);
        break;
    case RECORD_READING:
        if (((const struct reading *)at)->valid)
            add_csv_number(((const struct reading *)at)->value, out);
        break;
    case RECORD_SIZE:
        text_addf(out, "%zu", *(const size_t *)at);
        break;
    case RECORD_INT:
        text_addf(out, "%d", *(const int *)at);
        break;
    case RECORD_INT64:
        text_addf(out, "%" PRId64, *(const int64_t *)at);
        break;
    case RECORD_DOUBLE:
        add_csv_number(*(const double *)at, out);
        break;
    case RECORD_BYTES:
        text_addf(out, "%" PRId64, (int64_t)(*(const double *)at));
        break;
    case RECORD_BYTES_READING:
        if (((const struct reading *)at)->valid)
            text_addf(out, "%" PRId64, (int64_t)((const struct reading *)at)->value);
        break;
    case RECORD_SWITCH:
        if (*(const int *)at)
            text_add(out, *(const int *)at == 2 ? "True" : "False");
        break;
    case RECORD_BOOL: /* as in summary.csv */
        text_add(out, *(const bool *)at ? "True" : "False");
        break;
    case RECORD_NAMED:
        add_csv_text(value_name(field, *(const int *)at), out);
        break;
    default:
        break;
    }
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
                add_field_cell(fields, (const char *)record + fields->at, out);
            comma = ",";
        }
}
