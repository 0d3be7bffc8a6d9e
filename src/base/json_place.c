/* Paths to values, and a scan for the place of one. The text scanned is one that jansson accepted, so it is well
 * formed; every step is checked against the end all the same. */
#include "base/json_place.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/mem.h"

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

/* In the object at scan: moves to the value of key, and sets place to its key. */
static bool enter_key(struct scan *scan, const char *key, const char **place)
{
    if (!at_char(scan, '{'))
        return false;
    do {
        scan->at++;
        skip_blanks(scan);
        if (!at_char(scan, '"'))
            return false;
        const char *token = scan->at;
        skip_string(scan);
        AUTO_FREE char *name = decode_string(token, (size_t)(scan->at - token));
        skip_blanks(scan);
        if (!at_char(scan, ':'))
            return false;
        scan->at++;
        skip_blanks(scan);
        if (name && strcmp(name, key) == 0) {
            *place = token;
            return true;
        }
        skip_value(scan);
    } while (at_char(scan, ','));
    return false;
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
static bool enter(struct scan *scan, const char **path, const char **place)
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
    return name && enter_key(scan, name, place);
}

size_t json_mark_length(const struct json_doc *doc)
{
    return doc->length >= 3 && memcmp(doc->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

struct json_place json_place_at(const struct json_doc *doc, const char *at)
{
    struct json_place place = {1, 1};
    for (const char *c = doc->text + json_mark_length(doc); c < at; c++) {
        if (*c == '\n')
            place = (struct json_place){place.line + 1, 1};
        else if (((unsigned char)*c & 0xc0) != 0x80) /* not inside a character */
            place.column++;
    }
    return place;
}

struct json_place json_doc_place(const struct json_doc *doc, const char *path, bool at_key)
{
    struct json_place nowhere = {0, 0};
    if (!doc->root || *path++ != '$')
        return nowhere;
    struct scan scan = {doc->text + json_mark_length(doc), doc->text + doc->length};
    skip_blanks(&scan);
    const char *place = scan.at;
    while (*path)
        if (!enter(&scan, &path, &place))
            return nowhere;
    return json_place_at(doc, at_key ? place : scan.at);
}
