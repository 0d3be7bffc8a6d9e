/* The tables of a file as a JSON Schema (https://json-schema.org/draft/2020-12): for editors, and
 * for whoever checks a file before it gets here. It says what each key may be; what one key asks of
 * another only the reader knows. */
#include "base/json.h"
#include "base/mem.h"
#include "plan/config/field.h"
#include "tare_build.h"

#include <string.h>

#define TEXT_SCHEMA  "{'type': 'string', 'minLength': 1}"
#define TEXTS_SCHEMA "{'anyOf': [" TEXT_SCHEMA ", {'type': 'array', 'items': " TEXT_SCHEMA "}]}"

/* Of rows that have no bounds and no names; the number of seconds is that of 366 days, the bytes
 * are 2^53. */
static const char *const kinds[] = {
    [FIELD_TEXT] = TEXT_SCHEMA,
    [FIELD_BOOL] = "{'type': 'boolean'}",
    [FIELD_SWITCH] = "{'type': 'boolean'}",
    [FIELD_DURATION] = "{'anyOf': [{'type': 'number', 'minimum': 0, 'maximum': 31622400}, {'type': "
                       "'string', 'pattern': "
                       "'^[0-9]+([.][0-9]+)?(e[+-]?[0-9]+)?(ms|s|m|h|d)?$'}]}",
    [FIELD_SIZE] = "{'anyOf': [{'type': 'integer', 'minimum': 0, 'maximum': 9007199254740992}, "
                   "{'type': 'string', 'pattern': "
                   "'^[0-9][0-9.]* *([kKmMgGtT]?[iI]?[bB])?$'}]}",
    [FIELD_ENERGY] = "{'type': 'string', 'pattern': '^[0-9][0-9.]* *([kMG]?J|[kM]?Wh)$'}",
    [FIELD_PATTERN] = TEXT_SCHEMA,
    [FIELD_TEXTS] = TEXTS_SCHEMA,
    [FIELD_PATTERNS] = TEXTS_SCHEMA,
    [FIELD_LIST] = "{'type': 'array', 'items': {'type': 'string'}}",
    [FIELD_NAMES_TO_TEXTS] =
        "{'type': 'object', 'propertyNames': {'pattern': '^[A-Za-z_][A-Za-z0-9_]*$'}, "
        "'additionalProperties': {'type': 'string'}}",
};

/* JSON of a text of ours with ' for ". */
static json_t *schema_load(const char *text)
{
    AUTO_FREE char *json = mem_strdup(text);
    for (char *c = json; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    return json_loads(json, 0, NULL);
}

static json_t *bounded(const char *type, const struct field *row)
{
    bool whole = row->kind == FIELD_INT;
    return json_pack("{s:s, s:o, s:o}", "type", type, "minimum",
                     whole ? json_integer((json_int_t)row->low) : json_finite(row->low), "maximum",
                     whole ? json_integer((json_int_t)row->high) : json_finite(row->high));
}

static json_t *value_schema(const struct field *row)
{
    switch (row->kind) {
    case FIELD_OTHER:
        return schema_load(row->schema);
    case FIELD_INT:
        return bounded("integer", row);
    case FIELD_NUMBER:
        return bounded("number", row);
    case FIELD_NAME:
        return json_pack("{s:o}", "enum", json_texts(row->names));
    default:
        return schema_load(kinds[row->kind]);
    }
}

static bool is_required_field(const struct field *row)
{
    return strcmp(row->initial, "needed") == 0;
}

/* null counts as not there. */
static json_t *row_schema(const struct field *row)
{
    json_t *schema = value_schema(row);
    if (!is_required_field(row))
        schema = json_pack("{s:[o,{s:s}]}", "anyOf", schema, "type", "null");
    AUTO_FREE char *about = mem_printf("%s (default: %s)", row->help, row->initial);
    json_object_set_new(schema, "description",
                        json_string(is_required_field(row) ? row->help : about));
    return schema;
}

static json_t *object_schema(const struct field_object *object)
{
    json_t *properties = json_object(), *required = json_array();
    for (size_t t = 0; t < FIELD_OBJECT_TABLES && object->tables[t]; t++)
        EACH (row, object->tables[t]->rows, object->tables[t]->count) {
            json_object_set_new(properties, row->key, row_schema(row));
            if (object->complete && is_required_field(row))
                json_array_append_new(required, json_string(row->key));
        }
    json_t *schema = json_pack("{s:s, s:o}", "type", "object", "properties", properties);
    if (json_array_size(required))
        json_object_set(schema, "required", required);
    json_decref(required);
    if (object->unknown == UNKNOWN_ARE_FREE)
        return schema;
    json_object_set_new(schema, "patternProperties",
                        schema_load("{'^(_|//|comments?$|notes?$|description$)': true}"));
    json_object_set_new(schema, "additionalProperties", json_false());
    return schema;
}

json_t *fields_schema(const char *title, const struct field_object *objects, size_t count)
{
    json_t *defs = json_object();
    for (size_t i = 1; i < count; i++)
        json_object_set_new(defs, objects[i].name, object_schema(&objects[i]));
    json_t *schema = json_pack("{s:s, s:s}", "$schema",
                               "https://json-schema.org/draft/2020-12/schema", "title", title);
    json_t *root = object_schema(&objects[0]);
    json_object_update(schema, root);
    json_decref(root);
    json_object_set_new(schema, "$defs", defs);
    return schema;
}

void fields_describe_all(const struct field_object *objects, size_t count, struct text *out)
{
    EACH (object, objects, count)
        for (size_t t = 0; t < FIELD_OBJECT_TABLES && object->tables[t]; t++)
            fields_describe(object->tables[t], out);
}
