/* The scale of tests: its bounds, and that it is refused where a driver may be a real one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "machine/sensors/time_scale.h"

static void numbers_within_the_bounds_are_taken(void **state)
{
    (void)state;
    double scale = 7;
    assert_true(time_scale_read(NULL, &scale, NULL) && scale == 1);
    assert_true(time_scale_read("", &scale, NULL) && scale == 1);
    assert_true(time_scale_read("0.001", &scale, NULL) && scale == 0.001);
    assert_true(time_scale_read("0.25", &scale, NULL) && scale == 0.25);
    assert_true(time_scale_read("1", &scale, NULL) && scale == 1);
}

static void everything_else_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"0", "-1", "0.0009", "1.01", "nan", "half", "0.5x"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct err err = {0};
        double scale = 7;
        assert_false(time_scale_read(texts[i], &scale, &err));
        assert_true(scale == 1);
    }
    struct err err = {0};
    double scale;
    assert_false(time_scale_read("2", &scale, &err));
    assert_string_equal(err.text, "TARE_TIME_SCALE: '2' is no number from 0.001 to 1");
}

static void only_a_played_driver_or_none_permits_it(void **state)
{
    (void)state;
    struct err err = {0};
    assert_true(time_scale_permitted(0.5, &nvml_backend, FAKE_NVML, &err));
    assert_true(time_scale_permitted(0.5, &nvml_backend, "/nowhere/libnvidia-ml.so.1", &err));
    assert_true(time_scale_permitted(1, &nvml_backend, FAKE_NVML_AS_REAL, &err));
    assert_true(time_scale_permitted(0, &nvml_backend, FAKE_NVML_AS_REAL, &err));
    assert_false(time_scale_permitted(0.5, &nvml_backend, FAKE_NVML_AS_REAL, &err));
    assert_string_equal(
        err.text,
        "TARE_TIME_SCALE=0.5 is for tests with a driver that is played: here is a real one, "
        "whose GPUs take their time; unset it");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_within_the_bounds_are_taken),
        cmocka_unit_test(everything_else_is_refused),
        cmocka_unit_test(only_a_played_driver_or_none_permits_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
