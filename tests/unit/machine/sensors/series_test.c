/* The order of what a meter has read. */
#include "machine/sensors/series.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static void a_sample_that_was_there_already_is_left_out(void **state)
{
    (void)state;
    struct series series = {0};
    static const struct power_sample given[] = {{10, 1}, {20, 2}, {10, 1},
                                                {20, 2}, {30, 3}, {30, 9}};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        series_add_power(&series, given[i]);
    assert_int_equal(series.power_count, 3);
    for (int64_t i = 0; i < 3; i++) {
        assert_int_equal(series.power[i].t_ns, 10 * (i + 1));
        assert_true(series.power[i].power_w == (double)(i + 1));
    }
    series_fini(&series);
    assert_null(series.power);
}

static void every_reading_of_the_counter_is_kept(void **state)
{
    (void)state;
    struct series series = {0};
    for (int64_t i = 0; i < 100; i++)
        series_add_counter(&series, (struct counter_reading){i, i + 1, (uint64_t)(1000 - i)});
    assert_int_equal(series.counter_count, 100);
    assert_int_equal(series.counter[99].energy_mj, 901);
    series_fini(&series);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_that_was_there_already_is_left_out),
        cmocka_unit_test(every_reading_of_the_counter_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
