#include "measure/energy/window_knots.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/clock.h"
#include "measure/energy/window.h"

#include <math.h>
#include <string.h>

static void near(double value, double expected, double tolerance)
{
    if (fabs(value - expected) > tolerance)
        fail_msg("%.9g is not %.9g, give or take %g", value, expected, tolerance);
}

static void an_update_instant_is_a_trapezoid(void **state)
{
    (void)state;
    double mean, variance;
    /* triangle */
    knot_moments(&(struct knot){.lo_a = 0, .lo_b = 1, .hi_a = 1, .hi_b = 2}, &mean, &variance);
    near(mean, 1, 1e-12);
    near(variance, 1.0 / 6, 1e-12);
    /* even */
    knot_moments(&(struct knot){.lo_a = 5, .lo_b = 5, .hi_a = 6, .hi_b = 6}, &mean, &variance);
    near(mean, 5.5, 1e-12);
    near(variance, 1.0 / 12, 1e-12);
    /* falling */
    knot_moments(&(struct knot){.lo_a = 0, .lo_b = 0, .hi_a = 0, .hi_b = 3}, &mean, &variance);
    near(mean, 1, 1e-12);
    near(variance, 9.0 / 18, 1e-12);
    knot_moments(&(struct knot){.lo_a = 0, .lo_b = 1, .hi_a = 3, .hi_b = 4}, &mean,
                 &variance); /* sum of two even ones: 3 and 1 long */
    near(mean, 2, 1e-12);
    near(variance, (9.0 + 1.0) / 12, 1e-12);
    knot_moments(&(struct knot){.lo_a = 7, .lo_b = 7, .hi_a = 7, .hi_b = 7}, &mean, &variance);
    near(mean, 7, 0);
    near(variance, 0, 0);
}

static void readings_bound_the_update_between_them(void **state)
{
    (void)state;
    static const struct counter_reading readings[] = {
        {(0 * NS_PER_MS), (4 * NS_PER_MS), 1000},
        {(1000 * NS_PER_MS), (1004 * NS_PER_MS), 51000},
        {(1004 * NS_PER_MS), (1008 * NS_PER_MS), 51000},
        {(1008 * NS_PER_MS), (1012 * NS_PER_MS), 56000},
        {(2000 * NS_PER_MS), (2004 * NS_PER_MS), 106000}};
    struct window_sensor sensor = window_sensor_gpu;
    struct series series = {0};
    sensor.power_limit_w = 700;
    sensor.update_jitter_ns = 0;
    for (size_t i = 0; i < sizeof readings / sizeof *readings; i++)
        series_add_counter(&series, readings[i]);
    struct knots knots;
    knots_read(&knots, &series, &sensor, 0);
    assert_int_equal(knots.count, 4);
    assert_int_equal(knots.segment_count, 1);
    /* a single reading: the update came in the 100 ms before it, so far as its own place in the
     * call is known */
    near(knots.items[0].lo_a, -0.1, 1e-12);
    near(knots.items[0].lo_b, -0.096, 1e-12);
    near(knots.items[0].hi_a, 0, 1e-12);
    near(knots.items[0].hi_b, 0.004, 1e-12);
    /* the second value is first seen at 1000 ms, but the next update is known to come about 1008:
     * it came 100 ms before that */
    assert_true(knots.items[1].inferred);
    near(knots.items[1].lo_a, 0.904, 1e-12);
    near(knots.items[1].hi_b, 0.912, 1e-12);
    /* the change is between the two calls */
    near(knots.items[2].lo_a, 1.004, 1e-12);
    near(knots.items[2].lo_b, 1.008, 1e-12);
    near(knots.items[2].hi_a, 1.008, 1e-12);
    near(knots.items[2].hi_b, 1.012, 1e-12);
    near(knots.items[2].value_j, 55, 1e-12);
    knots_fini(&knots);
    series_fini(&series);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_update_instant_is_a_trapezoid),
        cmocka_unit_test(readings_bound_the_update_between_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
