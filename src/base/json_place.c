/* Paths to values, and a scan for the place of one. The text scanned is one that jansson accepted, so it is well
 * formed; every step is checked against the end all the same. */
#include "base/json_place.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static size_t name_length(const char *s)
{
    size_t length = 0;
    while (is_name_char(s[length]))
        length++;
    return length;
}

char *json_path_key(const char *path, const char *key)
{
    size_t length = name_length(key);
    if (length && !key[length])
        return mem_printf("%s.%s", path, key);
    AUTO_TEXT struct text out = {0};
    json_t *quoted = json_string_nocheck(key);
    text_addf(&out, "%s[", path);
    json_print(quoted, &out);
    text_add_char(&out, ']');
    json_decref(quoted);
    return text_take(&out);
}

char *json_path_index(const char *path, size_t index)
{
    return mem_printf("%s[%zu]", path, index);
}

struct scan {
    const char *at;
    const char *end;
};

static bool at_char(const struct scan *scan, char c)
{
    return scan->at < scan->end && *scan->at == c;
}

static void skip_blanks(struct scan *scan)
{
    while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\t' || *scan->at == '\n' || *scan->at == '\r'))
        scan->at++;
}

/* From the opening quote to behind the closing one. */
static void skip_string(struct scan *scan)
{
    scan->at++;
    while (scan->at < scan->end && *scan->at != '"')
        scan->at += *scan->at == '\\' && scan->end - scan->at > 1 ? 2 : 1;
    if (scan->at < scan->end)
        scan->at++;
}

/* Steps over a whole value, up to the comma or bracket behind it. Without recursion, however deep it is. */
static void skip_value(struct scan *scan)
{
    size_t depth = 0;
    while (scan->at < scan->end) {
        char c = *scan->at;
        if (c == '"') {
            skip_string(scan);
            continue;
        }
        if (depth == 0 && (c == ',' || c == ']' || c == '}'))
            return;
        if (c == '[' || c == '{')
            depth++;
        else if (c == ']' || c == '}')
            depth--;
        scan->at++;
    }
}

/* The bytes that a string in quotes stands for; NULL when it is none. The caller frees them. */
static char *decode_string(const char *token, size_t length)
{
    json_t *decoded = json_loadb(token, length, JSON_DECODE_ANY, NULL);
    char *bytes = mem_strdup(json_string_value(decoded));
    json_decref(decoded);
    return bytes;
}

/* Steps over a key; gives it, decoded, or NULL when there is none. The caller frees it. */
static char *take_key(struct scan *scan)
{
    skip_blanks(scan);
    if (!at_char(scan, '"'))
        return NULL;
    const char *token = scan->at;
    skip_string(scan);
    AUTO_FREE char *name = decode_string(token, (size_t)(scan->at - token));
    skip_blanks(scan);
    if (!at_char(scan, ':'))
        return NULL;
    scan->at++;
    skip_blanks(scan);
    return steal_ptr(name);
}

/* In the object at scan: moves to the value of key (of several the last), and sets place to its key. */
static bool enter_key(struct scan *scan, const char *key, bool last, const char **place)
{
    const char *found = NULL;
    if (!at_char(scan, '{'))
        return false;
    do {
        scan->at++;
        skip_blanks(scan);
        const char *token = scan->at;
        AUTO_FREE char *name = take_key(scan);
        if (!name)
            break;
        if (strcmp(name, key) == 0) {
            *place = token;
            found = scan->at;
            if (!last)
                return true;
        }
        skip_value(scan);
    } while (at_char(scan, ','));
    if (found)
        scan->at = found;
    return found;
}

static bool enter_index(struct scan *scan, size_t index)
{
    if (!at_char(scan, '['))
        return false;
    do {
        scan->at++;
        skip_blanks(scan);
        if (scan->at == scan->end || *scan->at == ']')
            return false;
        if (index-- == 0)
            return true;
        skip_value(scan);
    } while (at_char(scan, ','));
    return false;
}

/* The number between brackets; moves behind the closing one. */
static bool path_index(const char **path, size_t *index)
{
    const char *c = *path;
    *index = 0;
    for (; *c >= '0' && *c <= '9'; c++)
        if (__builtin_mul_overflow(*index, 10, index) || __builtin_add_overflow(*index, (size_t)(*c - '0'), index))
            return false;
    if (c == *path || *c != ']')
        return false;
    *path = c + 1;
    return true;
}

/* The key between dots, or between quotes and brackets; NULL when there is none. The caller frees it. */
static char *path_name(const char **path, bool quoted)
{
    struct scan scan = {*path, *path + strlen(*path)};
    if (!quoted) {
        size_t length = name_length(*path);
        *path += length;
        return length ? mem_strndup(scan.at, length) : NULL;
    }
    skip_string(&scan);
    const char *token = *path;
    if (!at_char(&scan, ']'))
        return NULL;
    *path = scan.at + 1;
    return decode_string(token, (size_t)(scan.at - token));
}

/* Takes one step of the path. */
static bool enter(struct scan *scan, const char **path, bool last, const char **place)
{
    bool bracket = **path == '[';
    if (!bracket && **path != '.')
        return false;
    ++*path;
    if (bracket && **path != '"') {
        size_t index;
        if (!path_index(path, &index) || !enter_index(scan, index))
            return false;
        *place = scan->at;
        return true;
    }
    AUTO_FREE char *name = path_name(path, bracket);
    return name && enter_key(scan, name, last, place);
}

size_t json_mark_length(const struct json_doc *doc)
{
    return doc->length >= 3 && memcmp(doc->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* The place of what begins here, or last before it. */
static struct json_place marked_place(const struct json_doc *doc, size_t offset)
{
    size_t low = 0, high = doc->mark_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        *(doc->marks[middle].offset <= offset ? &low : &high) = middle;
    }
    return doc->marks[low].place;
}

struct json_place json_place_at(const struct json_doc *doc, const char *at)
{
    if (doc->mark_count)
        return marked_place(doc, (size_t)(at - doc->text));
    if (doc->written)
        at = doc->written + (at - doc->text);
    const char *line = (doc->written ? doc->written : doc->text) + json_mark_length(doc);
    size_t number = 1;
    for (const char *c = line; c < at; c++) {
        if (*c == '\n') {
            line = c + 1;
            number++;
        }
    }
    return (struct json_place){number, 1 + (at > line ? utf8_count(line, (size_t)(at - line)) : 0)};
}

void json_doc_override(struct json_doc *doc, const char *path)
{
    if (!doc->overrides)
        doc->overrides = json_object();
    json_object_set_new(doc->overrides, path, json_true());
}

bool json_doc_overridden(const struct json_doc *doc, const char *path)
{
    const char *set;
    json_t *value;
    json_object_foreach(doc->overrides, set, value)
    {
        size_t length = strlen(set);
        if (strncmp(path, set, length) == 0 && (!path[length] || path[length] == '.' || path[length] == '['))
            return true;
    }
    return false;
}

struct json_place json_doc_place(const struct json_doc *doc, const char *path, bool at_key)
{
    struct json_place nowhere = {0, 0};
    if (!doc->root || json_doc_overridden(doc, path) || *path++ != '$')
        return nowhere;
    struct scan scan = {doc->text + json_mark_length(doc), doc->text + doc->length};
    skip_blanks(&scan);
    const char *place = scan.at;
    while (*path)
        if (!enter(&scan, &path, doc->repeats, &place))
            return nowhere;
    return json_place_at(doc, at_key ? place : scan.at);
}

/* An object or array that is open; seen: an object's keys -> byte of the first one. */
struct open_value {
    json_t *seen; /* NULL: an array */
    size_t index;
    char *key;
};

struct open_values {
    struct open_value *items;
    size_t count, capacity;
};

static void open_value(struct open_values *open, bool is_object)
{
    MEM_ADD(open->items, open->count, open->capacity) = (struct open_value){.seen = is_object ? json_object() : NULL};
}

static void close_value(struct open_values *open)
{
    struct open_value *last = &open->items[--open->count];
    json_decref(last->seen);
    free(last->key);
}

static char *path_of(const struct open_values *open)
{
    char *path = mem_strdup("$");
    for (size_t i = 0; i < open->count; i++) {
        AUTO_FREE char *above = path;
        path = open->items[i].seen ? json_path_key(above, open->items[i].key)
                                   : json_path_index(above, open->items[i].index);
    }
    return path;
}

/* The key at scan, of the object that was opened last. Gives the bytes that were kept for it. */
static size_t note_key(struct json_doc *doc, struct scan *scan, struct open_values *open)
{
    struct open_value *object = &open->items[open->count - 1];
    json_int_t at = scan->at - doc->text;
    free(object->key);
    object->key = take_key(scan);
    if (!object->key)
        return 0;
    const json_t *first = json_object_get(object->seen, object->key);
    if (!first) {
        json_object_set_new(object->seen, object->key, json_integer(at));
        return 0;
    }
    /* An object of the same path that came earlier, under a key that is repeated itself, does not count. */
    AUTO_FREE char *path = path_of(open);
    json_object_set_new(doc->repeats, path, json_pack("[I, I]", json_integer_value(first), at));
    return strlen(path);
}

bool json_find_repeats(struct json_doc *doc, struct err *err)
{
    enum { PATHS_MAX_BYTES = 64 << 20 };
    struct open_values open = {0};
    struct scan scan = {doc->text + json_mark_length(doc), doc->text + doc->length};
    size_t kept = 0;
    doc->repeats = json_object();
    while (scan.at < scan.end && kept <= PATHS_MAX_BYTES) {
        char c = *scan.at;
        bool in_object = open.count > 0 && open.items[open.count - 1].seen;
        if (c == '"') {
            skip_string(&scan);
            continue;
        }
        scan.at++;
        if (c == '{' || c == '[')
            open_value(&open, c == '{');
        else if ((c == '}' || c == ']') && open.count > 0)
            close_value(&open);
        else if (c == ',' && open.count > 0)
            open.items[open.count - 1].index++;
        skip_blanks(&scan);
        if ((c == '{' || (c == ',' && in_object)) && at_char(&scan, '"'))
            kept += note_key(doc, &scan, &open);
    }
    while (open.count > 0)
        close_value(&open);
    free(open.items);
    return kept <= PATHS_MAX_BYTES || err_set(err, "%s: too many keys are in their object twice", doc->file);
}

static struct json_place place_of_offset(const struct json_doc *doc, const json_t *places, size_t which)
{
    return json_place_at(doc, doc->text + json_integer_value(json_array_get(places, which)));
}

bool json_doc_repeated(const struct json_doc *doc, const char *path, struct json_place *first, struct json_place *last)
{
    const json_t *places = doc->repeats ? json_object_get(doc->repeats, path) : NULL;
    if (!places)
        return false;
    *first = place_of_offset(doc, places, 0);
    *last = place_of_offset(doc, places, 1);
    return true;
}

bool json_doc_refuse_repeats(const struct json_doc *doc, struct err *err)
{
    void *first = doc->repeats ? json_object_iter(doc->repeats) : NULL;
    if (!first)
        return true;
    const json_t *places = json_object_iter_value(first);
    struct json_place from = place_of_offset(doc, places, 0), to = place_of_offset(doc, places, 1);
    return err_set(err, "%s:%zu:%zu: the key of %s is in its object twice, at %zu:%zu already: keep one of them",
                   doc->file, to.line, to.column, json_object_iter_key(first), from.line, from.column);
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The last byte before this place that is not blank; 0: there is none. */
static char before(const char *text, size_t place)
{
    while (place > 0 && is_blank(text[place - 1]))
        place--;
    return place > 0 ? text[place - 1] : '\0';
}

static const char *hint_of_end(const char *text, size_t length)
{
    return before(text, length) ? "not everything that was opened by '{' or '[' is closed" : "it is empty";
}

static const char *hint_of_word(const char *word)
{
    static const char *const python[] = {"True", "False", "None", "TRUE", "FALSE", "NULL", "Null"};
    static const char *const no_number[] = {"NaN", "nan", "Infinity", "inf", "-Infinity", "-inf"};
    for (size_t i = 0; i < sizeof python / sizeof *python; i++)
        if (begins(word, python[i]))
            return "JSON writes true, false and null";
    for (size_t i = 0; i < sizeof no_number / sizeof *no_number; i++)
        if (begins(word, no_number[i]))
            return "JSON has no such number";
    return NULL;
}

const char *json_hint(const char *text, size_t length, const json_error_t *error)
{
    static const char near[] = "near '";
    const char *token = strstr(error->text, near);
    if (strstr(error->text, "near end of file"))
        return hint_of_end(text, length);
    if (!token || error->position < 1 || (size_t)error->position > length)
        return NULL;
    token += strlen(near);
    bool close_expected = begins(error->text, "'}' expected") || begins(error->text, "']' expected");
    switch (*token) {
    case '\'':
        return "strings and keys need double quotes";
    case '/':
    case '#':
        return "JSON has no comments; a key \"comment\" can hold one, and a file named .jsonc may have them";
    case '}':
    case ']':
        return before(text, (size_t)error->position - 1) == ',' ? "remove the comma before it" : NULL;
    case ':':
        return NULL;
    default:
        return close_expected ? "a comma is missing before it" : hint_of_word(token);
    }
}
