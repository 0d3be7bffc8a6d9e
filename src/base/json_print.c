#include "base/json_print.h"
#include "base/utf8.h"
#include "base/value.h"

#include <math.h>
#include <string.h>

#define COMPACT (-1)

static void print_string(const char *s, size_t length, struct text *out)
{
    text_add_char(out, '"');
    for (size_t i = 0; i < length; i++) {
        static const char plain[] = "\b\f\n\r\t\"\\";
        const char *found = s[i] ? strchr(plain, s[i]) : NULL;
        if (found) {
            text_add_char(out, '\\');
            text_add_char(out, "bfnrt\"\\"[found - plain]);
            continue;
        }
        /* What must be escaped, and what a terminal would obey: the value is the same. jansson's
         * strings are UTF-8. */
        struct utf8_step step = utf8_step(s + i, length - i);
        if (step.shown || step.code > 0xFFFF)
            text_add_bytes(out, s + i, step.length);
        else
            text_addf(out, "\\u%04x", (unsigned)step.code);
        i += step.length - 1;
    }
    text_add_char(out, '"');
}

static void print_real(double real, struct text *out)
{
    char written[32];
    number_shortest(real, written);
    text_add(out, isfinite(real) ? written : "null");
}

/* A new line at this depth; nothing when compact. */
static void print_break(int depth, struct text *out)
{
    if (depth == COMPACT)
        return;
    text_add_char(out, '\n');
    for (int i = 0; i < depth; i++)
        text_add(out, "  ");
}

static void print_value(const json_t *json, int depth, struct text *out);

static void print_array(const json_t *json, int depth, struct text *out)
{
    int inner = depth == COMPACT ? COMPACT : depth + 1;
    text_add_char(out, '[');
    for (size_t i = 0; i < json_array_size(json); i++) {
        if (i)
            text_add_char(out, ',');
        print_break(inner, out);
        print_value(json_array_get(json, i), inner, out);
    }
    if (json_array_size(json))
        print_break(depth, out);
    text_add_char(out, ']');
}

static void print_object(const json_t *json, int depth, struct text *out)
{
    int inner = depth == COMPACT ? COMPACT : depth + 1;
    /* jansson's iterators want it unconst, and do not change it */
    json_t *object = (json_t *)(uintptr_t)json;
    bool first = true;
    text_add_char(out, '{');
    for (void *i = json_object_iter(object); i; i = json_object_iter_next(object, i)) {
        if (!first)
            text_add_char(out, ',');
        first = false;
        print_break(inner, out);
        const char *key = json_object_iter_key(i);
        print_string(key, strlen(key), out);
        text_add(out, depth == COMPACT ? ":" : ": ");
        print_value(json_object_iter_value(i), inner, out);
    }
    if (!first)
        print_break(depth, out);
    text_add_char(out, '}');
}

static void print_value(const json_t *json, int depth, struct text *out)
{
    if (json_is_object(json))
        print_object(json, depth, out);
    else if (json_is_array(json))
        print_array(json, depth, out);
    else if (json_is_string(json))
        print_string(json_string_value(json), json_string_length(json), out);
    else if (json_is_integer(json))
        text_addf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(json));
    else if (json_is_real(json))
        print_real(json_real_value(json), out);
    else
        text_add(out, json_is_true(json) ? "true" : json_is_false(json) ? "false" : "null");
}

void json_print(const json_t *json, struct text *out)
{
    print_value(json, COMPACT, out);
}

void json_print_pretty(const json_t *json, struct text *out)
{
    print_value(json, 0, out);
    text_add_char(out, '\n');
}

void json_print_nested(const json_t *json, int depth, struct text *out)
{
    print_value(json, depth, out);
}

void json_print_taken(json_t *json, struct text *out)
{
    json_print_pretty(json, out);
    json_decref(json);
}
