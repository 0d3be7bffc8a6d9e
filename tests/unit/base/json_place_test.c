#include "base/json_place.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"

#include <string.h>

static struct json_doc parse(const char *text)
{
    struct json_doc doc;
    struct err err = {0};
    if (!json_doc_parse("a.json", text, strlen(text), &doc, &err))
        fail_msg("%s", err.text);
    return doc;
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

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_repeated_key_the_last_value_counts_and_both_places_are_known),
        cmocka_unit_test(keys_that_are_no_identifiers_are_quoted_in_paths),
        cmocka_unit_test(what_is_not_there_has_no_place),
        cmocka_unit_test(escaped_keys_are_found_by_what_they_mean),
        cmocka_unit_test(a_byte_order_mark_is_skipped_and_counts_as_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
