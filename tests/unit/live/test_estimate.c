#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan_fixture.h"
#include "report/live/estimate.h"

static struct plan_experiment experiments[] = {
    FIXTURE_EXPERIMENT(1, 0, "digits_mlp_001", "digits", "mlp", 0),
    FIXTURE_EXPERIMENT(2, 0, "digits_mlp_002", "digits", "mlp", 0),
    FIXTURE_EXPERIMENT(3, 1, "digits_cnn_003", "digits", "cnn", 0),
    FIXTURE_EXPERIMENT(4, 1, "digits_cnn_004", "digits", "cnn", 0),
};

static bool left_of_one(const struct estimate *estimate, size_t number, double elapsed_s, struct estimate_left *out)
{
    return estimate_left(estimate, &(struct estimate_running){.number = number, .elapsed_s = elapsed_s}, 1, out);
}

static void all_pauses_of_a_plan_are_those_between_its_experiments(void **state)
{
    (void)state;
    struct plan plan = fixture_plan(experiments, 4);
    assert_true(estimate_pauses(&plan, NULL) == 10 + 60 + 10);
    struct plan one = fixture_plan(experiments, 1);
    assert_true(estimate_pauses(&one, NULL) == 0);
    struct plan none = fixture_plan(experiments, 0);
    assert_true(estimate_pauses(&none, NULL) == 0);
}

static void several_lanes_share_what_is_left_and_none_is_done_before_its_longest(void **state)
{
    (void)state;
    struct plan plan = fixture_plan(experiments, 4);
    struct estimate estimate;
    struct estimate_left left;
    estimate_init(&estimate, &plan);
    estimate_done(&estimate, 1, 100); /* so 2 takes 100 s; of 3 and 4 nothing is known, so they take that too */
    const struct estimate_running two[] = {{.number = 2, .elapsed_s = 40}, {.number = 3, .elapsed_s = 10}};
    /* 60 + 90 + 100 s of trainings and 70 s of pauses (2 to 3: 60, 3 to 4: 10), by two lanes. */
    assert_true(estimate_left(&estimate, two, 2, &left));
    assert_true(left.expected_s == (60 + 90 + 100 + 70) / 2.0);
    const struct estimate_running many[8] = {{.number = 2, .elapsed_s = 40}, {.number = 3, .elapsed_s = 10}};
    /* An eighth of that would be 40 s, but the fourth has not begun. */
    assert_true(estimate_left(&estimate, many, 8, &left));
    assert_true(left.expected_s == 100);
    estimate_fini(&estimate);
}

static void nothing_is_estimated_before_something_has_ended(void **state)
{
    (void)state;
    struct plan plan = fixture_plan(experiments, 4);
    struct estimate estimate;
    struct estimate_left left;
    estimate_init(&estimate, &plan);
    assert_false(left_of_one(&estimate, 1, 5, &left));
    estimate_done(&estimate, 1, -1); /* in an earlier session: its time says nothing about today */
    assert_false(left_of_one(&estimate, 2, 0, &left));
    estimate_fini(&estimate);
}

static void an_experiment_takes_as_long_as_its_like_did_else_as_all_did(void **state)
{
    (void)state;
    struct plan plan = fixture_plan(experiments, 4);
    struct estimate estimate;
    struct estimate_left left;
    estimate_init(&estimate, &plan);
    estimate_done(&estimate, 1, 20);
    /* Left: 2, 3 and 4 at 20 s each, the pauses 60 + 10 between them; 5 s of the second are over. */
    assert_true(left_of_one(&estimate, 2, 5, &left));
    assert_true(left.expected_s == 3 * 20 - 5 + 70);
    estimate_done(&estimate, 2, 30);
    estimate_done(&estimate, 3, 100);
    assert_true(left_of_one(&estimate, 4, 40, &left));
    assert_true(left.expected_s == 100 - 40);
    estimate_fini(&estimate);
}

static void an_experiment_that_takes_longer_than_expected_never_counts_below_zero(void **state)
{
    (void)state;
    struct plan plan = fixture_plan(experiments, 2);
    struct estimate estimate;
    struct estimate_left left;
    estimate_init(&estimate, &plan);
    estimate_done(&estimate, 1, 20);
    assert_true(left_of_one(&estimate, 2, 500, &left));
    assert_true(left.expected_s == 0);
    estimate_fini(&estimate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_pauses_of_a_plan_are_those_between_its_experiments),
        cmocka_unit_test(nothing_is_estimated_before_something_has_ended),
        cmocka_unit_test(several_lanes_share_what_is_left_and_none_is_done_before_its_longest),
        cmocka_unit_test(an_experiment_takes_as_long_as_its_like_did_else_as_all_did),
        cmocka_unit_test(an_experiment_that_takes_longer_than_expected_never_counts_below_zero),
    };
    return cmocka_run_group_tests_name("estimate", tests, NULL, NULL);
}
