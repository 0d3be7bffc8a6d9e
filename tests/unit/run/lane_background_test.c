#include "run/lane_background.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static void three_failures_in_a_row_end_a_background_that_is_alone(void **state)
{
    (void)state;
    struct background_tally tally = {0};
    assert_int_equal(lane_background_count_loop(&tally, OUTCOME_FAILED, false), BACKGROUND_AGAIN);
    assert_int_equal(lane_background_count_loop(&tally, OUTCOME_FAILED, false), BACKGROUND_AGAIN);
    assert_int_equal(lane_background_count_loop(&tally, OUTCOME_SUCCEEDED, false),
                     BACKGROUND_AGAIN);
    assert_int_equal(lane_background_count_loop(&tally, OUTCOME_FAILED, false), BACKGROUND_AGAIN);
    assert_int_equal(lane_background_count_loop(&tally, OUTCOME_FAILED, false), BACKGROUND_AGAIN);
    assert_false(tally.gave_up);
    assert_int_equal(lane_background_count_loop(&tally, OUTCOME_FAILED, false), BACKGROUND_GIVE_UP);
    assert_true(tally.gave_up);
    assert_int_equal(tally.failed, 5);
    assert_int_equal(tally.succeeded, 1);
    assert_int_equal(tally.failed_beside, 0);
}

static void the_second_failure_beside_the_foreground_is_told_and_the_fifth_is_the_last(void **state)
{
    (void)state;
    struct background_tally tally = {0};
    assert_int_equal(lane_background_count_loop(&tally, OUTCOME_FAILED, true), BACKGROUND_AGAIN);
    assert_int_equal(lane_background_count_loop(&tally, OUTCOME_SUCCEEDED, true), BACKGROUND_AGAIN);
    assert_int_equal(lane_background_count_loop(&tally, OUTCOME_FAILED, true), BACKGROUND_REPORT);
    for (int i = 0; i < 3; i++)
        assert_int_equal(lane_background_count_loop(&tally, OUTCOME_FAILED, true),
                         BACKGROUND_AGAIN);
    assert_int_equal(lane_background_count_loop(&tally, OUTCOME_FAILED, true), BACKGROUND_GIVE_UP);
    assert_int_equal(tally.failed_beside, 6);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_failures_in_a_row_end_a_background_that_is_alone),
        cmocka_unit_test(
            the_second_failure_beside_the_foreground_is_told_and_the_fifth_is_the_last),
    };
    return cmocka_run_group_tests_name("lane background", tests, NULL, NULL);
}
