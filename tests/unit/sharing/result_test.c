#include "sharing/result.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/mem.h"

#include <string.h>

/* ' for " */
static json_t *parse(const char *text)
{
    AUTO_FREE char *copy = mem_strdup(text);
    for (char *c = copy; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    json_t *json = json_loads(copy, JSON_DECODE_ANY, NULL);
    assert_non_null(json);
    return json;
}

static void only_succeeded_and_failed_have_ended(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool ended, succeeded;
    } rows[] = {{"{'tare': {'outcome': 'succeeded'}}", true, true},
                {"{'tare': {'outcome': 'failed'}}", true, false},
                {"{'tare': {'outcome': 'interrupted'}}", false, false},
                {"{'tare': {'outcome': null}}", false, false},
                {"{'outcome': 'succeeded'}", false, false},
                {"[]", false, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *json = parse(rows[i].text);
        assert_int_equal(result_ended(json), rows[i].ended);
        assert_int_equal(result_succeeded(json), rows[i].succeeded);
        json_decref(json);
    }
    assert_false(result_ended(NULL));
}

static void the_last_attempt_says_why(void **state)
{
    (void)state;
    json_t *json = parse("{'tare': {'attempts': [{'error': 'first'}, {'error': 'last'}]}}"),
           *none = parse("{'tare': {'attempts': []}}"),
           *silent = parse("{'tare': {'attempts': [{'error': 7}]}}");
    AUTO_FREE char *error = result_error(json);
    AUTO_FREE char *unknown = result_error(none);
    AUTO_FREE char *number = result_error(silent);
    assert_string_equal(error, "last");
    assert_string_equal(unknown, "it is not known why");
    assert_string_equal(number, "it is not known why");
    assert_null(result_attempt(none));
    json_decref(json);
    json_decref(none);
    json_decref(silent);
}

static void reasons_and_remedies_are_found_by_place_and_name(void **state)
{
    (void)state;
    json_t *oom = parse("{'reasons': ['a', 'b'], 'remedies': [{'name': 'x', 'what': 'do x'}, 5,"
                        " {'name': 'y', 'what': 'do y'}, {'name': 'y', 'what': 'again'}]}");
    assert_string_equal(result_oom_reason(oom), "a");
    assert_string_equal(result_remedy(oom, "y"), "do y");
    assert_null(result_remedy(oom, "z"));
    assert_null(result_remedy(NULL, "y"));
    assert_null(result_oom_reason(NULL));
    json_decref(oom);
}

static void of_a_run_alone_what_is_read_is_kept(void **state)
{
    (void)state;
    json_t
        *json = parse(
            "{'other': 1, 'tare': {'outcome': 'failed', 'failure': 'oom', 'parallel': {},"
            " 'energy': {'gpu': {'joules': 5}, 'cpu': {}},"
            " 'attempts': [{'number': 1}, {'number': 2, 'error': 'e', 'log': 'l', 'oom': {}}]}}"),
        *expected = parse("{'tare': {'outcome': 'failed', 'failure': 'oom',"
                          " 'energy': {'gpu': {'joules': 5}},"
                          " 'attempts': [{'number': 2, 'error': 'e', 'oom': {}}]}}"),
        *empty = parse("{}"), *nothing = parse("{'tare': {'energy': {}, 'attempts': []}}");
    json_t *alone = result_alone(json), *none = result_alone(empty);
    assert_true(json_equal(alone, expected));
    assert_true(json_equal(none, nothing));
    json_decref(json);
    json_decref(expected);
    json_decref(empty);
    json_decref(nothing);
    json_decref(alone);
    json_decref(none);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_succeeded_and_failed_have_ended),
        cmocka_unit_test(the_last_attempt_says_why),
        cmocka_unit_test(reasons_and_remedies_are_found_by_place_and_name),
        cmocka_unit_test(of_a_run_alone_what_is_read_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
