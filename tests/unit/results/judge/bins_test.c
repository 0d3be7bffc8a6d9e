#include "results/judge/bins.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void bins_add(struct bins *bins, int64_t t_s, double value)
{
    bins_add_all(bins, &t_s, &value, 1);
}

/* 100,000 seconds at 10, then 60,000 at 30: in spans of 256 s the step stands where it is, to one
 * of them. */
static void a_long_trace_keeps_its_step_in_few_bins(void **state)
{
    (void)state;
    struct bins bins;
    bins_begin(&bins);
    for (int64_t t = 0; t < 160000; t++)
        bins_add(&bins, 5000 + t, t < 100000 ? 10 : 30);
    struct bins_step step = bins_find_step(&bins, 10);
    assert_true(bins.count <= BINS_MOST);
    assert_int_equal(bins.width_s, 512);
    assert_true(step.found && llabs(step.at_s - 105000) <= 512);
    assert_true(fabs(step.before - 10) < 0.1 && fabs(step.after - 30) < 0.2);
    assert_true(step.explained > 0.99);
}

static void without_a_change_there_is_no_step(void **state)
{
    (void)state;
    struct bins bins;
    bins_begin(&bins);
    for (int64_t t = 0; t < 100; t++)
        bins_add(&bins, t, 42);
    assert_false(bins_find_step(&bins, 10).found);
    bins_begin(&bins);
    for (int64_t t = 0; t < 15; t++)
        bins_add(&bins, t, t < 7 ? 0 : 50);
    assert_false(bins_find_step(&bins, 10).found); /* neither side is 10 s long */
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_trace_keeps_its_step_in_few_bins),
        cmocka_unit_test(without_a_change_there_is_no_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
