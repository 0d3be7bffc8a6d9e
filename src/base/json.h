/* json: JSON text read by jansson, with the place (line and column) of every value. */
#ifndef TARE_BASE_JSON_H
#define TARE_BASE_JSON_H

#include "base/clock.h"
#include "base/err.h"
#include "base/reading.h"
#include "base/text.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct json_place {
    size_t line;   /* from 1; 0: unknown */
    size_t column; /* from 1, in characters (UTF-8 code points) */
};

/* Where what a byte of the JSON begins stood in the file that the JSON was made of. */
struct json_mark {
    size_t offset;
    struct json_place place;
};

struct json_doc {
    char *file; /* the name shown to people */
    char *text; /* JSON: what the file holds, or what was made of it */
    size_t length;
    /* JSON with comments: the file, byte for byte as long as text; else NULL */
    char *written;
    struct json_mark *marks; /* YAML: of each value and key, by offset; else NULL */
    size_t mark_count;
    json_t *root;
    /* path -> [byte of the first key, of the last]; NULL: no object has a key twice */
    json_t *repeats;
    json_t *overrides; /* path -> true: set over what the text says; NULL: nothing is */
};

/* A value takes up to 250 bytes of memory where it has three of text: so many values may be as
 * short as they like, each further one needs so many bytes of text (a plan's takes 23). NULL beyond
 * it: error says it. flags: jansson's. */
enum { JSON_VALUES_MAX = 1 << 20, JSON_BYTES_PER_VALUE = 16 };
json_t *json_load_bounded(const char *text, size_t length, size_t flags, json_error_t *error);

/* Reads at most limit bytes of JSON (NULs are refused, depth is bounded by jansson, a UTF-8 byte
 * order mark is skipped). Of a key that an object has twice the last value counts, as in Python;
 * json_doc_repeated tells. The error names file:line:column. json_doc_parse copies text. */
bool json_doc_read(const char *path, size_t limit, struct json_doc *out, struct err *err);
bool json_doc_parse(const char *file, const char *text, size_t length, struct json_doc *out,
                    struct err *err);
/* By the file's name YAML (.yaml, .yml), JSON with comments and trailing commas (.jsonc), or
 * JSON. */
bool json_doc_read_config(const char *path, size_t limit, struct json_doc *out, struct err *err);
void json_doc_fini(struct json_doc *doc);

/* null for what is not finite: jansson's json_real gives NULL there, with which a key is silently
 * left out. */
json_t *json_finite(double value);

/* Of what a program measured: a number, or the text "nan", "inf" or "-inf", which JSON has no
 * numbers for. */
json_t *json_from_reading(double reading);
bool json_to_reading(const json_t *json, double *out); /* false: neither */

/* {"name", "offsets": [[from_s, offset_s], ...]}; reading: out's count is 0 for what is none. */
json_t *json_from_zone(const struct clock_zone *zone);
void json_to_zone(const json_t *json, struct clock_zone *out);

/* null for NULL, and for what is no UTF-8 (a path may be anything). */
json_t *json_text_or_null(const char *text);
json_t *json_filled_or_null(const char *text); /* the same, and null for "" */

/* a list of them; NULL-terminated, or NULL: none. What is no UTF-8 is left out */
json_t *json_texts(const char *const *texts);

/* As json_from_reading; null where it is not valid. */
json_t *json_reading_or_null(struct reading reading);

/* Into an object. */
void json_set_reading(json_t *object, const char *key, struct reading reading);
void json_set_text(json_t *object, const char *key, const char *text); /* as json_text_or_null */
void json_set_count(json_t *object, const char *key, size_t count);

/* What stands under key; NULL when nothing does, or null. */
const json_t *json_get(const json_t *object, const char *key);

/* NULL when absent or of another kind. */
const char *json_get_text(const json_t *object, const char *key);
bool json_get_int(const json_t *object, const char *key, json_int_t *out);
bool json_get_number(const json_t *object, const char *key, double *out);
/* a number; not valid: it is none */
struct reading json_get_reading(const json_t *object, const char *key);
/* this very text; never where it is NULL */
bool json_says(const json_t *object, const char *key, const char *text);

/* What is not JSON becomes blanks: comments, and the comma before a closing bracket. A block
 * comment that is not closed is given; else NULL. */
const char *jsonc_blank(char *text, size_t length);

#endif
