#include "base/json_print.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

static struct json_doc parse(const char *text)
{
    struct json_doc doc;
    struct err err = {0};
    if (!json_doc_parse("a.json", text, strlen(text), &doc, &err))
        fail_msg("%s", err.text);
    return doc;
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

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_line_has_no_blanks_and_pretty_has_two_a_level),
        cmocka_unit_test(numbers_are_printed_in_shortest_form),
        cmocka_unit_test(nothing_is_printed_as_null),
        cmocka_unit_test(strings_are_escaped_where_json_or_a_terminal_demands_it),
        cmocka_unit_test(what_is_not_finite_is_null_and_keeps_its_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
