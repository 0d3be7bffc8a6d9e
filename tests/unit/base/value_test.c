#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/value.h"

#include <math.h>

static void assert_format(struct value value, const char *expected)
{
    AUTO_FREE char *written = value_format(&value);
    assert_string_equal(written, expected);
    value_fini(&value);
}

static void values_are_written_as_python_writes_them(void **state)
{
    (void)state;
    assert_format(value_int(0), "0");
    assert_format(value_int(-32), "-32");
    assert_format(value_int(INT64_MIN), "-9223372036854775808");
    assert_format(value_int(INT64_MAX), "9223372036854775807");
    assert_format(value_float(0), "0.0");
    assert_format(value_float(30), "30.0");
    assert_format(value_float(0.001), "0.001");
    assert_format(value_bool(true), "True");
    assert_format(value_bool(false), "False");
    assert_format(value_text("adam"), "adam");
    assert_format(value_text(""), "");
    assert_format((struct value){0}, "");
}

static void a_float_keeps_its_short_exponent(void **state)
{
    (void)state;
    assert_format(value_float(1e-7), "1e-7");
    assert_format(value_float(1e22), "1e22");
}

static void assert_parsed(const char *text, enum value_kind kind, int64_t integer, double real)
{
    struct value value = value_parse(text);
    assert_int_equal(value.kind, kind);
    if (kind == VALUE_INT)
        assert_true(value.integer == integer);
    if (kind == VALUE_FLOAT)
        assert_true(value.real == real);
    if (kind == VALUE_TEXT)
        assert_string_equal(value.text, text);
    value_fini(&value);
}

static void cells_become_numbers_when_they_are_numbers(void **state)
{
    (void)state;
    assert_parsed("32", VALUE_INT, 32, 0);
    assert_parsed("-1", VALUE_INT, -1, 0);
    assert_parsed("0", VALUE_INT, 0, 0);
    assert_parsed("-9223372036854775808", VALUE_INT, INT64_MIN, 0);
    assert_parsed("32.0", VALUE_FLOAT, 0, 32);
    assert_parsed("1e-07", VALUE_FLOAT, 0, 1e-7);
    assert_parsed("1e-7", VALUE_FLOAT, 0, 1e-7);
    assert_parsed("1e+16", VALUE_FLOAT, 0, 1e16);
    assert_parsed("-0.0", VALUE_FLOAT, 0, 0);
    assert_parsed("inf", VALUE_FLOAT, 0, INFINITY);
    assert_parsed("-inf", VALUE_FLOAT, 0, -INFINITY);
    assert_parsed("9223372036854775808", VALUE_FLOAT, 0, 9223372036854775808.0);
    struct value nan = value_parse("nan");
    assert_int_equal(nan.kind, VALUE_FLOAT);
    assert_true(isnan(nan.real));
}

static void other_cells_stay_text(void **state)
{
    (void)state;
    static const char *const cells[] = {"adam", "true", "FALSE", "None", "1.2.3", "007",
                                        "-007", "00.5", "-0",    "+5",   "1,5",   " 1",
                                        "1 ",   ".5",   "0x10",  "1e",   "-",     "1e999"};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        if (i == 8) /* Python's int() reads it, but no int is written so: a float zero */
            assert_parsed(cells[i], VALUE_FLOAT, 0, 0);
        else
            assert_parsed(cells[i], VALUE_TEXT, 0, 0);
    }
}

static void cells_become_truth_values_and_nothing(void **state)
{
    (void)state;
    assert_true(value_parse("True").truth);
    assert_int_equal(value_parse("True").kind, VALUE_BOOL);
    assert_false(value_parse("False").truth);
    assert_int_equal(value_parse("False").kind, VALUE_BOOL);
    assert_int_equal(value_parse("").kind, VALUE_NULL);
}

static void json_scalars_become_values_of_their_kind(void **state)
{
    (void)state;
    json_t *scalars = json_pack("[i, f, b, n, s]", 7, 0.5, 1, "relu");
    static const enum value_kind kinds[] = {VALUE_INT, VALUE_FLOAT, VALUE_BOOL, VALUE_NULL,
                                            VALUE_TEXT};
    static const char *const written[] = {"7", "0.5", "True", "", "relu"};
    for (size_t i = 0; i < 5; i++) {
        struct value value;
        assert_true(value_from_json(json_array_get(scalars, i), &value));
        assert_int_equal(value.kind, kinds[i]);
        AUTO_FREE char *text = value_format(&value);
        assert_string_equal(text, written[i]);
        json_t *back = value_to_json(&value);
        assert_true(json_equal(back, json_array_get(scalars, i)));
        json_decref(back);
        value_fini(&value);
    }
    json_decref(scalars);
}

static void arrays_and_objects_are_no_values(void **state)
{
    (void)state;
    struct value value;
    json_t *array = json_array();
    json_t *object = json_object();
    assert_false(value_from_json(array, &value));
    assert_false(value_from_json(object, &value));
    assert_false(value_from_json(NULL, &value));
    json_decref(array);
    json_decref(object);
}

/* null is what is absent. */
static void what_json_has_no_number_for_becomes_a_string(void **state)
{
    (void)state;
    const struct value values[] = {value_float(NAN), value_float(INFINITY), value_float(-INFINITY)};
    static const char *const written[] = {"nan", "inf", "-inf"};
    for (size_t i = 0; i < 3; i++) {
        json_t *json = value_to_json(&values[i]);
        assert_string_equal(json_string_value(json), written[i]);
        json_decref(json);
    }
}

static void bytes_that_json_cannot_hold_become_null(void **state)
{
    (void)state;
    struct value value = value_text("\xff");
    json_t *json = value_to_json(&value);
    assert_true(json_is_null(json));
    json_decref(json);
    value_fini(&value);
}

static void a_copy_is_one_s_own(void **state)
{
    (void)state;
    struct value text = value_text("sgd");
    struct value copy = value_copy(&text);
    value_fini(&text);
    assert_int_equal(text.kind, VALUE_NULL);
    assert_string_equal(copy.text, "sgd");
    value_fini(&copy);
}

static void assert_same(struct value one, struct value other, bool same)
{
    AUTO_FREE char *one_key = value_key(&one);
    AUTO_FREE char *other_key = value_key(&other);
    if (same)
        assert_string_equal(one_key, other_key);
    else
        assert_string_not_equal(one_key, other_key);
    value_fini(&one);
    value_fini(&other);
}

static void numbers_are_the_same_at_six_significant_digits(void **state)
{
    (void)state;
    assert_same(value_int(32), value_float(32), true);
    assert_same(value_float(0), value_float(-0.0), true);
    assert_same(value_int(0), value_float(-0.0), true);
    assert_same(value_float(0.1234561), value_float(0.1234564), true);
    assert_same(value_float(0.123456), value_float(0.123457), false);
    assert_same(value_float(0.1 + 0.2), value_float(0.3), true);
    assert_same(value_float(1e-7), value_float(1.000001e-7), true);
    assert_same(value_float(1e-7), value_float(1.00001e-7), false);
    assert_same(value_float(123456.2), value_float(123456.4), true);
    assert_same(value_int(1), value_int(-1), false);
}

static void integers_are_the_same_only_when_they_are_equal(void **state)
{
    (void)state;
    assert_same(value_int(20240101), value_int(20240102), false);
    assert_same(value_int(1234567), value_int(1234568), false);
    assert_same(value_int(-1000001), value_int(-1000002), false);
    assert_same(value_int((INT64_C(1) << 53) + 1), value_int(INT64_C(1) << 53), false);
    assert_same(value_int(INT64_MAX), value_int(INT64_MAX - 1), false);
    assert_same(value_int(INT64_MIN), value_int(INT64_MIN + 1), false);
    assert_same(value_int(INT64_MAX), value_int(INT64_MAX), true);
}

/* A column of integers with a gap is one of floats in pandas. */
static void an_integer_that_a_table_wrote_as_a_float_is_the_same(void **state)
{
    (void)state;
    assert_same(value_parse("20240101.0"), value_int(20240101), true);
    assert_same(value_parse("20240101.0"), value_int(20240102), false);
    assert_same(value_parse("9007199254740992.0"), value_int(INT64_C(1) << 53), true);
    assert_same(value_float(-0x1p62), value_int(-(INT64_C(1) << 62)), true);
    assert_same(value_float(0x1p63), value_int(INT64_MAX), false);
}

static void a_large_float_keeps_every_digit_in_front_of_the_point(void **state)
{
    (void)state;
    assert_same(value_float(1234567.1), value_float(1234567.4), true);
    assert_same(value_float(1234567.0), value_float(1234568.0), false);
    assert_same(value_float(999999.6), value_int(1000000), true);
    assert_same(value_float(1e300), value_float(1.0000001e300), false);
    assert_same(value_float(INFINITY), value_float(-INFINITY), false);
    assert_same(value_float(INFINITY), value_parse("inf"), true);
    assert_same(value_float(NAN), value_parse("nan"), true);
}

static void a_value_read_back_from_its_cell_is_the_same(void **state)
{
    (void)state;
    struct value values[] = {value_int(32),     value_float(0.1 + 0.2), value_float(1e-7),
                             value_float(2e22), value_bool(true),       value_text("adam"),
                             value_text("32"),  (struct value){0}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        AUTO_FREE char *cell = value_format(&values[i]);
        assert_same(value_parse(cell), value_copy(&values[i]), true);
        value_fini(&values[i]);
    }
}

static void kinds_that_are_written_apart_are_apart(void **state)
{
    (void)state;
    assert_same(value_bool(true), value_int(1), false);
    assert_same(value_text("adam"), value_text("Adam"), false);
    assert_same(value_text(""), value_text("x"), false);
    assert_same((struct value){0}, value_int(0), false);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_written_as_python_writes_them),
        cmocka_unit_test(a_float_keeps_its_short_exponent),
        cmocka_unit_test(cells_become_numbers_when_they_are_numbers),
        cmocka_unit_test(other_cells_stay_text),
        cmocka_unit_test(cells_become_truth_values_and_nothing),
        cmocka_unit_test(json_scalars_become_values_of_their_kind),
        cmocka_unit_test(arrays_and_objects_are_no_values),
        cmocka_unit_test(what_json_has_no_number_for_becomes_a_string),
        cmocka_unit_test(bytes_that_json_cannot_hold_become_null),
        cmocka_unit_test(a_copy_is_one_s_own),
        cmocka_unit_test(numbers_are_the_same_at_six_significant_digits),
        cmocka_unit_test(integers_are_the_same_only_when_they_are_equal),
        cmocka_unit_test(an_integer_that_a_table_wrote_as_a_float_is_the_same),
        cmocka_unit_test(a_large_float_keeps_every_digit_in_front_of_the_point),
        cmocka_unit_test(a_value_read_back_from_its_cell_is_the_same),
        cmocka_unit_test(kinds_that_are_written_apart_are_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
