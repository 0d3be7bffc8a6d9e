#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "machine/sensors/cpu_split.h"

static void each_gets_by_its_cpu_time_and_the_rest_is_nobodys(void **state)
{
    (void)state;
    const double cpu_s[] = {1, 3, 0};
    int64_t parts[3];
    /* 8 s were used by all: an eighth, three eighths, nothing; half of it by others. */
    assert_int_equal(cpu_split_divide(80000, 8, cpu_s, 3, parts), 40000);
    assert_int_equal(parts[0], 10000);
    assert_int_equal(parts[1], 30000);
    assert_int_equal(parts[2], 0);
}

static void parts_and_rest_are_the_whole_to_the_millijoule(void **state)
{
    (void)state;
    const double cpu_s[] = {0.1, 0.2, 0.7, 1.0 / 3};
    for (int64_t energy_mj = 0; energy_mj < 2000; energy_mj += 7) {
        int64_t parts[4];
        int64_t sum = cpu_split_divide(energy_mj, 3.7, cpu_s, 4, parts);
        for (int i = 0; i < 4; i++) {
            assert_true(parts[i] >= 0);
            sum += parts[i];
        }
        assert_int_equal(sum, energy_mj);
    }
}

static void coarse_clocks_never_divide_more_than_there_is(void **state)
{
    (void)state;
    const double cpu_s[] = {2, 2};
    int64_t parts[2];
    /* The jobs seem to have used more than all programs together. */
    assert_int_equal(cpu_split_divide(1001, 3, cpu_s, 2, parts), 1);
    assert_int_equal(parts[0], 500);
    assert_int_equal(parts[1], 500);
}

static void what_is_drawn_while_nobody_works_is_nobodys(void **state)
{
    (void)state;
    const double cpu_s[] = {0, -0.01};
    int64_t parts[2];
    assert_int_equal(cpu_split_divide(5000, 0, cpu_s, 2, parts), 5000);
    assert_int_equal(parts[0] + parts[1], 0);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_gets_by_its_cpu_time_and_the_rest_is_nobodys),
        cmocka_unit_test(parts_and_rest_are_the_whole_to_the_millijoule),
        cmocka_unit_test(coarse_clocks_never_divide_more_than_there_is),
        cmocka_unit_test(what_is_drawn_while_nobody_works_is_nobodys),
    };
    return cmocka_run_group_tests_name("cpu split", tests, NULL, NULL);
}
