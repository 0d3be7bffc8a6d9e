#include "measure/energy_meters_measure.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/clock.h"

#include <math.h>

/* 3 J of the profile and 2 J between readings: a calibration tells the profile, if it is not from
 * one, and of GPUs alone. */
static void the_remedy_is_that_of_the_largest_part_of_the_half_width(void **state)
{
    (void)state;
    static const struct calibration calibration = {0};
    struct energy_meters_figures device = {.scope = ENERGY_GPU};
    device.window.end_ns = NS_PER_S;
    device.window.half_width_j = (struct reading){1.96 * hypot(3, 2), true};
    device.window.parts.j[WINDOW_PART_UNSEEN] = 3;
    device.window.parts.j[WINDOW_PART_INTERPOLATION] = 2;
    assert_string_equal(energy_meters_remedy(&device), "run 'tare calibrate'");
    device.calibration = &calibration;
    assert_string_equal(energy_meters_remedy(&device), "measure a longer window");
    device.calibration = NULL;
    device.scope = ENERGY_PACKAGE;
    assert_string_equal(energy_meters_remedy(&device), "measure a longer window");
    device.scope = ENERGY_GPU;
    device.window.end_ns = NS_PER_S - 1;
    assert_string_equal(energy_meters_remedy(&device), "measure a longer window");
    device.window.end_ns = NS_PER_S;
    device.window.parts.j[WINDOW_PART_UNSEEN] = 2;
    device.window.parts.j[WINDOW_PART_INTERPOLATION] = 3;
    assert_string_equal(energy_meters_remedy(&device), "measure a longer window");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_remedy_is_that_of_the_largest_part_of_the_half_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
