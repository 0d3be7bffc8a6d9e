/* field: JSON objects read by table. A row says a key's type, bounds, default and meaning; reading,
 * the text of an error and the reference in docs/reference all come from the row. Private to
 * config/. */
#ifndef TARE_PLAN_CONFIG_FIELD_H
#define TARE_PLAN_CONFIG_FIELD_H

#include "base/json.h"
#include "base/strv.h"
#include "base/text.h"
#include "plan/config/problem.h"
#include "plan/config/settings.h"

#include <stdbool.h>
#include <stddef.h>

/* In brackets: the type of the member at offset. */
enum field_kind {
    FIELD_OTHER,  /* known here, read by its own function; expected says what it is */
    FIELD_TEXT,   /* char *: not empty */
    FIELD_NAME,   /* int: place in names */
    FIELD_INT,    /* int64_t: low to high */
    FIELD_NUMBER, /* double: low to high */
    FIELD_BOOL,   /* bool */
    FIELD_SWITCH, /* enum setting_switch */
    /* double, seconds: 0 to a year; a number of seconds or text such as "2h" */
    FIELD_DURATION,
    FIELD_SIZE,   /* uint64_t, bytes: a number or text such as "1GiB" */
    FIELD_ENERGY, /* double, J: text such as "20 kWh" */
    FIELD_TEXTS,  /* struct strv: a list of strings, or one text */
    /* struct strv: a list of strings, which may be empty: words of a command */
    FIELD_LIST,
    FIELD_PATTERN,  /* char *: a regular expression */
    FIELD_PATTERNS, /* struct strv: as FIELD_TEXTS, each a regular expression */
    /* struct strv of NAME=VALUE: an object of strings, its keys fit for an environment */
    FIELD_NAMES_TO_TEXTS,
};

struct field {
    const char *key;
    enum field_kind kind;
    size_t offset;
    /* the default, as the reference says it; the caller sets it before reading */
    const char *initial;
    const char *help; /* what it is for */
    double low, high;
    const char *const *names; /* NULL-terminated */
    const char *expected;     /* FIELD_OTHER */
    const char *schema;       /* FIELD_OTHER: the same as JSON Schema, with ' for " */
};

struct field_table {
    const char *title;
    const struct field *rows;
    size_t count;
};

#define FIELD_TABLE(title, rows)                   \
    {                                              \
        title, rows, sizeof(rows) / sizeof *(rows) \
    }

/* Where values come from and problems go to. */
struct source {
    const struct json_doc *doc;
    struct problems *problems;
    bool strict; /* a key that looks misspelt is an error also where unknown ones are free */
};

/* Reads every row whose key is there (null counts as not there) into target; a wrong one is
 * reported and leaves target's member as it was. What a member held before is not freed. */
void fields_read(const struct source *source, const char *path, const json_t *object,
                 const struct field_table *table, void *target);

/* One row. False when the value is wrong. */
bool field_read(const struct source *source, const char *path, const json_t *json,
                const struct field *row, void *target);

/* The row of this key, or NULL. */
const struct field *fields_find(const struct field_table *table, const char *key);

/* Scalars of JSON, and an object of them: for schema. */
#define FIELD_SCALAR  "{'type': ['number', 'string', 'boolean', 'null']}"
#define FIELD_SCALARS "{'type': 'object', 'additionalProperties': " FIELD_SCALAR "}"
#define FIELD_STRING  "{'type': 'string', 'minLength': 1}"

/* An object with a table of its own, which is called as the key. */
#define FIELD_OBJECT_ROW(name, fallback, meaning)                                             \
    {                                                                                         \
        name, FIELD_OTHER, .expected = "an object", .schema = "{'$ref': '#/$defs/" name "'}", \
                           .initial = fallback, .help = meaning                               \
    }

enum unknown_keys {
    UNKNOWN_ARE_ERRORS,
    UNKNOWN_ARE_WARNINGS, /* but for notes: comment, note, notes, description, _... */
    UNKNOWN_ARE_FREE,     /* a warning only for what looks like a misspelt key */
};

/* A key that is known at another place, and the sentence that says so. */
struct misplaced {
    const char *key;
    const char *text;
};

/* Reports the keys that no row names; elsewhere (may be NULL, ends with a NULL key) is looked at
 * first. Gives the number of keys that look misspelt. */
size_t fields_check_keys(const struct source *source, const char *path, const json_t *object,
                         const struct field_table *table, enum unknown_keys unknown,
                         const struct misplaced *elsewhere);

/* Reports each key of an object that the text has twice there; for objects every key of which means
 * something, as those of hyperparameters. fields_check_keys does it for the keys that a row
 * names. */
void fields_check_repeats(const struct source *source, const char *path, const json_t *object);

/* A key that is a note to the reader wherever it stands. */
bool fields_is_note(const char *key);

/* A warning when the key is there (and not null), as it has no effect. */
void fields_warn_unused(const struct source *source, const char *path, const json_t *object,
                        const char *key, const char *why);

/* The object at key of parent with its path in *path (the caller frees it), or NULL: not there, or
 * no object (reported). */
const json_t *field_object(const struct source *source, const char *parent_path,
                           const json_t *parent, const char *key, char **path);

/* Each member of the object at key of parent, with its path, in order; nothing: it is not there, or
 * no object (reported, as are keys that it has twice). out: the reader's. */
typedef void field_member(const struct source *source, const char *path, const char *name,
                          const json_t *json, void *out);
void fields_each(const struct source *source, const char *parent_path, const json_t *parent,
                 const char *key, field_member *read, void *out);

/* A pattern that PCRE2 takes? Else reported. */
bool field_check_pattern(const struct source *source, const char *path, const char *key,
                         const char *pattern);

/* An error at path. False. */
#define field_error(source, path, ...) \
    problems_error((source)->problems, (source)->doc, path, __VA_ARGS__)

/* "'key': expected this, not that"; without a key what the value itself is. False. */
bool field_refuse(const struct source *source, const char *path, const char *key,
                  const char *expected, const json_t *json);

/* A value as a message shows it: "adam", 12, a list of 3. The caller frees it. */
char *field_shown(const json_t *json);

/* "an integer from 0 to 100": what a row takes. The caller frees it. */
char *field_expected(const struct field *row);

/* The table in Markdown, a row a line. */
void fields_describe(const struct field_table *table, struct text *out);

enum { FIELD_OBJECT_TABLES = 5 };

/* An object of a file, whose keys are in one table or in several. */
struct field_object {
    const char *name; /* in $defs of the schema; the root's is not used */
    enum unknown_keys unknown;
    bool complete; /* a row whose default is "needed" must be there */
    const struct field_table *tables[FIELD_OBJECT_TABLES]; /* the rest are NULL */
};

/* All objects of a file, the root first. A schema (draft 2020-12), which is closed but where
 * unknown keys are free; a new reference. */
json_t *fields_schema(const char *title, const struct field_object *objects, size_t count);
void fields_describe_all(const struct field_object *objects, size_t count, struct text *out);

#endif
