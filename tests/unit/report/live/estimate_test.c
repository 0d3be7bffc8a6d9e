#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "plan_fixture.h"
#include "report/live/estimate.h"

static struct plan_experiment experiments[] = {
    FIXTURE_EXPERIMENT(1, 0, "digits_mlp_001", "digits", "mlp", 0),
    FIXTURE_EXPERIMENT(2, 0, "digits_mlp_002", "digits", "mlp", 0),
    FIXTURE_EXPERIMENT(3, 1, "digits_cnn_003", "digits", "cnn", 0),
    FIXTURE_EXPERIMENT(4, 1, "digits_cnn_004", "digits", "cnn", 0),
};

static bool left_of_one(const struct estimate *estimate, size_t number, double elapsed_s,
                        struct estimate_left *out)
{
    return estimate_left(
        estimate, &(struct estimate_running){.number = number, .elapsed_s = elapsed_s}, 1, out);
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

static void adaptive_pauses_save_all_but_the_shortest(void **state)
{
    (void)state;
    struct plan plan = fixture_plan(experiments, 4);
    plan.guard.cooldown.min_s = 12;
    assert_true(estimate_adaptive_saves(&plan) == 0 + 48 + 0); /* of 10, 60 and 10 s */
    assert_true(plan.timing.between_runs_s == 10);
    plan.guard.cooldown.min_s = 5;
    assert_true(estimate_adaptive_saves(&plan) == 5 + 55 + 5);
}

static void several_lanes_share_what_is_left_and_none_is_done_before_its_longest(void **state)
{
    (void)state;
    struct plan plan = fixture_plan(experiments, 4);
    struct estimate estimate;
    struct estimate_left left;
    estimate_init(&estimate, &plan);
    /* so 2 takes 100 s; of 3 and 4 nothing is known, so they take that too */
    estimate_done(&estimate, 1, 100);
    const struct estimate_running two[] = {{.number = 2, .elapsed_s = 40},
                                           {.number = 3, .elapsed_s = 10}};
    /* 60 + 90 + 100 s of trainings and 70 s of pauses (2 to 3: 60, 3 to 4: 10), by two lanes. */
    assert_true(estimate_left(&estimate, two, 2, &left));
    assert_true(left.expected_s == (60 + 90 + 100 + 70) / 2.0);
    const struct estimate_running many[8] = {{.number = 2, .elapsed_s = 40},
                                             {.number = 3, .elapsed_s = 10}};
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
    /* Left: 2, 3 and 4 at 20 s each, the pauses 60 + 10 between them; 5 s of the second are
     * over. */
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

static bool is_near(double a, double b)
{
    return a - b < 1e-6 && b - a < 1e-6;
}

/* The first: 20 s, taken to be within 40 % (8 s). Of three like it the deviations are 8 s each, and
 * 3 * 8 s of their mean. */
static void the_range_narrows_as_experiments_end(void **state)
{
    (void)state;
    struct plan_experiment same[] = {
        FIXTURE_EXPERIMENT(1, 0, "a_1", "a", "a", 0),
        FIXTURE_EXPERIMENT(2, 0, "a_2", "a", "a", 0),
        FIXTURE_EXPERIMENT(3, 0, "a_3", "a", "a", 0),
        FIXTURE_EXPERIMENT(4, 0, "a_4", "a", "a", 0),
    };
    struct plan plan = fixture_plan(same, 4);
    struct estimate estimate;
    struct estimate_left left;
    estimate_init(&estimate, &plan);
    estimate_done(&estimate, 1, 20);
    assert_true(left_of_one(&estimate, 0, 0, &left));
    assert_true(left.expected_s == 3 * 20 + 2 * 10);
    /* 1.28 * sqrt(3 * 8^2 + 24^2) = 1.28 * sqrt(768) = 35.47 */
    assert_true(left.high_s - left.expected_s > 35.47 && left.high_s - left.expected_s < 35.48);
    assert_true(is_near(left.expected_s - left.low_s, left.high_s - left.expected_s));
    estimate_done(&estimate, 2, 20);
    assert_true(left_of_one(&estimate, 0, 0, &left));
    /* The assumed 40 % count as one of two: 8 / sqrt(2); 1.28 * sqrt(2 * 32 + (2 * 4)^2) = 14.48 */
    assert_true(left.expected_s == 2 * 20 + 10);
    assert_true(left.high_s - left.expected_s > 14.48 && left.high_s - left.expected_s < 14.49);
    estimate_fini(&estimate);
}

static void the_first_experiment_tells_by_its_own_bar(void **state)
{
    (void)state;
    struct plan plan = fixture_plan(experiments, 2);
    struct estimate estimate;
    struct estimate_left left;
    estimate_init(&estimate, &plan);
    struct estimate_running running = {
        .number = 1, .elapsed_s = 25, .left_s = {75, true}, .share = 0.25};
    assert_true(estimate_left(&estimate, &running, 1, &left));
    /* Its own 75 s, a pause of 10 s, and another like it: 100 s. */
    assert_true(is_near(left.expected_s, 75 + 10 + 100));
    /* 75 * (0.1 + 0.3 * 0.75) = 24.375; 40 and 40; 1.28 * sqrt(24.375^2 + 40^2 + 40^2) = 1.28
     * * 61.60 = 78.84 */
    assert_true(left.high_s - left.expected_s > 78.83 && left.high_s - left.expected_s < 78.85);
    estimate_fini(&estimate);
}

static void this_pause_counts_and_others_take_as_long_as_the_last_did(void **state)
{
    (void)state;
    struct plan plan = fixture_plan(experiments, 4);
    struct estimate estimate;
    struct estimate_left left;
    estimate_init(&estimate, &plan);
    estimate_done(&estimate, 1, 20);
    struct estimate_running running = {.pause_s = 7};
    assert_true(estimate_left(&estimate, &running, 1, &left));
    assert_true(left.expected_s == 7 + 3 * 20 + 60 + 10);
    estimate_pause(&estimate, 10, 5);
    assert_true(estimate_left(&estimate, &(struct estimate_running){0}, 1, &left));
    assert_true(left.expected_s == 3 * 20 + (60 + 10) / 2.0);
    estimate_fini(&estimate);
}

static void experiments_of_more_epochs_take_longer(void **state)
{
    (void)state;
    struct plan_param few[] = {
        {.name = (char[]){"num_epochs"}, .value = {VALUE_INT, .integer = 10}}};
    struct plan_param many[] = {
        {.name = (char[]){"num_epochs"}, .value = {VALUE_INT, .integer = 30}}};
    struct plan_experiment two[] = {FIXTURE_EXPERIMENT(1, 0, "a_1", "a", "a", 0),
                                    FIXTURE_EXPERIMENT(2, 0, "a_2", "a", "a", 0)};
    two[0].foreground.params = few;
    two[1].foreground.params = many;
    two[0].foreground.param_count = two[1].foreground.param_count = 1;
    struct plan plan = fixture_plan(two, 2);
    struct estimate estimate;
    struct estimate_left left;
    estimate_init(&estimate, &plan);
    estimate_done(&estimate, 1, 20);
    assert_true(left_of_one(&estimate, 2, 15, &left));
    assert_true(left.expected_s == 3 * 20 - 15);
    estimate_fini(&estimate);
}

static void where_nothing_has_ended_an_expected_time_tells(void **state)
{
    (void)state;
    struct plan_experiment one[] = {FIXTURE_EXPERIMENT(1, 0, "a_1", "a", "a", 0)};
    one[0].expected_s = (struct reading){100, true};
    struct plan plan = fixture_plan(one, 1);
    struct estimate estimate;
    struct estimate_left left;
    estimate_init(&estimate, &plan);
    assert_true(left_of_one(&estimate, 1, 10, &left));
    assert_true(left.expected_s == 90 && left.low_s < 90 && left.high_s > 90);
    estimate_fini(&estimate);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_pauses_of_a_plan_are_those_between_its_experiments),
        cmocka_unit_test(adaptive_pauses_save_all_but_the_shortest),
        cmocka_unit_test(nothing_is_estimated_before_something_has_ended),
        cmocka_unit_test(several_lanes_share_what_is_left_and_none_is_done_before_its_longest),
        cmocka_unit_test(an_experiment_takes_as_long_as_its_like_did_else_as_all_did),
        cmocka_unit_test(the_range_narrows_as_experiments_end),
        cmocka_unit_test(the_first_experiment_tells_by_its_own_bar),
        cmocka_unit_test(this_pause_counts_and_others_take_as_long_as_the_last_did),
        cmocka_unit_test(experiments_of_more_epochs_take_longer),
        cmocka_unit_test(where_nothing_has_ended_an_expected_time_tells),
        cmocka_unit_test(an_experiment_that_takes_longer_than_expected_never_counts_below_zero),
    };
    return cmocka_run_group_tests_name("estimate", tests, NULL, NULL);
}
