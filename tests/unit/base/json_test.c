#include "base/json_place.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct json_doc parse(const char *text)
{
    struct json_doc doc;
    struct err err = {0};
    if (!json_doc_parse("a.json", text, strlen(text), &doc, &err))
        fail_msg("%s", err.text);
    return doc;
}

static void assert_error(const char *text, size_t length, const char *expected)
{
    struct json_doc doc;
    struct err err = {0};
    assert_false(json_doc_parse("a.json", text, length, &doc, &err));
    assert_memory_equal(err.text, expected, strlen(expected));
    assert_null(doc.root);
    assert_null(strchr(err.text, '\n'));
}

static void a_document_keeps_its_name_and_its_bytes(void **state)
{
    (void)state;
    char text[] = "{\"a\": [1]}\n";
    struct json_doc doc = parse(text);
    memset(text, 'x', sizeof text - 1);
    assert_string_equal(doc.file, "a.json");
    assert_string_equal(doc.text, "{\"a\": [1]}\n");
    assert_int_equal(doc.length, 11);
    assert_int_equal(json_array_size(json_object_get(doc.root, "a")), 1);
    json_doc_fini(&doc);
    assert_null(doc.text);
    json_doc_fini(&doc);
}

static void mistakes_are_told_with_file_line_and_column(void **state)
{
    (void)state;
    assert_error("{\"a\": 1,\n  b\n", 13, "a.json:2:3: ");
    assert_error("", 0, "a.json:1:1: ");
    assert_error("[1, 2", 5, "a.json:1:5: ");
    assert_error("[\"a\nb\"]", 7, "a.json:1:3: ");
    assert_error("[1e999]", 7, "a.json:1:6: real number overflow");
    assert_error("[NaN]", 5, "a.json:1:4: ");
}

static void assert_hint(const char *text, const char *hint)
{
    struct json_doc doc;
    struct err err = {0};
    assert_false(json_doc_parse("a.json", text, strlen(text), &doc, &err));
    const char *end = err.text + strlen(err.text) - strlen(hint);
    if (strlen(hint) > strlen(err.text) || strcmp(end, hint) != 0)
        fail_msg("%s: no hint '%s' at its end", err.text, hint);
}

static void the_usual_slips_are_named(void **state)
{
    (void)state;
    assert_hint("{\"a\": 1, }", " near '}': remove the comma before it");
    assert_hint("{\"a\": [1, 2,\n\n]}", " near ']': remove the comma before it");
    assert_hint("{'a': 1}", ": strings and keys need double quotes");
    assert_hint("{\"a\": 'b'}", ": strings and keys need double quotes");
    assert_hint("{\n  // why\n  \"a\": 1}", ": JSON has no comments; a key \"comment\" can hold "
                                            "one, and a file named .jsonc may have them");
    assert_hint("# why\n{\"a\": 1}", ": JSON has no comments; a key \"comment\" can hold one, and "
                                     "a file named .jsonc may have them");
    assert_hint("{\"a\": 1\n \"b\": 2}", " near '\"b\"': a comma is missing before it");
    assert_hint("[1 2]", " near '2': a comma is missing before it");
    assert_hint("[{} {}]", " near '{': a comma is missing before it");
    assert_hint("{\"a\": True}", ": JSON writes true, false and null");
    assert_hint("[None]", ": JSON writes true, false and null");
    assert_hint("[NaN]", ": JSON has no such number");
    assert_hint("", ": it is empty");
    assert_hint(" \n", ": it is empty");
    assert_hint("{\"a\": [1, 2]", ": not everything that was opened by '{' or '[' is closed");
    /* Nothing that would mislead. */
    assert_hint("{\"a\": [1}", "']' expected near '}'");
    assert_hint("[\"a\": 1]", "']' expected near ':'");
    assert_hint("{\"a\" 1}", "':' expected near '1'");
}

static void a_nul_is_refused_where_it_stands(void **state)
{
    (void)state;
    assert_error("[1,\n\xc3\xa9\0]", 8, "a.json:2:2: a NUL byte");
    assert_error("[1\0]", 4, "a.json:1:3: a NUL byte");
}

static void nesting_has_an_end(void **state)
{
    (void)state;
    AUTO_FREE char *deep = mem_alloc(200001);
    memset(deep, '[', 100000);
    memset(deep + 100000, ']', 100000);
    assert_error(deep, 200000, "a.json:1:");
}

/* A temporary file with these bytes; the caller removes and frees its name. */
static char *make_file(const char *bytes)
{
    const char *base = getenv("TMPDIR");
    char *path = mem_printf("%s/base-json-XXXXXX", base && *base ? base : "/tmp");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, strlen(bytes)), strlen(bytes));
    close(fd);
    return path;
}

static void a_file_is_read_up_to_its_limit(void **state)
{
    (void)state;
    struct json_doc doc;
    struct err err = {0};
    AUTO_FREE char *path = make_file("{\"runs\": 3}");
    assert_true(json_doc_read(path, 11, &doc, &err));
    assert_string_equal(doc.file, path);
    assert_int_equal(json_integer_value(json_object_get(doc.root, "runs")), 3);
    json_doc_fini(&doc);
    assert_false(json_doc_read(path, 10, &doc, &err));
    assert_int_equal(err.code, EFBIG);
    json_doc_fini(&doc);
    unlink(path);
    AUTO_FREE char *expected = mem_printf("open %s: No such file or directory", path);
    assert_false(json_doc_read(path, 10, &doc, &err));
    assert_string_equal(err.text, expected);
    json_doc_fini(&doc);
}

static void assert_place(const struct json_doc *doc, const char *path, bool at_key, size_t line,
                         size_t column)
{
    struct json_place place = json_doc_place(doc, path, at_key);
    if (place.line != line || place.column != column)
        fail_msg("%s%s: %zu:%zu, not %zu:%zu", path, at_key ? " (key)" : "", place.line,
                 place.column, line, column);
}

/* Columns counted by hand:
 *            1         2         3
 *   123456789012345678901234567890
 * 1 {
 * 2   "experiments": [
 * 3     {"repo": "alpha", "n": [1, [2, {"x": null}]]},
 * 4     {}, true
 * 5   ], "tail" : -0.5
 * 6 } */
static void values_and_keys_are_found_through_arrays_and_objects(void **state)
{
    (void)state;
    struct json_doc doc = parse("{\n"
                                "  \"experiments\": [\n"
                                "    {\"repo\": \"alpha\", \"n\": [1, [2, {\"x\": null}]]},\n"
                                "    {}, true\n"
                                "  ], \"tail\" : -0.5\n"
                                "}\n");
    assert_place(&doc, "$", false, 1, 1);
    assert_place(&doc, "$", true, 1, 1);
    assert_place(&doc, "$.experiments", false, 2, 18);
    assert_place(&doc, "$.experiments", true, 2, 3);
    assert_place(&doc, "$.experiments[0]", false, 3, 5);
    assert_place(&doc, "$.experiments[0]", true, 3, 5);
    assert_place(&doc, "$.experiments[0].repo", false, 3, 14);
    assert_place(&doc, "$.experiments[0].repo", true, 3, 6);
    assert_place(&doc, "$.experiments[0].n[0]", false, 3, 29);
    assert_place(&doc, "$.experiments[0].n[1][1].x", false, 3, 42);
    assert_place(&doc, "$.experiments[0].n[1][1].x", true, 3, 37);
    assert_place(&doc, "$.experiments[1]", false, 4, 5);
    assert_place(&doc, "$.experiments[2]", false, 4, 9);
    assert_place(&doc, "$.tail", false, 5, 15);
    assert_place(&doc, "$[\"tail\"]", true, 5, 6);
    json_doc_fini(&doc);
}

/* 1 {"é€😀": "ü", "x": 1,     the key has 3 characters in 9 bytes
 * 2  "ü": [ "😀", 2 ]} */
static void columns_count_characters_not_bytes(void **state)
{
    (void)state;
    struct json_doc doc =
        parse("{\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\": \"\xc3\xbc\", \"x\": 1,\n"
              " \"\xc3\xbc\": [ \"\xf0\x9f\x98\x80\", 2 ]}");
    assert_place(&doc, "$[\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"]", false, 1, 9);
    assert_place(&doc, "$.x", true, 1, 14);
    assert_place(&doc, "$.x", false, 1, 19);
    assert_place(&doc, "$[\"\xc3\xbc\"][0]", false, 2, 9);
    assert_place(&doc, "$[\"\xc3\xbc\"][1]", false, 2, 14);
    json_doc_fini(&doc);
}

static void members_are_given_only_in_their_own_kind(void **state)
{
    (void)state;
    struct json_doc doc =
        parse("{\"text\": \"x\", \"int\": 7, \"real\": 0.5, \"null\": null, \"true\": true}");
    json_int_t integer = -1;
    double number = -1;
    assert_string_equal(json_get_text(doc.root, "text"), "x");
    assert_null(json_get_text(doc.root, "int"));
    assert_null(json_get_text(doc.root, "absent"));
    assert_null(json_get_text(NULL, "text"));
    assert_true(json_get_int(doc.root, "int", &integer));
    assert_int_equal(integer, 7);
    assert_false(json_get_int(doc.root, "real", &integer));
    assert_false(json_get_int(doc.root, "true", &integer));
    assert_false(json_get_int(doc.root, "absent", &integer));
    assert_int_equal(integer, 7);
    assert_true(json_get_number(doc.root, "int", &number));
    assert_true(number == 7);
    assert_true(json_get_number(doc.root, "real", &number));
    assert_true(number == 0.5);
    assert_false(json_get_number(doc.root, "null", &number));
    assert_false(json_get_number(doc.root, "text", &number));
    assert_true(number == 0.5);
    json_doc_fini(&doc);
}

static void null_counts_as_not_there(void **state)
{
    (void)state;
    struct json_doc doc = parse("{\"a\": null, \"b\": 0, \"c\": false}");
    assert_null(json_get(doc.root, "a"));
    assert_null(json_get(doc.root, "d"));
    assert_int_equal(json_integer_value(json_get(doc.root, "b")), 0);
    assert_true(json_is_false(json_get(doc.root, "c")));
    json_doc_fini(&doc);
}

static void a_text_that_json_cannot_hold_is_null(void **state)
{
    (void)state;
    json_t *texts[] = {json_text_or_null("\xc3\xa9"), json_text_or_null(NULL),
                       json_text_or_null("\xff/run")};
    assert_string_equal(json_string_value(texts[0]), "\xc3\xa9");
    assert_true(json_is_null(texts[1]));
    assert_true(json_is_null(texts[2]));
    json_decref(texts[0]);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_document_keeps_its_name_and_its_bytes),
        cmocka_unit_test(mistakes_are_told_with_file_line_and_column),
        cmocka_unit_test(the_usual_slips_are_named),
        cmocka_unit_test(a_nul_is_refused_where_it_stands),
        cmocka_unit_test(nesting_has_an_end),
        cmocka_unit_test(a_file_is_read_up_to_its_limit),
        cmocka_unit_test(values_and_keys_are_found_through_arrays_and_objects),
        cmocka_unit_test(columns_count_characters_not_bytes),
        cmocka_unit_test(members_are_given_only_in_their_own_kind),
        cmocka_unit_test(null_counts_as_not_there),
        cmocka_unit_test(a_text_that_json_cannot_hold_is_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
