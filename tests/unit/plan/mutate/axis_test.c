#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include <string.h>

#include "params.h"

static uint64_t size_of(struct param param)
{
    uint64_t size = param_size(&param);
    param_fini(&param);
    return size;
}

static void size_counts_the_values_that_differ_from_the_default(void **state)
{
    (void)state;
    assert_int_equal(size_of(int_param(5, 15, 10)), 10);
    assert_int_equal(size_of(int_param(5, 15, 20)), 11);
    assert_int_equal(size_of(int_param(0, 9999, 1334)), 9999);
    assert_int_equal(size_of(int_param(-3, 3, 0)), 6);
    assert_int_equal(size_of(int_param(7, 7, 7)), 0);
    static const char *const colours[] = {"red", "green", "blue"};
    assert_int_equal(size_of(choice_param(colours, 3, "green")), 2);
    assert_int_equal(size_of(choice_param(colours, 3, "black")), 3);
}

static void size_counts_every_integer_of_a_range(void **state)
{
    (void)state;
    assert_int_equal(size_of(int_param(20240101, 20240150, 20240101)), 49);
    assert_int_equal(size_of(int_param(1000000, 1000100, 0)), 101);
    assert_int_equal(size_of(int_param(1000000, 1000100, 1000003)), 100);
    assert_int_equal(size_of(int_param(-1000020, -999998, 0)), 23);
    /* 2^53 - 9 .. 2^53, and all that the registry lets a range be */
    assert_int_equal(size_of(int_param(0x1p53 - 9, 0x1p53, 0)), 10);
    assert_true(size_of(int_param(-0x1p53, 0x1p53, 0)) == UINT64_C(1) << 54);
}

static void size_of_a_float_is_endless_unless_its_range_is_narrow(void **state)
{
    (void)state;
    assert_true(size_of(float_param(0.0, 0.3, 0.2)) == UINT64_MAX);
    assert_int_equal(size_of(float_param(0.5, 0.5, 0.5)), 0);
    assert_int_equal(size_of(float_param(0.5, 0.5, 0.4)), 1);
    /* 0.100000 .. 0.100020 without 0.1 */
    assert_int_equal(size_of(float_param(0.1, 0.10002, 0.1)), 20);
}

static void size_counts_a_zero_outside_of_the_range(void **state)
{
    (void)state;
    struct param param = int_param(1, 3, 2);
    param.zero_probability = 0.5;
    assert_int_equal(size_of(param), 3);
    param = int_param(0, 3, 2); /* 0 is in the range already */
    param.zero_probability = 0.5;
    assert_int_equal(size_of(param), 3);
    param = int_param(1, 3, 0); /* 0 is the default */
    param.zero_probability = 0.5;
    assert_int_equal(size_of(param), 3);
    param = int_param(1, 3, 2); /* nothing but 0 */
    param.zero_probability = 1;
    assert_int_equal(size_of(param), 1);
}

static void size_is_0_without_a_range(void **state)
{
    (void)state;
    struct param param = int_param(0, 0, 5);
    param.has_range = false;
    assert_int_equal(size_of(param), 0);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(size_counts_the_values_that_differ_from_the_default),
        cmocka_unit_test(size_counts_every_integer_of_a_range),
        cmocka_unit_test(size_of_a_float_is_endless_unless_its_range_is_narrow),
        cmocka_unit_test(size_counts_a_zero_outside_of_the_range),
        cmocka_unit_test(size_is_0_without_a_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
