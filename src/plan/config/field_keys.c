#include "base/mem.h"
#include "plan/config/field.h"

#include <string.h>

const struct field *fields_find(const struct field_table *table, const char *key)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->rows[i].key, key) == 0)
            return &table->rows[i];
    return NULL;
}

bool fields_is_note(const char *key)
{
    static const char *const notes[] = {"comment", "comments", "note", "notes", "description"};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (strcmp(key, notes[i]) == 0)
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

static const char *nearest_key(const struct field_table *table, const char *key)
{
    AUTO_FREE const char **keys = keys_of(table);
    return problem_nearest_name(key, keys, table->count);
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
        problems_add_at_key(source->problems, SEVERITY_ERROR, source->doc, place,
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
                         const struct field_table *table, enum unknown_keys unknown, const struct misplaced *elsewhere)
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
                                json_doc_overridden(source->doc, place) ? SEVERITY_ERROR : SEVERITY_WARNING, source->doc, place, "'%s' is not used here: %s",
                                key, text);
            continue;
        }
        const char *nearest = nearest_key(table, key);
        bool set = json_doc_overridden(source->doc, place); /* by the command line, where no key is a note */
        misspelt += nearest != NULL;
        if (unknown == UNKNOWN_ARE_FREE && !nearest && !set)
            continue;
        AUTO_FREE char *hint = nearest_hint(table, key);
        bool error = unknown == UNKNOWN_ARE_ERRORS || (unknown == UNKNOWN_ARE_FREE && source->strict) || set;
        problems_add_at_key(source->problems, error ? SEVERITY_ERROR : SEVERITY_WARNING, source->doc, place,
                            "unknown key '%s'%s", key, hint);
    }
    return misspelt;
}

void fields_warn_unused(const struct source *source, const char *path, const json_t *object, const char *key,
                        const char *why)
{
    if (!json_get(object, key))
        return;
    AUTO_FREE char *place = json_path_key(path, key);
    problems_add_at_key(source->problems, SEVERITY_WARNING, source->doc, place, "'%s' is not used here: %s", key, why);
}

static void add_cell(struct text *out, const char *text)
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
    text_addf(out, "## %s\n\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n", table->title);
    for (size_t i = 0; i < table->count; i++) {
        const struct field *row = &table->rows[i];
        AUTO_FREE char *expected = field_expected(row);
        text_addf(out, "| `%s` | ", row->key);
        add_cell(out, expected);
        add_cell(out, row->initial);
        add_cell(out, row->help);
        out->data[--out->length] = '\0'; /* the blank behind the last bar */
        text_add_char(out, '\n');
    }
    text_add_char(out, '\n');
}
