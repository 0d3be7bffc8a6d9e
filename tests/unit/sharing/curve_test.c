/* The shape of a training's memory, by hand. */
#include "sharing/predict.h"
#include "sharing/result.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

static struct memory_curve made(const double *points, size_t count)
{
    struct memory_curve curve = {.step_s = 1, .count = count, .any = count > 0};
    for (size_t i = 0; i < count; i++) {
        curve.points[i] = points[i];
        curve.peak_bytes = fmax(curve.peak_bytes, points[i]);
    }
    return curve;
}

static void a_start_up_and_a_level_are_told_apart(void **state)
{
    (void)state;
    /* 0 s nothing was read; 500 at 1 s, 5000 from 3 s on, one reading of 5400; back to 0 at the
     * end. */
    const double points[] = {-1, 500, 900, 5000, 5000, 5400, 5000, 5000, -1, 5000, 0};
    struct memory_curve curve = made(points, 11);
    struct curve_shape shape;
    curve_shape(&curve, &shape);
    assert_true(shape.peak.value == 5400 && shape.steady.value == 5000);
    assert_true(shape.startup_s.valid && shape.startup_s.value == 3);
    assert_true(shape.context.valid && shape.context.value == 500);
    /* Steps among 5000 5000 5400 5000 5000 5000: 0 400 400 0 0. */
    assert_true(shape.ripple.valid && shape.ripple.value == 0);
}

static void what_comes_and_goes_is_the_ripple(void **state)
{
    (void)state;
    const double points[] = {4000, 4300, 4000, 4300, 4000, 4300};
    struct memory_curve curve = made(points, 6);
    struct curve_shape shape;
    curve_shape(&curve, &shape);
    assert_true(shape.ripple.value == 300);
    assert_true(shape.startup_s.value == 0);
    /* Nothing came before the steady state, whose median is 4150: the first reading is below it. */
    assert_true(shape.context.valid && shape.context.value == 4000);
}

static void nothing_read_has_no_shape_and_a_level_has_no_context(void **state)
{
    (void)state;
    const double level[] = {7, 7, 7}, zero[] = {0, 0};
    struct memory_curve none = {0}, flat = made(level, 3), idle = made(zero, 2);
    struct curve_shape shape;
    curve_shape(&none, &shape);
    assert_false(shape.peak.valid || shape.steady.valid || shape.startup_s.valid ||
                 shape.ripple.valid);
    curve_shape(&flat, &shape);
    assert_false(shape.context.valid);
    assert_true(shape.steady.value == 7 && shape.startup_s.value == 0 && shape.ripple.value == 0);
    curve_shape(&idle, &shape);
    assert_true(shape.peak.valid && shape.peak.value == 0 && !shape.context.valid);
}

static void gaps_take_the_larger_neighbour(void **state)
{
    (void)state;
    const double points[] = {-1, 3, -1, -1, 8, -1, 2, -1}, expected[] = {3, 3, 8, 8, 8, 8, 2, 2};
    struct memory_curve curve = made(points, 8);
    curve_fill(&curve);
    for (size_t i = 0; i < 8; i++)
        assert_true(curve.points[i] == expected[i]);
}

static void what_the_run_wrote_is_read_back(void **state)
{
    (void)state;
    struct memory_curve curve = {0}, back;
    memory_curve_add(&curve, 0.2, 100);
    memory_curve_add(&curve, 2.5, 900);
    json_t *json = memory_curve_json(&curve);
    assert_true(curve_from_json(json, &back));
    assert_true(back.count == 3 && back.step_s == 1 && back.peak_bytes == 900 && back.any);
    assert_true(back.points[0] == 100 && back.points[1] < 0 && back.points[2] == 900);
    json_decref(json);
}

static void what_is_no_curve_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"null",
                                      "{}",
                                      "{\"peak_bytes\": 1, \"step_s\": 0, \"bytes\": [1]}",
                                      "{\"peak_bytes\": -1, \"step_s\": 1, \"bytes\": [1]}",
                                      "{\"peak_bytes\": 1, \"step_s\": 1, \"bytes\": []}",
                                      "{\"peak_bytes\": 1, \"step_s\": 1e300, \"bytes\": [1]}",
                                      "[1]"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct memory_curve curve;
        json_t *json = json_loads(bad[i], JSON_DECODE_ANY, NULL);
        assert_non_null(json);
        assert_false(curve_from_json(json, &curve));
        json_decref(json);
    }
    /* More than the peak is no reading. */
    struct memory_curve curve;
    json_t *json =
        json_loads("{\"peak_bytes\": 5, \"step_s\": 1, \"bytes\": [9, 5, \"x\"]}", 0, NULL);
    assert_true(curve_from_json(json, &curve));
    assert_true(curve.points[0] < 0 && curve.points[1] == 5 && curve.points[2] < 0);
    json_decref(json);
}

static bool count(const char *text, struct memory_curve *curve)
{
    AUTO_FREE char *experiment = mem_printf(
        "{\"tare\": {\"attempts\": [{\"memory\": {\"gpus\": [{\"counted\": %s}]}}]}}", text);
    json_t *json = json_loads(experiment, 0, NULL);
    AUTO(result_fini) struct result result;
    assert_non_null(json);
    result_read(json, &result);
    bool good = curve_count(&result.gpus[0], curve);
    json_decref(json);
    return good;
}

static void what_was_counted_goes_over_what_the_driver_told(void **state)
{
    (void)state;
    const double points[] = {300, 1300, -1, 1300, 1350};
    struct memory_curve curve = made(points, 5);
    struct curve_shape shape;
    /* Counted, of 2 s each: 0, 5000 for a moment, 1000; 300 for the context. */
    assert_true(
        count("{\"peak_bytes\": 5300, \"context_bytes\": 300, \"curve\": {\"peak_bytes\": 5000, "
              "\"step_s\": 2, \"bytes\": [0, 5000, 1000]}}",
              &curve));
    assert_true(curve.peak_bytes == 5300 && curve.step_s == 1 && curve.count == 6);
    const double merged[] = {300, 1300, -1, 5300, 1350, 1300};
    for (size_t i = 0; i < 6; i++)
        assert_true(curve.points[i] == merged[i]);
    curve_shape(&curve, &shape);
    assert_true(shape.peak.value == 5300);
    /* The driver may have told of more, as the context was larger for a moment: nothing is made
     * less. */
    curve = made(points, 5);
    assert_true(
        count("{\"peak_bytes\": 1300, \"context_bytes\": 300, \"curve\": {\"peak_bytes\": 1000, "
              "\"step_s\": 1, \"bytes\": [1000]}}",
              &curve));
    assert_true(curve.peak_bytes == 1350);
}

static void what_was_not_counted_to_the_byte_leaves_the_curve(void **state)
{
    (void)state;
    static const char *const bad[] = {"null",
                                      "{\"peak_bytes\": null, \"context_bytes\": 3, \"curve\": "
                                      "{\"peak_bytes\": 1, \"step_s\": 1, \"bytes\": [1]}}",
                                      "{\"peak_bytes\": 9, \"context_bytes\": 10, \"curve\": "
                                      "{\"peak_bytes\": 1, \"step_s\": 1, \"bytes\": [1]}}",
                                      "{\"peak_bytes\": 1e99, \"context_bytes\": 1, \"curve\": "
                                      "{\"peak_bytes\": 1, \"step_s\": 1, \"bytes\": [1]}}",
                                      "{\"peak_bytes\": 9, \"context_bytes\": 1, \"curve\": null}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const double points[] = {3, 7};
        struct memory_curve curve = made(points, 2);
        assert_false(count(bad[i], &curve));
        assert_true(curve.peak_bytes == 7 && curve.points[0] == 3);
    }
}

static void a_raised_curve_never_passes_its_peak(void **state)
{
    (void)state;
    const double points[] = {-1, 100, 400, 500};
    struct memory_curve curve = made(points, 4);
    curve_raise(&curve, 150);
    assert_true(curve.points[0] < 0 && curve.points[1] == 250 && curve.points[2] == 500 &&
                curve.points[3] == 500);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_up_and_a_level_are_told_apart),
        cmocka_unit_test(what_comes_and_goes_is_the_ripple),
        cmocka_unit_test(nothing_read_has_no_shape_and_a_level_has_no_context),
        cmocka_unit_test(gaps_take_the_larger_neighbour),
        cmocka_unit_test(what_the_run_wrote_is_read_back),
        cmocka_unit_test(what_is_no_curve_is_refused),
        cmocka_unit_test(what_was_counted_goes_over_what_the_driver_told),
        cmocka_unit_test(what_was_not_counted_to_the_byte_leaves_the_curve),
        cmocka_unit_test(a_raised_curve_never_passes_its_peak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
