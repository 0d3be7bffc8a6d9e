#include "base/yaml.h"
#include "base/json_print.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum {
    DEEPEST = 100,
    MOST_NODES = 1 << 20,      /* with those that aliases repeat */
    MOST_JSON_BYTES = 64 << 20 /* in all */
};

/* A list or mapping that is open. */
struct level {
    bool is_mapping;
    bool key_next;
    size_t items;
    char *anchor;
    size_t from; /* byte of the JSON at which it begins */
    size_t first_mark;
};

/* What an anchor names: a finished piece of the JSON. */
struct anchor {
    size_t from, to, first_mark, end_mark;
};

struct reader {
    const char *file;
    struct text json;
    struct json_mark *marks;
    size_t mark_count;
    struct level levels[DEEPEST];
    size_t depth;
    struct anchor *anchors;
    size_t anchor_count;
    json_t *by_name; /* {name: index of the last anchor with that name} */
    struct err *err;
};

static bool refuse_at_mark(const struct reader *reader, const yaml_mark_t *at, const char *why)
{
    return err_set(reader->err, "%s:%zu:%zu: %s", reader->file, at->line + 1, at->column + 1, why);
}

static void add_mark(struct reader *reader, const yaml_mark_t *at)
{
    MEM_ADD(reader->marks, reader->mark_count) =
        (struct json_mark){reader->json.length, {at->line + 1, at->column + 1}};
}

static bool is_listed_word(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

static size_t leading_digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? written as JSON has it; false: it is none. */
static bool number_to_json(const char *text, struct text *out)
{
    const char *c = text + (*text == '-' || *text == '+');
    const char *zeros = c + strspn(c, "0");
    size_t whole = leading_digits(c), part = c[whole] == '.' ? leading_digits(c + whole + 1) : 0;
    if (whole + part == 0)
        return false;
    text_addf(out, "%s%s", *text == '-' ? "-" : "", leading_digits(zeros) ? "" : "0");
    text_addf(out, "%.*s", (int)leading_digits(zeros), zeros);
    c += whole;
    if (*c == '.')
        text_addf(out, ".%.*s%s", (int)part, c + 1, part ? "" : "0");
    c += *c == '.' ? 1 + part : 0;
    if (*c == 'e' || *c == 'E') {
        size_t sign = c[1] == '-' || c[1] == '+', power = leading_digits(c + 1 + sign);
        if (!power)
            return false;
        text_addf(out, "e%.*s", (int)(sign + power), c + 1);
        c += 1 + sign + power;
    }
    return !*c;
}

/* 0o17, 0x1f */
static bool radix_to_json(const char *text, struct text *out)
{
    const char *allowed = text[0] != '0'   ? ""
                          : text[1] == 'o' ? "01234567"
                          : text[1] == 'x' ? "0123456789abcdefABCDEF"
                                           : "";
    size_t count = *allowed ? strspn(text + 2, allowed) : 0;
    if (count == 0 || text[2 + count] || count > 15)
        return false;
    text_addf(out, "%llu", strtoull(text + 2, NULL, text[1] == 'o' ? 8 : 16));
    return true;
}

static bool string_to_json(const struct reader *reader, const yaml_mark_t *at, const char *text,
                           struct text *out)
{
    json_t *string = json_string(text);
    if (!string)
        return refuse_at_mark(reader, at, "a string that is not UTF-8");
    json_print(string, out);
    json_decref(string);
    return true;
}

static bool plain_to_json(const struct reader *reader, const yaml_mark_t *at, const char *text,
                          struct text *out)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", NULL};
    static const char *const falses[] = {"false", "False", "FALSE", NULL};
    static const char *const no_numbers[] = {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN", NULL};
    AUTO_TEXT struct text number = {0};
    if (is_listed_word(text, nulls))
        text_add(out, "null");
    else if (is_listed_word(text, trues))
        text_add(out, "true");
    else if (is_listed_word(text, falses))
        text_add(out, "false");
    else if (is_listed_word(text + (*text == '-' || *text == '+'), no_numbers))
        return refuse_at_mark(reader, at, "a number that is not finite has no meaning here");
    else if (radix_to_json(text, out))
        return true;
    else if (number_to_json(text, &number)) {
        json_t *read = json_loads(text_get(&number), JSON_DECODE_ANY, NULL);
        json_decref(read);
        if (!read)
            return refuse_at_mark(reader, at, "the number is too large");
        text_add(out, text_get(&number));
    } else {
        return string_to_json(reader, at, text, out);
    }
    return true;
}

/* What comes before a node: a comma, the key's colon, a line of its own. key: the node is a key. */
static bool begin_node(struct reader *reader, const yaml_mark_t *at, bool scalar, bool *key)
{
    *key = false;
    if (reader->mark_count >= MOST_NODES || reader->json.length > MOST_JSON_BYTES)
        return refuse_at_mark(
            reader, at,
            "too much of it: with what aliases repeat at most 1048576 values and 64 MiB");
    struct level *level = reader->depth ? &reader->levels[reader->depth - 1] : NULL;
    if (!level)
        return true;
    *key = level->is_mapping && level->key_next;
    if (*key && !scalar)
        return refuse_at_mark(reader, at, "a key must be a string");
    if (!level->is_mapping || *key) {
        text_add(&reader->json, level->items++ ? ",\n" : "\n");
        for (size_t i = 0; i < reader->depth; i++)
            text_add(&reader->json, "  ");
    }
    level->key_next = level->is_mapping && !*key;
    return true;
}

/* It names all from a byte of the JSON on; of two with one name the later counts. */
static void add_anchor(struct reader *reader, const char *name, size_t from, size_t first_mark)
{
    if (!name)
        return;
    json_object_set_new(reader->by_name, name, json_integer((json_int_t)reader->anchor_count));
    MEM_ADD(reader->anchors, reader->anchor_count) =
        (struct anchor){from, reader->json.length, first_mark, reader->mark_count};
}

static bool add_scalar(struct reader *reader, const yaml_event_t *event)
{
    const yaml_mark_t *at = &event->start_mark;
    const char *text = (const char *)event->data.scalar.value;
    bool key, plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (event->data.scalar.tag)
        return refuse_at_mark(
            reader, at, "tags (such as !!str) are not supported: quote what must be a string");
    if (strlen(text) != event->data.scalar.length)
        return refuse_at_mark(reader, at, "a NUL character");
    if (reader->depth == 0)
        return refuse_at_mark(
            reader, at, *text ? "expected keys and values, not a single value" : "it is empty");
    if (!begin_node(reader, at, true, &key))
        return false;
    if (key && plain && strcmp(text, "<<") == 0)
        return refuse_at_mark(
            reader, at,
            "merge keys (<<) are not part of YAML 1.2: write the keys, or use an alias "
            "for a whole value");
    size_t from = reader->json.length, first_mark = reader->mark_count;
    add_mark(reader, at);
    if (!(plain && !key ? plain_to_json : string_to_json)(reader, at, text, &reader->json))
        return false;
    add_anchor(reader, (const char *)event->data.scalar.anchor, from, first_mark);
    if (key)
        text_add(&reader->json, ": ");
    return true;
}

static bool open_level(struct reader *reader, const yaml_event_t *event, bool is_mapping,
                       const yaml_char_t *anchor, const yaml_char_t *tag)
{
    bool key;
    const yaml_mark_t *at = &event->start_mark;
    if (tag)
        return refuse_at_mark(reader, at, "tags (such as !!map) are not supported");
    if (reader->depth == DEEPEST)
        return refuse_at_mark(reader, at, "more than 100 levels deep");
    if (!begin_node(reader, at, false, &key))
        return false;
    reader->levels[reader->depth++] = (struct level){.is_mapping = is_mapping,
                                                     .key_next = is_mapping,
                                                     .anchor = mem_strdup((const char *)anchor),
                                                     .from = reader->json.length,
                                                     .first_mark = reader->mark_count};
    add_mark(reader, at);
    text_add_char(&reader->json, is_mapping ? '{' : '[');
    return true;
}

static void close_level(struct reader *reader)
{
    struct level *level = &reader->levels[--reader->depth];
    if (level->items) {
        text_add_char(&reader->json, '\n');
        for (size_t i = 0; i < reader->depth; i++)
            text_add(&reader->json, "  ");
    }
    text_add_char(&reader->json, level->is_mapping ? '}' : ']');
    add_anchor(reader, level->anchor, level->from, level->first_mark);
    free(steal_ptr(level->anchor));
}

/* The piece again. What is in it keeps its places. */
static bool add_alias(struct reader *reader, const yaml_event_t *event)
{
    const yaml_mark_t *at = &event->start_mark;
    const char *name = (const char *)event->data.alias.anchor;
    const json_t *index = json_object_get(reader->by_name, name);
    if (!index || !reader->anchors)
        return refuse_at_mark(reader, at, "this alias has no anchor that is complete before it");
    const struct anchor piece = reader->anchors[json_integer_value(index)];
    bool key;
    if (!begin_node(reader, at, reader->json.data[piece.from] == '"', &key))
        return false;
    size_t to = reader->json.length, length = piece.to - piece.from,
           nodes = piece.end_mark - piece.first_mark;
    if (reader->mark_count + nodes > MOST_NODES || to + length > MOST_JSON_BYTES)
        return refuse_at_mark(
            reader, at,
            "too much of it: with what aliases repeat at most 1048576 values and 64 MiB");
    add_mark(reader, at);
    for (size_t k = piece.first_mark + 1; k < piece.end_mark; k++) {
        reader->marks = mem_room(reader->marks, reader->mark_count, sizeof *reader->marks);
        struct json_mark mark = reader->marks[k];
        mark.offset += to - piece.from;
        reader->marks[reader->mark_count++] = mark;
    }
    AUTO_FREE char *copy = mem_strndup(reader->json.data + piece.from, length);
    text_add_bytes(&reader->json, copy, length);
    if (key)
        text_add(&reader->json, ": ");
    return true;
}

static bool handle_yaml_event(struct reader *reader, const yaml_event_t *event, size_t *documents)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (++*documents > 1)
            return refuse_at_mark(reader, &event->start_mark,
                                  "a second document: one file holds one");
        return true;
    case YAML_SCALAR_EVENT:
        return add_scalar(reader, event);
    case YAML_ALIAS_EVENT:
        return add_alias(reader, event);
    case YAML_SEQUENCE_START_EVENT:
        return open_level(reader, event, false, event->data.sequence_start.anchor,
                          event->data.sequence_start.tag);
    case YAML_MAPPING_START_EVENT:
        return open_level(reader, event, true, event->data.mapping_start.anchor,
                          event->data.mapping_start.tag);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        close_level(reader);
        return true;
    default:
        return true;
    }
}

static bool refuse_syntax(const struct reader *reader, const yaml_parser_t *parser)
{
    AUTO_FREE char *what = utf8_line(parser->problem ? parser->problem : "it cannot be read");
    if (parser->error == YAML_READER_ERROR || parser->error == YAML_MEMORY_ERROR)
        return err_set(reader->err, "%s:1:1: no YAML: %s (at byte %zu)", reader->file, what,
                       parser->problem_offset);
    bool tab = strstr(what, "cannot start any token") != NULL;
    AUTO_FREE char *why = mem_printf(
        "%s%s%s%s", what, parser->context ? ", " : "", parser->context ? parser->context : "",
        tab ? " (YAML is indented by spaces, not tabs, and @ ` % need quotes)" : "");
    return refuse_at_mark(reader, &parser->problem_mark, why);
}

static bool read_yaml_documents(struct reader *reader, const char *text, size_t length)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return err_set(reader->err, "%s: no memory", reader->file);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
    bool good = true, ended = false;
    size_t documents = 0;
    while (good && !ended) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            good = refuse_syntax(reader, &parser);
            break;
        }
        ended = event.type == YAML_STREAM_END_EVENT;
        good = handle_yaml_event(reader, &event, &documents);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return good && (documents > 0 || refuse_at_mark(reader, &(yaml_mark_t){0}, "it is empty"));
}

bool yaml_to_json(const char *file, const char *text, size_t length, struct text *json,
                  struct json_mark **marks, size_t *mark_count, struct err *err)
{
    struct reader reader = {.file = file, .by_name = json_object(), .err = err};
    bool good = read_yaml_documents(&reader, text, length);
    EACH (level, reader.levels, reader.depth)
        free(level->anchor);
    json_decref(reader.by_name);
    free(reader.anchors);
    if (good) {
        text_add_char(&reader.json, '\n');
        *json = reader.json;
        *marks = reader.marks;
        *mark_count = reader.mark_count;
        return true;
    }
    text_fini(&reader.json);
    free(reader.marks);
    return false;
}
