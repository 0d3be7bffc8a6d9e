/* Paths to values, and a scan for the place of one. The text scanned is one that jansson accepted,
 * so it is well formed; every step is checked against the end all the same. */
#include "base/json_place.h"
#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/json_print.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_key_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c && strchr("0123456789_-", c));
}

static char *quoted_step(const char *path, const char *key)
{
    AUTO_TEXT struct text out = {0};
    json_t *quoted = json_string_nocheck(key);
    text_addf(&out, "%s[", path);
    json_print(quoted, &out);
    text_add_char(&out, ']');
    json_decref(quoted);
    return text_take(&out);
}

char *json_path_key(const char *path, const char *key)
{
    size_t length = 0;
    while (is_key_char(key[length]))
        length++;
    return length && !key[length] ? mem_printf("%s.%s", path, key) : quoted_step(path, key);
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

static bool is_json_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_json_blanks(struct scan *scan)
{
    while (scan->at < scan->end && is_json_blank(*scan->at))
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

/* The bytes that a string in quotes stands for; NULL when it is none. The caller frees them. */
static char *decode_string(const char *token, size_t length)
{
    json_t *decoded = json_loadb(token, length, JSON_DECODE_ANY, NULL);
    char *bytes = mem_strdup(json_string_value(decoded));
    json_decref(decoded);
    return bytes;
}

/* Skips a key and its colon. Returns the decoded key, which the caller frees; NULL: no key. */
static char *read_object_key(struct scan *scan)
{
    skip_json_blanks(scan);
    if (!at_char(scan, '"'))
        return NULL;
    const char *token = scan->at;
    skip_string(scan);
    AUTO_FREE char *name = decode_string(token, (size_t)(scan->at - token));
    skip_json_blanks(scan);
    if (!at_char(scan, ':'))
        return NULL;
    scan->at++;
    skip_json_blanks(scan);
    return steal_ptr(name);
}

size_t json_mark_length(const struct json_doc *doc)
{
    return doc->length >= 3 && memcmp(doc->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

static struct scan scan_all(const struct json_doc *doc)
{
    return (struct scan){doc->text + json_mark_length(doc), doc->text + doc->length};
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
        if (strncmp(path, set, length) == 0 &&
            (!path[length] || path[length] == '.' || path[length] == '['))
            return true;
    }
    return false;
}

/* An object or array that is open. */
struct open_value {
    bool is_object;
    json_t *seen; /* an object's keys -> byte of the first one; NULL: nobody asks */
    size_t index;
    char *key;
    /* how the path that is looked for goes on from here; NULL: it leads elsewhere */
    const char *path;
    const char *next; /* and from the element that is being read */
};

/* A way through all values. */
struct walk {
    struct json_doc *doc;
    struct scan scan;
    struct open_value *items;
    size_t count;
    size_t kept;             /* bytes of paths, in doc->repeats */
    const char *key, *value; /* what was looked for: where it begins */
};

static void open_value(struct walk *walk, bool is_object, bool note, const char *path)
{
    if (walk->count)
        path = walk->items[walk->count - 1].next;
    MEM_ADD(walk->items, walk->count) = (struct open_value){
        .is_object = is_object, .seen = note && is_object ? json_object() : NULL, .path = path};
}

static void close_value(struct walk *walk)
{
    struct open_value *last = &walk->items[--walk->count];
    json_decref(last->seen);
    free(last->key);
}

/* Calls visit where each element and each key begins, until it says false. note: keys are to be
 * remembered. */
static void walk_all(struct walk *walk, bool note, const char *path,
                     bool (*visit)(struct walk *, struct open_value *))
{
    struct scan *scan = &walk->scan;
    bool more = true;
    while (more && scan->at < scan->end) {
        char c = *scan->at;
        if (c == '"') {
            skip_string(scan);
            continue;
        }
        scan->at++;
        if (c == '{' || c == '[')
            open_value(walk, c == '{', note, path);
        else if ((c == '}' || c == ']') && walk->count > 0)
            close_value(walk);
        else if (c == ',' && walk->count > 0)
            walk->items[walk->count - 1].index++;
        skip_json_blanks(scan);
        if (walk->count > 0 && strchr("{[,", c) && !at_char(scan, '}') && !at_char(scan, ']'))
            more = visit(walk, &walk->items[walk->count - 1]);
    }
    while (walk->count > 0)
        close_value(walk);
    free(walk->items);
}

/* The length of the path's next step if that leads to the element or key that begins here, else
 * 0. */
static size_t step_length(struct walk *walk, struct open_value *in)
{
    char *end;
    if (!in->is_object)
        return in->path[0] == '[' && ascii_is_digit(in->path[1]) &&
                       strtoull(in->path + 1, &end, 10) == in->index && *end == ']'
                   ? (size_t)(end + 1 - in->path)
                   : 0;
    AUTO_FREE char *key = read_object_key(&walk->scan);
    AUTO_FREE char *step = !key                 ? NULL
                           : in->path[0] == '[' ? quoted_step("", key)
                                                : json_path_key("", key);
    size_t length = step ? strlen(step) : 0;
    return length && strncmp(in->path, step, length) == 0 && !is_key_char(in->path[length]) ? length
                                                                                            : 0;
}

/* Of keys that are there twice the last one counts. */
static bool visit_place(struct walk *walk, struct open_value *in)
{
    const char *begin = walk->scan.at;
    size_t length = in->path ? step_length(walk, in) : 0;
    in->next = length ? in->path + length : NULL;
    if (!in->next)
        return true;
    bool found = *in->next == '\0';
    walk->key = found ? begin : NULL;
    walk->value = walk->scan.at;
    return !found || walk->doc->repeats;
}

struct json_place json_doc_place(const struct json_doc *doc, const char *path, bool at_key)
{
    struct json_place nowhere = {0, 0};
    if (!doc->root || json_doc_overridden(doc, path) || *path++ != '$')
        return nowhere;
    struct walk walk = {.doc = (struct json_doc *)(uintptr_t)doc, .scan = scan_all(doc)};
    skip_json_blanks(&walk.scan);
    if (!*path)
        walk.key = walk.value = walk.scan.at;
    else
        walk_all(&walk, false, path, visit_place);
    return walk.key ? json_place_at(doc, at_key ? walk.key : walk.value) : nowhere;
}

static char *format_walk_path(const struct walk *walk)
{
    char *path = mem_strdup("$");
    EACH (item, walk->items, walk->count) {
        AUTO_FREE char *above = path;
        path =
            item->is_object ? json_path_key(above, item->key) : json_path_index(above, item->index);
    }
    return path;
}

enum { PATHS_MAX_BYTES = 64 << 20 };

static bool visit_key(struct walk *walk, struct open_value *in)
{
    json_int_t at = walk->scan.at - walk->doc->text;
    if (!in->is_object)
        return true;
    free(in->key);
    in->key = read_object_key(&walk->scan);
    if (!in->key)
        return true;
    const json_t *first = json_object_get(in->seen, in->key);
    if (!first) {
        json_object_set_new(in->seen, in->key, json_integer(at));
        return true;
    }
    /* An object of the same path that came earlier, under a key that is repeated itself, does not
     * count. */
    AUTO_FREE char *path = format_walk_path(walk);
    json_object_set_new(walk->doc->repeats, path,
                        json_pack("[I, I]", json_integer_value(first), at));
    walk->kept += strlen(path);
    return walk->kept <= PATHS_MAX_BYTES;
}

bool json_find_repeats(struct json_doc *doc, struct err *err)
{
    struct walk walk = {.doc = doc, .scan = scan_all(doc)};
    doc->repeats = json_object();
    walk_all(&walk, true, NULL, visit_key);
    return walk.kept <= PATHS_MAX_BYTES ||
           err_set(err, "%s: too many keys are in their object twice", doc->file);
}

static struct json_place place_of_offset(const struct json_doc *doc, const json_t *places,
                                         size_t which)
{
    return json_place_at(doc, doc->text + json_integer_value(json_array_get(places, which)));
}

bool json_doc_repeated(const struct json_doc *doc, const char *path, struct json_place *first,
                       struct json_place *last)
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
    return err_set(
        err,
        "%s:%zu:%zu: the key of %s is in its object twice, at %zu:%zu already: keep one of them",
        doc->file, to.line, to.column, json_object_iter_key(first), from.line, from.column);
}

static bool word_begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The last byte before this place that is not blank; 0: there is none. */
static char before(const char *text, size_t place)
{
    while (place > 0 && is_json_blank(text[place - 1]))
        place--;
    return place > 0 ? text[place - 1] : '\0';
}

static const char *hint_of_end(const char *text, size_t length)
{
    return before(text, length) ? "not everything that was opened by '{' or '[' is closed"
                                : "it is empty";
}

static const char *hint_of_word(const char *word)
{
    static const char *const python[] = {"True", "False", "None", "TRUE", "FALSE", "NULL", "Null"};
    static const char *const no_number[] = {"NaN", "nan", "Infinity", "inf", "-Infinity", "-inf"};
    EACH_OF (item, python)
        if (word_begins_with(word, *item))
            return "JSON writes true, false and null";
    EACH_OF (entry, no_number)
        if (word_begins_with(word, *entry))
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
    bool close_expected = word_begins_with(error->text, "'}' expected") ||
                          word_begins_with(error->text, "']' expected");
    switch (*token) {
    case '\'':
        return "strings and keys need double quotes";
    case '/':
    case '#':
        return "JSON has no comments; a key \"comment\" can hold one, and a file named .jsonc may "
               "have them";
    case '}':
    case ']':
        return before(text, (size_t)error->position - 1) == ',' ? "remove the comma before it"
                                                                : NULL;
    case ':':
        return NULL;
    default:
        return close_expected ? "a comma is missing before it" : hint_of_word(token);
    }
}
