#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "gpu_memory/oom/growth.h"

#include <math.h>

#define GIB 1073741824.0

/* A reading a second, windows of 10 s. Gives the second in which growth was first told; -1:
 * never. */
static int told_after(double (*memory_gib)(int second), int seconds, double limit_gib,
                      double *left_s)
{
    struct growth_windows windows;
    growth_windows_begin(&windows, 10);
    for (int t = 0; t < seconds; t++) {
        if (!growth_windows_add(&windows, 100 + t, memory_gib(t) * GIB))
            continue;
        struct growth_in_time growth = growth_in_time(&windows, limit_gib * GIB);
        *left_s = growth_seconds_left(&growth, limit_gib * GIB);
        if (growth.grows)
            return t;
    }
    return -1;
}

/* 8 GiB, and 0.02 GiB more with every second. */
static double leaking(int t)
{
    return 8 + 0.02 * t;
}

/* Twelve windows have ended when the thirteenth begins, at 120 s. The last of them ended with 8 +
 * 0.02 * 119 = 10.38 GiB: to 40 GiB it is 29.62 GiB, at 0.02 a second 1481 s. */
static void a_leak_is_told_after_twelve_windows_with_the_time_that_is_left(void **state)
{
    (void)state;
    double left_s;
    assert_int_equal(told_after(leaking, 3600, 40, &left_s), 120);
    assert_true(fabs(left_s - 1481) < 0.01);
}

/* What a training needs is taken in its first minute, then it stays so. */
static double warming_up(int t)
{
    return t < 60 ? 0.3 * t : 18;
}

static double level(int t)
{
    return 18 + (t % 7 == 0 ? 0.2 : 0);
}

/* Falls back with every validation, each 45 s. */
static double sawtooth(int t)
{
    return 10 + 0.1 * (t % 45);
}

static void what_settles_or_swings_is_no_leak(void **state)
{
    (void)state;
    double left_s;
    assert_int_equal(told_after(warming_up, 7200, 40, &left_s), -1);
    assert_int_equal(told_after(level, 7200, 40, &left_s), -1);
    assert_int_equal(told_after(sawtooth, 7200, 40, &left_s), -1);
    assert_true(isinf(left_s));
}

/* Of 64 windows of 10 s come 32 of 20 s, and then of 40 s and of 80 s: 3,000 s are 37 of 80 s and a
 * rest. */
static void windows_double_and_keep_the_slope(void **state)
{
    (void)state;
    struct growth_windows windows;
    growth_windows_begin(&windows, 10);
    for (int t = 0; t <= 3000; t++)
        growth_windows_add(&windows, t, leaking(t) * GIB);
    assert_true(windows.step_s == 80);
    assert_int_equal(windows.open, 37);
    struct growth_in_time growth = growth_in_time(&windows, 100 * GIB);
    assert_true(growth.grows);
    assert_true(fabs(growth.bytes_per_s / GIB - 0.02) < 1e-9);
    assert_true(fabs(growth.last_bytes / GIB - (8 + 0.02 * (37 * 80 - 1))) < 1e-9);
}

/* Nothing was read for a while: the windows between have what was read before. */
static void windows_without_readings_end_too(void **state)
{
    (void)state;
    struct growth_windows windows;
    growth_windows_begin(&windows, 10);
    assert_false(growth_windows_add(&windows, 5, 1));
    assert_true(growth_windows_add(&windows, 47, 3)); /* the fifth, from 45 s on */
    assert_int_equal(windows.open, 4);
    assert_true(windows.peaks[3] == 1 && windows.peaks[4] == 3);
    assert_false(growth_windows_add(&windows, 46, 2)); /* late: no window goes back */
    assert_true(windows.peaks[4] == 3);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leak_is_told_after_twelve_windows_with_the_time_that_is_left),
        cmocka_unit_test(what_settles_or_swings_is_no_leak),
        cmocka_unit_test(windows_double_and_keep_the_slope),
        cmocka_unit_test(windows_without_readings_end_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
