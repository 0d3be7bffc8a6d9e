#include "plan/config/field.h"
#include "base/json_place.h"
#include "base/json_print.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/pattern/pattern.h"
#include "base/utf8.h"
#include "base/value.h"
#include "plan/config/size.h"

#include <ctype.h>
#include <string.h>

const struct field *fields_find(const struct field_table *table, const char *key)
{
    EACH (row, table->rows, table->count)
        if (strcmp(row->key, key) == 0)
            return row;
    return NULL;
}

bool fields_is_note(const char *key)
{
    static const char *const notes[] = {"comment", "comments", "note", "notes", "description"};
    EACH_OF (note, notes)
        if (strcmp(key, *note) == 0)
            return true;
    return key[0] == '_' || strncmp(key, "//", 2) == 0;
}

/* The caller frees the list. */
static const char **keys_of(const struct field_table *table)
{
    const char **keys = mem_array(table->count, sizeof *keys);
    for (size_t i = 0; i < table->count; i++)
        keys[i] = table->rows[i].key;
    return keys;
}

static char *nearest_hint(const struct field_table *table, const char *key)
{
    AUTO_FREE const char **keys = keys_of(table);
    return problem_nearest(key, keys, table->count);
}

static const char *find_misplaced(const struct misplaced *elsewhere, const char *key)
{
    for (; elsewhere && elsewhere->key; elsewhere++)
        if (strcmp(elsewhere->key, key) == 0)
            return elsewhere->text;
    return NULL;
}

/* Python's json takes the last, other readers the first: which one is meant cannot be told. */
static void check_repeat(const struct source *source, const char *path, const char *key)
{
    struct json_place first, last;
    AUTO_FREE char *place = source->doc->repeats ? json_path_key(path, key) : NULL;
    if (place && json_doc_repeated(source->doc, place, &first, &last))
        problems_add_at_key(
            source->problems, SEVERITY_ERROR, source->doc, place,
            "'%s' is in this object twice, at %zu:%zu and at %zu:%zu: keep one of them", key,
            first.line, first.column, last.line, last.column);
}

void fields_check_repeats(const struct source *source, const char *path, const json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        check_repeat(source, path, key);
    }
}

size_t fields_check_keys(const struct source *source, const char *path, const json_t *object,
                         const struct field_table *table, enum unknown_keys unknown,
                         const struct misplaced *elsewhere)
{
    size_t misspelt = 0;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        if (fields_find(table, key))
            check_repeat(source, path, key);
        if (fields_find(table, key) || fields_is_note(key))
            continue;
        AUTO_FREE char *place = json_path_key(path, key);
        const char *text = find_misplaced(elsewhere, key);
        if (text) {
            problems_add_at_key(source->problems,
                                json_doc_overridden(source->doc, place) ? SEVERITY_ERROR
                                                                        : SEVERITY_WARNING,
                                source->doc, place, "'%s' is not used here: %s", key, text);
            continue;
        }
        AUTO_FREE const char **keys = keys_of(table);
        const char *nearest = problem_nearest_name(key, keys, table->count);
        /* by the command line, where no key is a note */
        bool set = json_doc_overridden(source->doc, place);
        misspelt += nearest != NULL;
        if (unknown == UNKNOWN_ARE_FREE && !nearest && !set)
            continue;
        AUTO_FREE char *hint = nearest_hint(table, key);
        bool error =
            unknown == UNKNOWN_ARE_ERRORS || (unknown == UNKNOWN_ARE_FREE && source->strict) || set;
        problems_add_at_key(source->problems, error ? SEVERITY_ERROR : SEVERITY_WARNING,
                            source->doc, place, "unknown key '%s'%s", key, hint);
    }
    return misspelt;
}

void fields_warn_unused(const struct source *source, const char *path, const json_t *object,
                        const char *key, const char *why)
{
    if (!json_get(object, key))
        return;
    AUTO_FREE char *place = json_path_key(path, key);
    problems_add_at_key(source->problems, SEVERITY_WARNING, source->doc, place,
                        "'%s' is not used here: %s", key, why);
}

static void add_markdown_cell(struct text *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            text_add_char(out, '\\');
        text_add_char(out, *text);
    }
    text_add(out, " | ");
}

void fields_describe(const struct field_table *table, struct text *out)
{
    text_addf(out, "## %s\n\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n",
              table->title);
    EACH (row, table->rows, table->count) {
        AUTO_FREE char *expected = field_expected(row);
        text_addf(out, "| `%s` | ", row->key);
        add_markdown_cell(out, expected);
        add_markdown_cell(out, row->initial);
        add_markdown_cell(out, row->help);
        out->data[--out->length] = '\0'; /* the blank behind the last bar */
        text_add_char(out, '\n');
    }
    text_add_char(out, '\n');
}

/* Longer waits are mistakes, and nanoseconds of more than 292 years do not fit. */
#define LONGEST_DURATION_S (366.0 * 24 * 3600)
#define MOST_BYTES         9007199254740992.0

enum { SHOWN_BYTES = 60 };

char *field_shown(const json_t *json)
{
    if (json_is_object(json))
        return mem_strdup(json_object_size(json) ? "an object" : "an empty object");
    if (json_is_array(json))
        return json_array_size(json) ? mem_printf("a list of %zu", json_array_size(json))
                                     : mem_strdup("an empty list");
    AUTO_TEXT struct text printed = {0};
    json_print(json, &printed);
    return utf8_quoted(text_get(&printed), SHOWN_BYTES);
}

static char *bounds_text(const char *what, const struct field *row)
{
    char low[32], high[32];
    number_shortest(row->low, low);
    number_shortest(row->high, high);
    if (row->kind == FIELD_INT)
        return mem_printf("%s from %.0f to %.0f", what, row->low, row->high);
    return mem_printf("%s from %s to %s", what, low, high);
}

char *field_expected(const struct field *row)
{
    switch (row->kind) {
    case FIELD_OTHER:
        return mem_strdup(row->expected);
    case FIELD_TEXT:
        return mem_strdup("a non-empty string");
    case FIELD_NAME: {
        AUTO_TEXT struct text out = {0};
        for (size_t i = 0; row->names[i]; i++)
            text_addf(&out, "%s\"%s\"",
                      i == 0              ? ""
                      : row->names[i + 1] ? ", "
                                          : " or ",
                      row->names[i]);
        return text_take(&out);
    }
    case FIELD_INT:
        return bounds_text("an integer", row);
    case FIELD_NUMBER:
        return bounds_text("a number", row);
    case FIELD_BOOL:
    case FIELD_SWITCH:
        return mem_strdup("true or false");
    case FIELD_DURATION:
        return mem_strdup(
            "seconds or a duration such as \"90s\", \"10m\" or \"2h\", at most 366 days");
    case FIELD_SIZE:
        return mem_strdup("bytes or a size such as \"500 MB\" or \"1GiB\", at most 2^53 bytes");
    case FIELD_ENERGY:
        return mem_strdup("an energy such as \"20 kWh\", \"500 Wh\" or \"3.6 MJ\"");
    case FIELD_TEXTS:
        return mem_strdup("a string or a list of strings");
    case FIELD_LIST:
        return mem_strdup("a list of strings");
    case FIELD_PATTERN:
        return mem_strdup("a regular expression");
    case FIELD_PATTERNS:
        return mem_strdup("a regular expression or a list of them");
    case FIELD_NAMES_TO_TEXTS:
        return mem_strdup("an object of strings");
    }
    return mem_strdup("another value");
}

bool field_refuse(const struct source *source, const char *path, const char *key,
                  const char *expected, const json_t *json)
{
    AUTO_FREE char *shown = field_shown(json);
    return field_error(source, path, "%s%s%sexpected %s, not %s", key ? "'" : "", key ? key : "",
                       key ? "': " : "", expected, shown);
}

static bool refuse_field(const struct source *source, const char *path, const json_t *json,
                         const struct field *row)
{
    AUTO_FREE char *expected = field_expected(row);
    return field_refuse(source, path, row->key, expected, json);
}

static bool read_field_choice(const struct source *source, const char *path, const json_t *json,
                              const struct field *row, int *place)
{
    if (!json_is_string(json))
        return refuse_field(source, path, json, row);
    size_t count = 0;
    for (; row->names[count]; count++) {
        if (strcmp(json_string_value(json), row->names[count]) != 0)
            continue;
        *place = (int)count;
        return true;
    }
    AUTO_FREE char *expected = field_expected(row);
    AUTO_FREE char *shown = field_shown(json);
    AUTO_FREE char *nearest = problem_nearest(json_string_value(json), row->names, count);
    return field_error(source, path, "'%s': expected %s, not %s%s", row->key, expected, shown,
                       nearest);
}

static bool is_in_bounds(double number, double low, double high)
{
    return number >= low && number <= high;
}

static bool read_field_duration(const struct source *source, const char *path, const json_t *json,
                                const struct field *row, double *seconds)
{
    double given = -1;
    if (json_is_string(json)) {
        if (!clock_parse_duration(json_string_value(json), &given, NULL))
            return refuse_field(source, path, json, row);
    } else if (json_is_number(json)) {
        given = json_number_value(json);
    }
    if (!is_in_bounds(given, 0, LONGEST_DURATION_S))
        return refuse_field(source, path, json, row);
    *seconds = given;
    return true;
}

static bool read_field_size(const struct source *source, const char *path, const json_t *json,
                            const struct field *row, uint64_t *bytes)
{
    if (json_is_string(json))
        return size_parse(json_string_value(json), bytes, NULL) ||
               refuse_field(source, path, json, row);
    if (!json_is_integer(json) || !is_in_bounds((double)json_integer_value(json), 0, MOST_BYTES))
        return refuse_field(source, path, json, row);
    *bytes = (uint64_t)json_integer_value(json);
    return true;
}

bool field_check_pattern(const struct source *source, const char *path, const char *key,
                         const char *pattern)
{
    struct err err = {0};
    if (pattern_check(pattern, &err))
        return true;
    return field_error(source, path, "'%s': bad regular expression: %s", key, err.text);
}

static bool read_list_item(const struct source *source, const char *path, const json_t *json,
                           const struct field *row, struct strv *list)
{
    const char *text = json_string_value(json);
    /* An empty word is a word of a command like others. */
    if (!text || (!*text && row->kind != FIELD_LIST))
        return refuse_field(source, path, json, row);
    if (row->kind == FIELD_PATTERNS && !field_check_pattern(source, path, row->key, text))
        return false;
    strv_add(list, text);
    return true;
}

static bool read_items(const struct source *source, const char *path, const json_t *json,
                       const struct field *row, struct strv *list)
{
    if (json_is_string(json) && row->kind != FIELD_LIST)
        return read_list_item(source, path, json, row, list);
    if (!json_is_array(json))
        return refuse_field(source, path, json, row);
    bool good = true;
    for (size_t i = 0; i < json_array_size(json); i++) {
        AUTO_FREE char *item = json_path_index(path, i);
        good = read_list_item(source, item, json_array_get(json, i), row, list) && good;
    }
    return good;
}

static bool is_environment_name(const char *name)
{
    if (!isalpha((unsigned char)*name) && *name != '_')
        return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && *name != '_')
            return false;
    return true;
}

static bool read_environment(const struct source *source, const char *path, const json_t *json,
                             const struct field *row, struct strv *env)
{
    if (!json_is_object(json))
        return refuse_field(source, path, json, row);
    bool good = true;
    fields_check_repeats(source, path, json);
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)json, name, value)
    {
        AUTO_FREE char *item = json_path_key(path, name);
        if (!is_environment_name(name)) {
            problems_add_at_key(
                source->problems, SEVERITY_ERROR, source->doc, item,
                "'%s': '%s' is no name of an environment variable (letters, digits and _)",
                row->key, name);
            good = false;
        } else if (!json_is_string(value)) {
            good = field_refuse(source, item, name, "a string", value);
        } else {
            strv_env_set(env, name, json_string_value(value));
        }
    }
    return good;
}

bool field_read(const struct source *source, const char *path, const json_t *json,
                const struct field *row, void *target)
{
    void *member = (char *)target + row->offset;
    switch (row->kind) {
    case FIELD_OTHER:
        return true;
    case FIELD_TEXT:
    case FIELD_PATTERN:
        if (!json_is_string(json) || !*json_string_value(json))
            return refuse_field(source, path, json, row);
        if (row->kind == FIELD_PATTERN &&
            !field_check_pattern(source, path, row->key, json_string_value(json)))
            return false;
        *(char **)member = mem_strdup(json_string_value(json));
        return true;
    case FIELD_NAME:
        return read_field_choice(source, path, json, row, member);
    case FIELD_INT:
        if (!json_is_integer(json) ||
            !is_in_bounds((double)json_integer_value(json), row->low, row->high))
            return refuse_field(source, path, json, row);
        *(int64_t *)member = json_integer_value(json);
        return true;
    case FIELD_NUMBER:
        if (!json_is_number(json) || !is_in_bounds(json_number_value(json), row->low, row->high))
            return refuse_field(source, path, json, row);
        *(double *)member = json_number_value(json);
        return true;
    case FIELD_BOOL:
        if (!json_is_boolean(json))
            return refuse_field(source, path, json, row);
        *(bool *)member = json_is_true(json);
        return true;
    case FIELD_SWITCH:
        if (!json_is_boolean(json))
            return refuse_field(source, path, json, row);
        *(enum setting_switch *)member = json_is_true(json) ? SWITCH_ON : SWITCH_OFF;
        return true;
    case FIELD_DURATION:
        return read_field_duration(source, path, json, row, member);
    case FIELD_SIZE:
        return read_field_size(source, path, json, row, member);
    case FIELD_ENERGY:
        return (json_is_string(json) && size_energy_parse(json_string_value(json), member, NULL)) ||
               refuse_field(source, path, json, row);
    case FIELD_TEXTS:
    case FIELD_LIST:
    case FIELD_PATTERNS:
        return read_items(source, path, json, row, member);
    case FIELD_NAMES_TO_TEXTS:
        return read_environment(source, path, json, row, member);
    }
    return false;
}

void fields_read(const struct source *source, const char *path, const json_t *object,
                 const struct field_table *table, void *target)
{
    EACH (row, table->rows, table->count) {
        const json_t *json = json_get(object, row->key);
        if (!json)
            continue;
        AUTO_FREE char *place = json_path_key(path, row->key);
        field_read(source, place, json, row, target);
    }
}

const json_t *field_object(const struct source *source, const char *parent_path,
                           const json_t *parent, const char *key, char **path)
{
    const json_t *json = json_get(parent, key);
    if (!json)
        return NULL;
    AUTO_FREE char *place = json_path_key(parent_path, key);
    if (!json_is_object(json)) {
        field_refuse(source, place, key, "an object", json);
        return NULL;
    }
    *path = steal_ptr(place);
    return json;
}

void fields_each(const struct source *source, const char *parent_path, const json_t *parent,
                 const char *key, field_member *read, void *out)
{
    AUTO_FREE char *path = NULL;
    const json_t *object = field_object(source, parent_path, parent, key, &path);
    fields_check_repeats(source, path, object);
    const char *name;
    json_t *json;
    json_object_foreach((json_t *)object, name, json)
    {
        AUTO_FREE char *place = json_path_key(path, name);
        read(source, place, name, json, out);
    }
}
