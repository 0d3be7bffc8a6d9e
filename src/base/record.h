/* record: a table of a struct's fields, which writes it as JSON and CSV and reads it from JSON:
 *
 *     struct loop { const char *outcome; struct reading duration_s; };
 *     static const struct record_field loop_fields[] = {
 *         RECORD(struct loop, outcome),
 *         RECORD(struct loop, duration_s, .low = 0, .high = INFINITY),
 *         {0}};
 *     struct loop loop = {0};                defaults
 *     record_get(loop_fields, json, &loop);  or, strict: record_read(..., err)
 *     json_t *json = record_json(loop_fields, &loop);
 *     record_free(loop_fields, &loop);
 *
 * char * and json_t * are owned; const char * and const json_t * point into the JSON that was read,
 * which must outlive them, and need no record_free. A key that is only
 * read can be a path: RECORD_AS(struct result, "tare.attempts.-1.error", error). */
#ifndef TARE_BASE_RECORD_H
#define TARE_BASE_RECORD_H

#include "base/err.h"
#include "base/reading.h"
#include "base/strv.h"
#include "base/text.h"
#include "base/value.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum record_type {
    RECORD_TEXT,     /* char *; absent: NULL, and in JSON invalid UTF-8 */
    RECORD_BORROWED, /* const char *: the same, not owned */
    RECORD_CHARS,    /* char[] with a NUL at the end; "" is empty */
    RECORD_NAMED,    /* an enum by its name; absent: it has none (NULL) */
    RECORD_READING,  /* absent where it is not valid */
    RECORD_SIZE,     /* size_t, uint64_t */
    RECORD_INT,
    RECORD_INT64,
    RECORD_DOUBLE,        /* as json_finite: null for what is not finite */
    RECORD_BYTES,         /* a double that is whole: an integer in JSON and CSV */
    RECORD_BYTES_READING, /* the same of a reading */
    RECORD_BOOL,
    RECORD_SWITCH, /* an enum: 0: absent, 1: false, 2: true */
    /* These have no cell in CSV: */
    RECORD_VALUE,     /* struct value */
    RECORD_TEXTS,     /* struct strv */
    RECORD_JSON,      /* json_t *, a reference of its own; absent: NULL */
    RECORD_JSON_PART, /* const json_t *: the same, not owned */
    RECORD_NESTED,    /* a struct in the struct */
    RECORD_OWNED,     /* a pointer to such a struct; absent: NULL */
    RECORD_LIST       /* a pointer to such structs, and a size_t with their number */
};

enum record_presence {
    RECORD_NULL,     /* absent is null in JSON; it may be missing when it is read */
    RECORD_NEEDED,   /* absent is left out of JSON; it must be there when it is read */
    RECORD_MAY_MISS, /* absent is left out of JSON; it may be missing */
    RECORD_SPARSE    /* the same, and 0, false, an empty list or array of char is left out, too */
};

/* A table ends with {0}. */
struct record_field {
    const char *key;
    enum record_type type;
    size_t at; /* the member's place in the struct */
    enum record_presence presence;
    bool unread; /* it is only written */
    /* a member with any bit set where this one is known, which reading does not set */
    size_t known_at, known_size;
    double low, high; /* of a number that is read, both included; the same: there are no bounds */
    /* RECORD_NAMED: by a function, and for reading how many values there are from 0 on; or names
     * (NULL-terminated) of the values from first on, below which it is absent */
    const char *(*name)(unsigned);
    int values;
    const char *const *names;
    int first;
    /* of a struct: its table; or the two functions instead, of which to may give NULL: absent */
    const struct record_field *fields;
    json_t *(*to)(const void *item);
    bool (*from)(const json_t *json, void *item, struct err *err);
    const void *initial; /* RECORD_OWNED, RECORD_LIST: what a struct is before it is read */
    size_t count_at;     /* RECORD_LIST: the place of the number */
    size_t size;         /* RECORD_OWNED, RECORD_LIST: of one struct; RECORD_CHARS */
};

#define RECORD_MEMBER(of, member) (((of *)0)->member)

/* By the address: arrays and enums do not compile. */
#define RECORD_TYPE(of, member) \
    _Generic(&RECORD_MEMBER(of, member), char **: RECORD_TEXT, const char **: RECORD_BORROWED,     \
        struct reading *: RECORD_READING, size_t *: RECORD_SIZE, int *: RECORD_INT,                \
        int64_t *: RECORD_INT64, double *: RECORD_DOUBLE, bool *: RECORD_BOOL,                     \
        struct value *: RECORD_VALUE, struct strv *: RECORD_TEXTS, json_t **: RECORD_JSON,         \
        const json_t **: RECORD_JSON_PART)

#define RECORD_HEAD(kind, of, text, member) \
    .key = (text), .type = (kind), .at = offsetof(of, member)
#define RECORD_KNOWN(of, known) \
    .known_at = offsetof(of, known), .known_size = sizeof RECORD_MEMBER(of, known)

#define RECORD_OF_TYPE(of, member, kind, value)                                                \
    __builtin_choose_expr(                                                                     \
        __builtin_types_compatible_p(__typeof__(RECORD_MEMBER(of, member)), __typeof__(kind)), \
        (value), (void)0)

/* of: the struct's type; text: the key; then further members of struct record_field, as
 * .presence = RECORD_NEEDED. IF: absent where the member known is false, 0 or NULL. */
#define RECORD_AS(of, text, member, ...)                                    \
    {                                                                       \
        RECORD_HEAD(RECORD_TYPE(of, member), of, text, member), __VA_ARGS__ \
    }
#define RECORD(of, member, ...) RECORD_AS(of, #member, member, __VA_ARGS__)
#define RECORD_IF(of, known, text, member, ...) \
    RECORD_AS(of, text, member, RECORD_KNOWN(of, known), __VA_ARGS__)

#define RECORD_CHARS(of, text, member, ...)                                            \
    {                                                                                  \
        RECORD_HEAD(RECORD_CHARS, of, text, member),                                   \
            .size = RECORD_OF_TYPE(of, member, char[sizeof RECORD_MEMBER(of, member)], \
                                   sizeof RECORD_MEMBER(of, member)),                  \
            __VA_ARGS__                                                                \
    }

/* member: a double or a reading. */
#define RECORD_BYTES_TYPE(of, member) \
    _Generic(&RECORD_MEMBER(of, member), double *: RECORD_BYTES,                                   \
        struct reading *: RECORD_BYTES_READING)
#define RECORD_BYTES(of, text, member, ...)                                       \
    {                                                                             \
        RECORD_HEAD(RECORD_BYTES_TYPE(of, member), of, text, member), __VA_ARGS__ \
    }
#define RECORD_BYTES_IF(of, known, text, member, ...) \
    RECORD_BYTES(of, text, member, RECORD_KNOWN(of, known), __VA_ARGS__)

/* function: const char *(enum of the member); reading needs .values. */
#define RECORD_ENUM(of, text, member, function, ...)                                               \
    {                                                                                              \
        RECORD_HEAD(RECORD_NAMED, of, text, member),                                               \
            .name =                                                                                \
                __builtin_choose_expr(__builtin_types_compatible_p(                                \
                                          __typeof__(&(function)),                                 \
                                          const char *(*)(__typeof__(RECORD_MEMBER(of, member)))), \
                                      (function), (void)0),                                        \
            __VA_ARGS__                                                                            \
    }
#define RECORD_ENUM_IF(of, known, text, member, function, ...) \
    RECORD_ENUM(of, text, member, function, RECORD_KNOWN(of, known), __VA_ARGS__)
#define RECORD_CHOICE(of, text, member, list, ...)                                \
    {                                                                             \
        RECORD_HEAD(RECORD_NAMED, of, text, member), .names = (list), __VA_ARGS__ \
    }

/* table: of the member's struct; NULL: .to and .from follow. RECORD_GROUP: the keys are members of
 * the same struct. RECORD_STRUCT_OWNED, RECORD_STRUCTS: the member is a pointer; an array does not
 * compile. */
#define RECORD_STRUCT(of, text, member, table, ...)                                  \
    {                                                                                \
        RECORD_HEAD(RECORD_NESTED, of, text, member), .fields = (table), __VA_ARGS__ \
    }
#define RECORD_STRUCT_IF(of, known, text, member, table, ...) \
    RECORD_STRUCT(of, text, member, table, RECORD_KNOWN(of, known), __VA_ARGS__)
#define RECORD_GROUP(text, table, ...)                                       \
    {                                                                        \
        .key = (text), .type = RECORD_NESTED, .fields = (table), __VA_ARGS__ \
    }
#define RECORD_POINTED(of, member, table)                                              \
    .fields = (table), .size = RECORD_OF_TYPE(of, member, &*RECORD_MEMBER(of, member), \
                                              sizeof *RECORD_MEMBER(of, member))
#define RECORD_STRUCT_OWNED(of, text, member, table, ...)                               \
    {                                                                                   \
        RECORD_HEAD(RECORD_OWNED, of, text, member), RECORD_POINTED(of, member, table), \
            __VA_ARGS__                                                                 \
    }
#define RECORD_STRUCTS(of, text, member, count, table, ...)                            \
    {                                                                                  \
        RECORD_HEAD(RECORD_LIST, of, text, member), RECORD_POINTED(of, member, table), \
            .count_at = offsetof(of, count), __VA_ARGS__                               \
    }

/* A new reference; record_set: into an object. Keys are in the table's order. */
json_t *record_json(const struct record_field *fields, const void *record);
void record_set(json_t *object, const struct record_field *fields, const void *record);
json_t *record_list_json(const struct record_field *fields, const void *records, size_t count,
                         size_t size);

/* Into a struct that holds the defaults; what it held is not freed. json need not be an object:
 * NULL has no keys. record_read: false where a field is needed and missing, of another kind or out
 * of bounds (err); what was read until then is in record. record_get: such a member stays as it
 * was, also in the structs within, of which a list has as many as the JSON. A list can grow
 * by MEM_ADD. */
bool record_read(const struct record_field *fields, const json_t *json, void *record,
                 struct err *err);
void record_get(const struct record_field *fields, const json_t *json, void *record);

/* Frees what reading allocates, not the struct itself, and not what .from made. */
void record_free(const struct record_field *fields, void *record);

/* Cells with commas between, for the caller to go on or end the line; fields of
 * RECORD_VALUE and the types after it have none. */
void record_csv_header(const struct record_field *fields, struct text *out);
void record_csv_row(const struct record_field *fields, const void *record, struct text *out);

#endif
