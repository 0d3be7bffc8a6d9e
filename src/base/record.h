/* record: a struct as a table of its fields, and the writers of such a table: JSON and CSV. */
#ifndef TARE_BASE_RECORD_H
#define TARE_BASE_RECORD_H

#include "base/reading.h"
#include "base/text.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum record_type {
    RECORD_TEXT,    /* char * or const char *; absent: NULL, and in JSON what is no UTF-8 */
    RECORD_READING, /* absent where it is not valid */
    RECORD_SIZE,    /* size_t, uint64_t */
    RECORD_INT,
    RECORD_INT64,
    RECORD_DOUBLE,        /* as json_finite: null for what is not finite */
    RECORD_BYTES,         /* a double that is whole: an integer in JSON and CSV */
    RECORD_BYTES_READING, /* the same of a reading */
    RECORD_BOOL,
    RECORD_NAMED,  /* an enum by its name; absent: it has none (NULL) */
    RECORD_NESTED, /* a struct in the struct */
    RECORD_LIST    /* a pointer to structs, and a size_t with their number */
};

/* A table ends with {0}. Absent is null in JSON and an empty cell in CSV. */
struct record_field {
    const char *key;
    enum record_type type;
    size_t at; /* the member's place in the struct */
    /* of a member that says by any bit whether this one is known; size 0: it always is */
    size_t known_at, known_size;
    const char *(*name)(unsigned);     /* RECORD_NAMED */
    const struct record_field *fields; /* RECORD_NESTED, RECORD_LIST */
    size_t count_at, size;             /* RECORD_LIST: the place of the number, the size of one */
};

#define RECORD_MEMBER(of, member) (((of *)0)->member)

/* The address is asked for its type, so that arrays and enums, which would pass for pointers and
 * integers, do not compile. */
#define RECORD_TYPE(of, member) \
    _Generic(&RECORD_MEMBER(of, member), char **: RECORD_TEXT, const char **: RECORD_TEXT,         \
        struct reading *: RECORD_READING, size_t *: RECORD_SIZE, int *: RECORD_INT,                \
        int64_t *: RECORD_INT64, double *: RECORD_DOUBLE, bool *: RECORD_BOOL)

#define RECORD_PLAIN(of, text, member) \
    .key = (text), .type = RECORD_TYPE(of, member), .at = offsetof(of, member)
#define RECORD_KNOWN(of, known) \
    .known_at = offsetof(of, known), .known_size = sizeof RECORD_MEMBER(of, known)

/* of: the struct's type. The key is the member's name; any other; absent where the member known is
 * false, 0 or NULL. */
#define RECORD(of, member)                \
    {                                     \
        RECORD_PLAIN(of, #member, member) \
    }
#define RECORD_AS(of, text, member)    \
    {                                  \
        RECORD_PLAIN(of, text, member) \
    }
#define RECORD_IF(of, known, text, member)                      \
    {                                                           \
        RECORD_PLAIN(of, text, member), RECORD_KNOWN(of, known) \
    }

/* Of a double or a reading. */
#define RECORD_BYTES_TYPE(of, member) \
    _Generic(&RECORD_MEMBER(of, member), double *: RECORD_BYTES,                                   \
        struct reading *: RECORD_BYTES_READING)
#define RECORD_BYTES(of, text, member)                                                   \
    {                                                                                    \
        .key = (text), .at = offsetof(of, member), .type = RECORD_BYTES_TYPE(of, member) \
    }
#define RECORD_BYTES_IF(of, known, text, member)                            \
    {                                                                       \
        .key = (text), .at = offsetof(of, member), RECORD_KNOWN(of, known), \
        .type = RECORD_BYTES_TYPE(of, member)                               \
    }

/* function: const char *(enum of the member); another enum's does not compile. */
#define RECORD_NAME(of, text, member, function)                                               \
    .key = (text), .type = RECORD_NAMED, .at = offsetof(of, member),                          \
    .name = __builtin_choose_expr(                                                            \
        __builtin_types_compatible_p(__typeof__(&(function)),                                 \
                                     const char *(*)(__typeof__(RECORD_MEMBER(of, member)))), \
        (function), (void)0)
#define RECORD_ENUM(of, text, member, function) \
    {                                           \
        RECORD_NAME(of, text, member, function) \
    }
#define RECORD_ENUM_IF(of, known, text, member, function)                \
    {                                                                    \
        RECORD_NAME(of, text, member, function), RECORD_KNOWN(of, known) \
    }

/* table: of the member's struct. RECORD_STRUCTS: the member is a pointer; an array does not
 * compile. */
#define RECORD_STRUCT(of, text, member, table)                                              \
    {                                                                                       \
        .key = (text), .type = RECORD_NESTED, .at = offsetof(of, member), .fields = (table) \
    }
#define RECORD_STRUCT_IF(of, known, text, member, table)                                     \
    {                                                                                        \
        .key = (text), .type = RECORD_NESTED, .at = offsetof(of, member), .fields = (table), \
        RECORD_KNOWN(of, known)                                                              \
    }
#define RECORD_STRUCTS(of, text, member, count, table)                                     \
    {                                                                                      \
        .key = (text), .type = RECORD_LIST, .at = offsetof(of, member), .fields = (table), \
        .count_at = offsetof(of, count),                                                   \
        .size = __builtin_choose_expr(                                                     \
            __builtin_types_compatible_p(__typeof__(RECORD_MEMBER(of, member)),            \
                                         __typeof__(&*RECORD_MEMBER(of, member))),         \
            sizeof *RECORD_MEMBER(of, member), (void)0)                                    \
    }

/* A new reference; record_set: into an object. Keys are in the table's order. */
json_t *record_json(const struct record_field *fields, const void *record);
void record_set(json_t *object, const struct record_field *fields, const void *record);
json_t *record_list_json(const struct record_field *fields, const void *records, size_t count,
                         size_t size);

/* Cells with commas between, for the caller to go on or end the line; a struct in the struct and a
 * list have none. */
void record_csv_header(const struct record_field *fields, struct text *out);
void record_csv_row(const struct record_field *fields, const void *record, struct text *out);

#endif
