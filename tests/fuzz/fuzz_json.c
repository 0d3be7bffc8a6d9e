/* Any bytes read as JSON: every value has a place, and what is printed reads as the same
 * document. */
#include "base/cleanup.h"
#include "base/json_place.h"
#include "base/json_print.h"
#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_place(const struct json_doc *doc, const char *path, const json_t *value)
{
    struct json_place place = json_doc_place(doc, path, false);
    if (!place.line || !place.column)
        abort();
    /* The first byte at the place tells the kind of value. */
    const char *at = doc->text;
    if (doc->length >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
        at += 3;
    for (size_t line = 1; line < place.line; line++)
        at = strchr(at, '\n') + 1;
    for (size_t column = 1; column < place.column; column++)
        for (at++; ((unsigned char)*at & 0xc0) == 0x80; at++)
            ;
    static const char *const firsts[] = {
        [JSON_OBJECT] = "{",         [JSON_ARRAY] = "[", [JSON_STRING] = "\"",
        [JSON_TRUE] = "t",           [JSON_FALSE] = "f", [JSON_INTEGER] = "-0123456789",
        [JSON_REAL] = "-0123456789", [JSON_NULL] = "n",
    };
    if (!*at || !strchr(firsts[json_typeof(value)], *at))
        abort();
}

/* A scan from the start for each value is slow on purpose-made input: budget bounds it. */
static void check_places(const struct json_doc *doc, const char *path, json_t *value,
                         size_t *budget)
{
    if (*budget == 0)
        return;
    --*budget;
    check_place(doc, path, value);
    size_t i;
    json_t *item;
    const char *key;
    json_array_foreach(value, i, item)
    {
        AUTO_FREE char *longer = json_path_index(path, i);
        check_places(doc, longer, item, budget);
    }
    json_object_foreach(value, key, item)
    {
        AUTO_FREE char *longer = json_path_key(path, key);
        check_places(doc, longer, item, budget);
    }
}

static void check_print(json_t *root, void (*print)(const json_t *, struct text *))
{
    AUTO_TEXT struct text printed = {0};
    print(root, &printed);
    struct json_doc again;
    if (!json_doc_parse("again", printed.data, printed.length, &again, NULL) ||
        !json_equal(root, again.root))
        abort();
    json_doc_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_doc doc;
    struct err err;
    if (!json_doc_parse("input", (const char *)data, size, &doc, &err)) {
        if (strncmp(err.text, "input:", 6) != 0 || strpbrk(err.text, "\r\n"))
            abort();
        return 0;
    }
    size_t budget = 300;
    check_places(&doc, "$", doc.root, &budget);
    check_print(doc.root, json_print);
    check_print(doc.root, json_print_pretty);
    json_doc_fini(&doc);
    return 0;
}
