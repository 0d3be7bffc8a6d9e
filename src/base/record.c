#include "base/record.h"

#include "base/csv.h"
#include "base/json.h"
#include "base/value.h"

#include <inttypes.h>

static bool is_field_known(const struct record_field *field, const char *record)
{
    for (size_t i = 0; i < field->known_size; i++)
        if (record[field->known_at + i])
            return true;
    return field->known_size == 0;
}

static json_t *field_json(const struct record_field *field, const char *record)
{
    const void *at = record + field->at;
    if (!is_field_known(field, record))
        return json_null();
    switch (field->type) {
    case RECORD_TEXT:
        return json_text_or_null(*(const char *const *)at);
    case RECORD_READING:
        return json_reading_or_null(*(const struct reading *)at);
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
        return reading->valid ? json_integer((json_int_t)reading->value) : json_null();
    }
    case RECORD_BOOL:
        return json_boolean(*(const bool *)at);
    case RECORD_NAMED:
        return json_text_or_null(field->name(*(const unsigned *)at));
    case RECORD_NESTED:
        return record_json(field->fields, at);
    case RECORD_LIST:
        return record_list_json(field->fields, *(const void *const *)at,
                                *(const size_t *)(const void *)(record + field->count_at),
                                field->size);
    }
    return json_null();
}

void record_set(json_t *object, const struct record_field *fields, const void *record)
{
    for (; fields->key; fields++)
        json_object_set_new(object, fields->key, field_json(fields, record));
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
        add_csv_text(*(const char *const *)at, out);
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
    case RECORD_BOOL: /* as in summary.csv */
        text_add(out, *(const bool *)at ? "True" : "False");
        break;
    case RECORD_NAMED:
        add_csv_text(field->name(*(const unsigned *)at), out);
        break;
    case RECORD_NESTED:
    case RECORD_LIST:
        break;
    }
}

static bool has_cell(const struct record_field *field)
{
    return field->type != RECORD_NESTED && field->type != RECORD_LIST;
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
