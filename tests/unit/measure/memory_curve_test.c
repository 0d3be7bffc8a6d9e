/* The curve of memory over time stays bounded and loses no peak. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "measure/memory_curve.h"

#include <math.h>

static void each_second_has_its_highest_value(void **state)
{
    (void)state;
    struct memory_curve curve = {0};
    memory_curve_add(&curve, 0.2, 100);
    memory_curve_add(&curve, 0.9, 300);
    memory_curve_add(&curve, 0.95, 200);
    memory_curve_add(&curve, 3.0, 50);
    assert_int_equal(curve.count, 4);
    assert_float_equal(curve.step_s, 1, 0);
    assert_float_equal(curve.points[0], 300, 0);
    assert_true(curve.points[1] < 0 && curve.points[2] < 0);
    assert_float_equal(curve.points[3], 50, 0);
    assert_float_equal(curve.peak_bytes, 300, 0);
}

/* A week: 604800 s. 512 points of 2048 s are 1048576 s, of 1024 s only 524288 s. */
static void a_week_fits_and_its_one_peak_is_kept_in_its_place(void **state)
{
    (void)state;
    struct memory_curve curve = {0};
    for (int t = 0; t < 604800; t++)
        memory_curve_add(&curve, t, t == 300000 ? 9e9 : 1e9);
    assert_float_equal(curve.step_s, 2048, 0);
    assert_int_equal(curve.count, 604799 / 2048 + 1);
    assert_true(curve.peak_bytes == 9e9);
    for (size_t i = 0; i < curve.count; i++)
        assert_true(curve.points[i] == (i == 300000 / 2048 ? 9e9 : 1e9));
}

static void what_is_no_reading_is_left_out(void **state)
{
    (void)state;
    struct memory_curve curve = {0};
    json_t *none = memory_curve_json(&curve);
    assert_true(json_is_null(none));
    json_decref(none);
    memory_curve_add(&curve, -1, 5);
    memory_curve_add(&curve, NAN, 5);
    memory_curve_add(&curve, 1e12, 5);
    memory_curve_add(&curve, 1, NAN);
    memory_curve_add(&curve, 1, INFINITY);
    memory_curve_add(&curve, 1, -1);
    assert_false(curve.any);
    memory_curve_add(&curve, 1, 0);
    json_t *json = memory_curve_json(&curve);
    char *text = json_dumps(json, JSON_COMPACT);
    assert_string_equal(text, "{\"peak_bytes\":0,\"step_s\":1.0,\"bytes\":[null,0]}");
    free(text);
    json_decref(json);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_second_has_its_highest_value),
        cmocka_unit_test(a_week_fits_and_its_one_peak_is_kept_in_its_place),
        cmocka_unit_test(what_is_no_reading_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
