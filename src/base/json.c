#include "base/json.h"
#include "base/yaml.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/value.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* jansson drops a NUL behind a number; no NUL is JSON. */
static bool refuse_nul(const struct json_doc *doc, struct err *err)
{
    const char *nul = memchr(doc->text, '\0', doc->length);
    if (!nul)
        return true;
    struct json_place place = json_place_at(doc, nul);
    const unsigned char *first = (const unsigned char *)doc->text;
    bool utf16 = doc->length >= 2 &&
                 ((first[0] == 0xff && first[1] == 0xfe) || (first[0] == 0xfe && first[1] == 0xff));
    if (utf16 || (size_t)(nul - doc->text) < 2)
        return err_set(err, "%s:1:1: it is UTF-16; save it as UTF-8", doc->file);
    return err_set(err, "%s:%zu:%zu: a NUL byte", doc->file, place.line, place.column);
}

json_t *json_load_bounded(const char *text, size_t length, size_t flags, json_error_t *error)
{
    size_t most = JSON_VALUES_MAX + length / JSON_BYTES_PER_VALUE, values = 0;
    bool quoted = false;
    for (size_t i = 0; i < length && values <= most; i++) {
        if (text[i] == '"')
            quoted = !quoted;
        else if (quoted)
            i += text[i] == '\\';
        else
            values += text[i] == ',' || text[i] == '[' || text[i] == '{';
    }
    if (values <= most)
        return json_loadb(text, length, flags, error);
    if (error) {
        *error = (json_error_t){.line = -1, .column = -1};
        snprintf(error->text, sizeof error->text,
                 "it holds more than %zu values, which no file of its kind does", most);
    }
    return NULL;
}

/* Takes text. */
static bool parse_owned(const char *file, char *text, size_t length, struct json_doc *out,
                        struct err *err)
{
    *out = (struct json_doc){.file = mem_strdup(file), .text = text, .length = length};
    if (!refuse_nul(out, err)) {
        json_doc_fini(out);
        return false;
    }
    size_t mark = json_mark_length(out);
    json_error_t error;
    out->root = json_load_bounded(text + mark, length - mark, JSON_REJECT_DUPLICATES, &error);
    bool repeats = !out->root && json_error_code(&error) == json_error_duplicate_key;
    if (repeats)
        out->root = json_load_bounded(text + mark, length - mark, 0, &error);
    if (out->root && (!repeats || json_find_repeats(out, err)))
        return true;
    if (out->root) {
        json_doc_fini(out);
        return false;
    }
    const char *hint = json_hint(text + mark, length - mark, &error);
    /* jansson quotes bytes of the text, and a message is one line */
    utf8_make_printable(error.text, "");
    err_set(err, "%s:%d:%d: %s%s%s", file, error.line > 0 ? error.line : 1,
            error.column > 0 ? error.column : 1, error.text, hint ? ": " : "", hint ? hint : "");
    json_doc_fini(out);
    return false;
}

bool json_doc_read(const char *path, size_t limit, struct json_doc *out, struct err *err)
{
    AUTO_TEXT struct text text = {0};
    *out = (struct json_doc){0};
    if (!fs_read(path, limit, &text, err))
        return false;
    size_t length = text.length;
    return parse_owned(path, text_take(&text), length, out, err);
}

static bool parse_yaml(const char *path, const struct text *yaml, struct json_doc *out,
                       struct err *err)
{
    struct text json = {0};
    struct json_mark *marks;
    size_t count, length;
    if (!yaml_to_json(path, text_get(yaml), yaml->length, &json, &marks, &count, err))
        return false;
    length = json.length;
    if (!parse_owned(path, text_take(&json), length, out, err)) {
        free(marks);
        return false;
    }
    out->marks = marks;
    out->mark_count = count;
    return true;
}

/* JSON with comments and trailing commas: both become blanks, byte for byte, so that what is left
 * is JSON in which everything is where it was. */

static void blank(char *text, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (text[i] != '\n' && text[i] != '\r')
            text[i] = ' ';
}

/* Behind the string that begins here. */
static size_t string_end(const char *text, size_t length, size_t at)
{
    for (at++; at < length && text[at] != '"' && text[at] != '\n'; at++)
        at += text[at] == '\\' && at + 1 < length;
    return at < length ? at + 1 : length;
}

/* Behind the comment that begins here; 0: a block comment that is not closed. */
static size_t comment_end(const char *text, size_t length, size_t at)
{
    if (text[at + 1] == '/') {
        while (at < length && text[at] != '\n' && text[at] != '\r')
            at++;
        return at;
    }
    for (at += 2; at + 1 < length; at++)
        if (text[at] == '*' && text[at + 1] == '/')
            return at + 2;
    return 0;
}

const char *jsonc_blank(char *text, size_t length)
{
    /* the last one, while nothing but blanks and comments came behind it */
    size_t comma = SIZE_MAX;
    /* a value came before what is next: a comma behind it may be left over */
    bool value = false;
    for (size_t at = 0; at < length;) {
        char c = text[at];
        if (c == '/' && at + 1 < length && (text[at + 1] == '/' || text[at + 1] == '*')) {
            size_t end = comment_end(text, length, at);
            if (!end)
                return text + at;
            blank(text, at, end);
            at = end;
            continue;
        }
        size_t next = c == '"' ? string_end(text, length, at) : at + 1;
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            at = next;
            continue;
        }
        if ((c == ']' || c == '}') && comma != SIZE_MAX)
            text[comma] = ' ';
        comma = c == ',' && value ? at : SIZE_MAX;
        value = !strchr(",:[{", c);
        at = next;
    }
    return NULL;
}

static bool parse_jsonc(const char *path, const struct text *text, struct json_doc *out,
                        struct err *err)
{
    char *blanked = mem_strndup(text_get(text), text->length);
    const char *open = jsonc_blank(blanked, text->length);
    if (open) {
        const struct json_doc doc = {.text = blanked, .length = text->length};
        struct json_place place = json_place_at(&doc, open);
        free(blanked);
        return err_set(err, "%s:%zu:%zu: this comment is not closed by */", path, place.line,
                       place.column);
    }
    if (!parse_owned(path, blanked, text->length, out, err))
        return false;
    out->written = mem_strndup(text_get(text), text->length);
    return true;
}

bool json_doc_read_config(const char *path, size_t limit, struct json_doc *out, struct err *err)
{
    bool yaml = text_ends_with(path, ".yaml") || text_ends_with(path, ".yml");
    if (!yaml && !text_ends_with(path, ".jsonc"))
        return json_doc_read(path, limit, out, err);
    AUTO_TEXT struct text text = {0};
    *out = (struct json_doc){0};
    return fs_read(path, limit, &text, err) &&
           (yaml ? parse_yaml : parse_jsonc)(path, &text, out, err);
}

bool json_doc_parse(const char *file, const char *text, size_t length, struct json_doc *out,
                    struct err *err)
{
    char *copy = mem_alloc(length + 1);
    if (length)
        memcpy(copy, text, length);
    return parse_owned(file, copy, length, out, err);
}

void json_doc_fini(struct json_doc *doc)
{
    free(doc->file);
    free(doc->text);
    free(doc->written);
    free(doc->marks);
    json_decref(doc->root);
    json_decref(doc->repeats);
    json_decref(doc->overrides);
    *doc = (struct json_doc){0};
}

json_t *json_finite(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *json_from_reading(double reading)
{
    char text[32];
    if (isfinite(reading))
        return json_real(reading);
    number_shortest(reading, text);
    return json_string(text);
}

bool json_to_reading(const json_t *json, double *out)
{
    if (json_is_number(json))
        *out = json_number_value(json);
    return json_is_number(json) ||
           (json_is_string(json) && number_named(json_string_value(json), out));
}

json_t *json_from_zone(const struct clock_zone *zone)
{
    json_t *out = json_object(), *offsets = json_array();
    for (size_t i = 0; i < zone->count; i++)
        json_array_append_new(offsets, json_pack("[I, I]", (json_int_t)zone->changes[i].from_s,
                                                 (json_int_t)zone->changes[i].offset_s));
    json_object_set_new(out, "name", json_filled_or_null(zone->name));
    json_object_set_new(out, "offsets", offsets);
    return out;
}

void json_to_zone(const json_t *json, struct clock_zone *out)
{
    enum { MOST_OFFSET_S = 26 * 3600 };
    const char *name = json_get_text(json, "name");
    const json_t *offsets = json_get(json, "offsets");
    *out = (struct clock_zone){0};
    snprintf(out->name, sizeof out->name, "%s", name ? name : "");
    for (size_t i = 0; i < json_array_size(offsets) && out->count < CLOCK_ZONE_CHANGES; i++) {
        const json_t *from = json_array_get(json_array_get(offsets, i), 0);
        const json_t *offset = json_array_get(json_array_get(offsets, i), 1);
        if (json_is_integer(from) && json_is_integer(offset) &&
            llabs(json_integer_value(offset)) <= MOST_OFFSET_S)
            out->changes[out->count++] =
                (struct clock_zone_change){json_integer_value(from), json_integer_value(offset)};
    }
}

json_t *json_text_or_null(const char *text)
{
    json_t *json = text ? json_string(text) : NULL;
    return json ? json : json_null();
}

json_t *json_filled_or_null(const char *text)
{
    return json_text_or_null(text && text[0] ? text : NULL);
}

json_t *json_texts(const char *const *texts)
{
    json_t *list = json_array();
    for (; texts && *texts; texts++)
        json_array_append_new(list, json_string(*texts));
    return list;
}

json_t *json_reading_or_null(struct reading reading)
{
    return reading.valid ? json_from_reading(reading.value) : json_null();
}

void json_set_reading(json_t *object, const char *key, struct reading reading)
{
    json_object_set_new(object, key, json_reading_or_null(reading));
}

void json_set_text(json_t *object, const char *key, const char *text)
{
    json_object_set_new(object, key, json_text_or_null(text));
}

void json_set_count(json_t *object, const char *key, size_t count)
{
    json_object_set_new(object, key, json_integer((json_int_t)count));
}

const json_t *json_get(const json_t *object, const char *key)
{
    const json_t *found = json_object_get(object, key);
    return json_is_null(found) ? NULL : found;
}

const char *json_get_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

bool json_get_int(const json_t *object, const char *key, json_int_t *out)
{
    const json_t *found = json_object_get(object, key);
    if (!json_is_integer(found))
        return false;
    *out = json_integer_value(found);
    return true;
}

struct reading json_get_reading(const json_t *object, const char *key)
{
    struct reading out = {0};
    out.valid = json_get_number(object, key, &out.value);
    return out;
}

bool json_get_number(const json_t *object, const char *key, double *out)
{
    const json_t *found = json_object_get(object, key);
    if (!json_is_number(found))
        return false;
    *out = json_number_value(found);
    return true;
}

bool json_says(const json_t *object, const char *key, const char *text)
{
    const char *said = json_get_text(object, key);
    return text && said && strcmp(said, text) == 0;
}
