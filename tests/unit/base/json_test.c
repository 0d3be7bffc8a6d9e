#include "base/json_place.h"
#include "base/json_print.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
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

/* The places are counted by hand. */
static void of_a_repeated_key_the_last_value_counts_and_both_places_are_known(void **state)
{
    (void)state;
    struct json_doc doc = parse("{\"a\": [0, {\"b c\": 1,\n \"x\": {\"b c\": 0},\n \"b c\": "
                                "2}],\n\"d\": 3, \"\\u0061\": [4]}");
    struct json_place first, last, at;
    assert_int_equal(json_integer_value(json_array_get(json_object_get(doc.root, "a"), 0)), 4);
    assert_true(json_doc_repeated(&doc, "$.a[1][\"b c\"]", &first, &last));
    assert_int_equal(first.line, 1);
    assert_int_equal(first.column, 12);
    assert_int_equal(last.line, 3);
    assert_int_equal(last.column, 2);
    assert_true(json_doc_repeated(&doc, "$.a", &first, &last));
    assert_int_equal(first.line, 1);
    assert_int_equal(first.column, 2);
    assert_int_equal(last.line, 4);
    assert_int_equal(last.column, 9);
    at = json_doc_place(&doc, "$.a[0]", false);
    assert_int_equal(at.line, 4);
    assert_int_equal(at.column, 20);
    assert_false(json_doc_repeated(&doc, "$.d", &first, &last));
    assert_false(json_doc_repeated(&doc, "$.a[1].x[\"b c\"]", &first, &last));
    struct err err = {0};
    assert_false(json_doc_refuse_repeats(&doc, &err));
    assert_string_equal(err.text, "a.json:3:2: the key of $.a[1][\"b c\"] is in its object twice, "
                                  "at 1:12 already: keep one of them");
    json_doc_fini(&doc);
    doc = parse("[{\"a\": 1}, {\"a\": {\"a\": 2}}]");
    assert_true(json_doc_refuse_repeats(&doc, &err));
    assert_false(json_doc_repeated(&doc, "$[0].a", &first, &last));
    json_doc_fini(&doc);
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

static void keys_that_are_no_identifiers_are_quoted_in_paths(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"epochs", "$.epochs"},
        {"weight-decay_2", "$.weight-decay_2"},
        {"3d", "$.3d"},
        {"a b", "$[\"a b\"]"},
        {"", "$[\"\"]"},
        {"a.b", "$[\"a.b\"]"},
        {"a\"b", "$[\"a\\\"b\"]"},
        {"\xc3\xa9", "$[\"\xc3\xa9\"]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_FREE char *path = json_path_key("$", rows[i][0]);
        assert_string_equal(path, rows[i][1]);
    }
    AUTO_FREE char *indexed = json_path_index("$.experiments", 3);
    AUTO_FREE char *deeper = json_path_key(indexed, "repo");
    assert_string_equal(indexed, "$.experiments[3]");
    assert_string_equal(deeper, "$.experiments[3].repo");
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

static void what_is_not_there_has_no_place(void **state)
{
    (void)state;
    struct json_doc doc = parse("{\"a\": [1, \"]\"], \"b\": {}, \"c\": []}");
    static const char *const paths[] = {"",
                                        "x",
                                        "$.d",
                                        "$.a[2]",
                                        "$.a.b",
                                        "$.b[0]",
                                        "$.b.x",
                                        "$.c[0]",
                                        "$.a[",
                                        "$.a[]",
                                        "$.a[1",
                                        "$.",
                                        "$a",
                                        "$[\"a\"",
                                        "$[\"a]",
                                        "$.a[0].x",
                                        "$[99999999999999999999999]",
                                        "$.a[-1]",
                                        "$[\"\\q\"]"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_place(&doc, paths[i], false, 0, 0);
    json_doc_fini(&doc);
    assert_place(&doc, "$", false, 0, 0);
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

static void escaped_keys_are_found_by_what_they_mean(void **state)
{
    (void)state;
    /* {"A\"\\": 1, "tab\tend": [2], "é": 3, "": 4, "q": "\"],}", "z": 5} with A, é and the tab
     * written as escapes */
    struct json_doc doc = parse("{\"\\u0041\\\"\\\\\": 1, \"tab\\tend\": [2],\n"
                                "\"\\u00e9\": 3, \"\": 4, \"q\": \"\\\"],}\", \"z\": 5}");
    AUTO_FREE char *quoted = json_path_key("$", "A\"\\");
    AUTO_FREE char *tab = json_path_key("$", "tab\tend");
    AUTO_FREE char *first = json_path_index(tab, 0);
    AUTO_FREE char *accent = json_path_key("$", "\xc3\xa9");
    AUTO_FREE char *empty = json_path_key("$", "");
    assert_place(&doc, quoted, true, 1, 2);
    assert_place(&doc, quoted, false, 1, 16);
    assert_place(&doc, tab, true, 1, 19);
    assert_place(&doc, first, false, 1, 32);
    assert_place(&doc, accent, false, 2, 11);
    assert_place(&doc, empty, true, 2, 14);
    assert_place(&doc, "$.z", true, 2, 35);
    assert_place(&doc, "$.z", false, 2, 40);
    json_doc_fini(&doc);
}

static void a_byte_order_mark_is_skipped_and_counts_as_nothing(void **state)
{
    (void)state;
    struct json_doc doc = parse("\xef\xbb\xbf{\"a\":\r\n 1}");
    assert_place(&doc, "$", false, 1, 1);
    assert_place(&doc, "$.a", true, 1, 2);
    assert_place(&doc, "$.a", false, 2, 2);
    assert_int_equal(doc.length, 13);
    json_doc_fini(&doc);
}

static void assert_printed(const char *json, const char *compact, const char *pretty)
{
    struct json_doc doc = parse(json);
    AUTO_TEXT struct text out = {0};
    json_print(doc.root, &out);
    assert_string_equal(text_get(&out), compact);
    text_clear(&out);
    json_print_pretty(doc.root, &out);
    assert_string_equal(text_get(&out), pretty);
    json_doc_fini(&doc);
}

static void one_line_has_no_blanks_and_pretty_has_two_a_level(void **state)
{
    (void)state;
    assert_printed("{ \"z\" : [1, 2.0, {} , []], \"a\": {\"t\": true, \"f\": false, \"n\": null} }",
                   "{\"z\":[1,2.0,{},[]],\"a\":{\"t\":true,\"f\":false,\"n\":null}}",
                   "{\n"
                   "  \"z\": [\n"
                   "    1,\n"
                   "    2.0,\n"
                   "    {},\n"
                   "    []\n"
                   "  ],\n"
                   "  \"a\": {\n"
                   "    \"t\": true,\n"
                   "    \"f\": false,\n"
                   "    \"n\": null\n"
                   "  }\n"
                   "}\n");
    assert_printed("[]", "[]", "[]\n");
    assert_printed("{}", "{}", "{}\n");
}

static void numbers_are_printed_in_shortest_form(void **state)
{
    (void)state;
    json_t *numbers = json_pack("[f, f, f, f, I, I]", 0.1, 1e-7, 30.0, 1e22, INT64_MIN, INT64_MAX);
    AUTO_TEXT struct text out = {0};
    json_print(numbers, &out);
    assert_string_equal(text_get(&out),
                        "[0.1,1e-7,30.0,1e22,-9223372036854775808,9223372036854775807]");
    json_decref(numbers);
}

/* jansson refuses to make or set a real that is none; nothing at all is null as well. */
static void nothing_is_printed_as_null(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    json_print(NULL, &out);
    assert_string_equal(text_get(&out), "null");
}

static void strings_are_escaped_where_json_or_a_terminal_demands_it(void **state)
{
    (void)state;
    json_t *string =
        json_stringn("q\" b\\ \b\f\n\r\t \x01\x1f\x7f / \xc3\xa9 \xf0\x9f\x98\x80 \0.", 28);
    assert_non_null(string);
    AUTO_TEXT struct text out = {0};
    json_print(string, &out);
    assert_string_equal(text_get(&out),
                        "\"q\\\" b\\\\ \\b\\f\\n\\r\\t \\u0001\\u001f\\u007f / \xc3\xa9 "
                        "\xf0\x9f\x98\x80 \\u0000.\"");
    json_decref(string);
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

static void what_is_not_finite_is_null_and_keeps_its_key(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    json_t *object = json_object();
    json_object_set_new(object, "none", json_finite(NAN));
    json_object_set_new(object, "over", json_finite(INFINITY));
    json_object_set_new(object, "under", json_finite(-INFINITY));
    json_object_set_new(object, "some", json_finite(0.25));
    json_object_set_new(object, "whole", json_finite(-3));
    json_print(object, &out);
    assert_string_equal(
        text_get(&out),
        "{\"none\":null,\"over\":null,\"under\":null,\"some\":0.25,\"whole\":-3.0}");
    json_decref(object);
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
        cmocka_unit_test(of_a_repeated_key_the_last_value_counts_and_both_places_are_known),
        cmocka_unit_test(the_usual_slips_are_named),
        cmocka_unit_test(a_nul_is_refused_where_it_stands),
        cmocka_unit_test(nesting_has_an_end),
        cmocka_unit_test(a_file_is_read_up_to_its_limit),
        cmocka_unit_test(keys_that_are_no_identifiers_are_quoted_in_paths),
        cmocka_unit_test(values_and_keys_are_found_through_arrays_and_objects),
        cmocka_unit_test(what_is_not_there_has_no_place),
        cmocka_unit_test(columns_count_characters_not_bytes),
        cmocka_unit_test(escaped_keys_are_found_by_what_they_mean),
        cmocka_unit_test(a_byte_order_mark_is_skipped_and_counts_as_nothing),
        cmocka_unit_test(one_line_has_no_blanks_and_pretty_has_two_a_level),
        cmocka_unit_test(numbers_are_printed_in_shortest_form),
        cmocka_unit_test(nothing_is_printed_as_null),
        cmocka_unit_test(strings_are_escaped_where_json_or_a_terminal_demands_it),
        cmocka_unit_test(members_are_given_only_in_their_own_kind),
        cmocka_unit_test(null_counts_as_not_there),
        cmocka_unit_test(a_text_that_json_cannot_hold_is_null),
        cmocka_unit_test(what_is_not_finite_is_null_and_keeps_its_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
