/* The rhythm of sensors, from readings made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/clock.h"
#include "machine/sensors/series.h"

#include "tests/unit/near.h"

#include <math.h>

/* Rows of a call's beginning and end in ms, and what it gave. */
static struct rhythm rhythm_of(const int (*rows)[3], size_t count)
{
    struct series series = {0};
    for (size_t i = 0; i < count; i++)
        series_add_counter(&series, (struct counter_reading){.before_ns = rows[i][0] * NS_PER_MS,
                                                             .after_ns = rows[i][1] * NS_PER_MS,
                                                             .energy_mj = (uint64_t)rows[i][2]});
    struct rhythm rhythm = rhythm_counter(&series);
    series_fini(&series);
    return rhythm;
}

static struct reading period_of(const int (*rows)[3], size_t count)
{
    return rhythm_of(rows, count).period_s;
}

#define PERIOD_OF(rows) period_of(rows, sizeof(rows) / sizeof *(rows))

static void three_changes_seen_narrowly_give_the_mean_of_two_periods(void **state)
{
    (void)state;
    /* The changes: between 10 and 18, 108 and 120, 214 and 222: 14, 114, 218. */
    static const int rows[][3] = {{0, 4, 5},     {10, 14, 5},   {14, 18, 6},   {20, 24, 6},
                                  {108, 112, 6}, {116, 120, 7}, {214, 218, 7}, {218, 222, 8}};
    struct rhythm rhythm = rhythm_of(rows, sizeof rows / sizeof *rows);
    assert_true(rhythm.period_s.valid);
    assert_near(rhythm.period_s.value, 0.102, 1e-9);
    /* The first and the last are known to 4 ms: so is the time between them to 8 ms. */
    assert_int_equal(rhythm.periods, 2);
    assert_near(rhythm.half_width_s, 0.004, 1e-9);
}

static void a_change_that_is_not_seen_narrowly_is_no_edge_of_a_period(void **state)
{
    (void)state;
    /* 14, then one somewhere between 24 and 90, then 188 and 288. */
    static const int rows[][3] = {{10, 14, 5},   {14, 18, 6},   {24, 28, 6},
                                  {86, 90, 7},   {184, 188, 7}, {188, 192, 8},
                                  {200, 204, 8}, {284, 288, 8}, {288, 292, 9}};
    struct reading period_s = PERIOD_OF(rows);
    assert_true(period_s.valid);
    assert_near(period_s.value, 0.1, 1e-9);
}

static void without_two_changes_there_is_no_period(void **state)
{
    (void)state;
    static const int still[][3] = {{0, 4, 5}, {100, 104, 5}, {200, 204, 5}};
    static const int once[][3] = {{0, 4, 5}, {4, 8, 6}, {100, 104, 6}};
    static const int sparse[][3] = {{0, 4, 5}, {1000, 1004, 15}, {2000, 2004, 25}};
    assert_false(PERIOD_OF(still).valid);
    assert_false(PERIOD_OF(once).valid);
    assert_false(PERIOD_OF(sparse).valid);
    assert_false(period_of(NULL, 0).valid);
}

static double steady_of(const int (*rows)[3], size_t count)
{
    struct series series = {0};
    for (size_t i = 0; i < count; i++)
        series_add_counter(&series, (struct counter_reading){.before_ns = rows[i][0] * NS_PER_MS,
                                                             .after_ns = rows[i][1] * NS_PER_MS,
                                                             .energy_mj = (uint64_t)rows[i][2]});
    double steady_s = rhythm_counter_steady_s(&series);
    series_fini(&series);
    return steady_s;
}

static void a_counter_stays_the_same_between_the_calls_that_read_the_same(void **state)
{
    (void)state;
    /* 6 from the end of the call at 14 to the beginning of that at 108: 90 ms; 7 for 80 ms. */
    static const int rows[][3] = {{10, 14, 5},   {14, 18, 6},   {20, 24, 6},  {108, 112, 6},
                                  {116, 120, 7}, {200, 204, 7}, {210, 214, 8}};
    static const int changes[][3] = {{0, 4, 5}, {1000, 1004, 15}, {2000, 2004, 25}};
    assert_near(steady_of(rows, sizeof rows / sizeof *rows), 0.090, 1e-9);
    assert_near(steady_of(changes, sizeof changes / sizeof *changes), 0, 1e-9);
    assert_near(steady_of(NULL, 0), 0, 1e-9);
}

static void samples_a_second_are_counted_between_the_first_and_the_last(void **state)
{
    (void)state;
    struct series series = {0};
    assert_false(rhythm_trace_hz(&series).valid);
    for (int i = 0; i < 51; i++)
        series_add_power(&series, (struct power_sample){
                                      .t_ns = 1000 * NS_PER_MS + i * 20 * NS_PER_MS, .power_w = 1});
    assert_near(rhythm_trace_hz(&series).value, 50, 1e-9);
    series_fini(&series);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_changes_seen_narrowly_give_the_mean_of_two_periods),
        cmocka_unit_test(a_change_that_is_not_seen_narrowly_is_no_edge_of_a_period),
        cmocka_unit_test(without_two_changes_there_is_no_period),
        cmocka_unit_test(a_counter_stays_the_same_between_the_calls_that_read_the_same),
        cmocka_unit_test(samples_a_second_are_counted_between_the_first_and_the_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
