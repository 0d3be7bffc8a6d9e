/* When a background counts as loading the GPU, and when it is given up. */
#include "run/observers/load.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static const struct load_times times = {
    .wait_ns = 30 * NS_PER_S, .hold_ns = 5 * NS_PER_S, .limit_ns = 120 * NS_PER_S};

/* One look a second from second `from` to second `to`, both included. */
static void looks(struct load_watch *watch, int from, int to, bool loaded)
{
    for (int second = from; second <= to; second++)
        lane_load_add_sample(watch, second * NS_PER_S, loaded);
}

static enum load_verdict at(const struct load_watch *watch, int second)
{
    return lane_load_decide(watch, &times, 1 * NS_PER_S, (1 + second) * NS_PER_S);
}

static void a_load_that_holds_is_waited_for_no_longer_than_the_least_time(void **state)
{
    (void)state;
    struct load_watch watch = {0};
    looks(&watch, 3, 40, true);
    assert_int_equal(at(&watch, 29), LOAD_WAIT);
    assert_int_equal(at(&watch, 30), LOAD_HELD);
    assert_int_equal(watch.since_ns, 3 * NS_PER_S);
}

static void a_load_that_comes_late_must_hold_five_seconds(void **state)
{
    (void)state;
    struct load_watch watch = {0};
    looks(&watch, 1, 49, false);
    looks(&watch, 50, 54, true);
    assert_int_equal(at(&watch, 54), LOAD_WAIT); /* 50 to 54 are four seconds */
    looks(&watch, 55, 55, true);
    assert_int_equal(at(&watch, 55), LOAD_HELD);
}

static void one_look_without_load_breaks_nothing_and_two_do(void **state)
{
    (void)state;
    struct load_watch watch = {0};
    looks(&watch, 1, 3, true);
    looks(&watch, 4, 4, false);
    looks(&watch, 5, 6, true);
    assert_int_equal(watch.since_ns, 1 * NS_PER_S);
    looks(&watch, 7, 8, false);
    assert_int_equal(watch.since_ns, 0);
    looks(&watch, 9, 9, true);
    assert_int_equal(watch.since_ns, 9 * NS_PER_S);
}

static void without_load_the_limit_ends_the_wait(void **state)
{
    (void)state;
    struct load_watch watch = {0};
    looks(&watch, 1, 130, false);
    assert_int_equal(at(&watch, 119), LOAD_WAIT);
    assert_int_equal(at(&watch, 120), LOAD_NONE);
}

static void where_nothing_can_be_seen_the_least_time_is_all(void **state)
{
    (void)state;
    struct load_watch watch = {0};
    assert_int_equal(at(&watch, 29), LOAD_WAIT);
    assert_int_equal(at(&watch, 30), LOAD_UNSEEN);
}

static void a_limit_below_the_least_time_does_not_shorten_it(void **state)
{
    (void)state;
    struct load_watch watch = {0};
    struct load_times short_limit = {
        .wait_ns = 30 * NS_PER_S, .hold_ns = 5 * NS_PER_S, .limit_ns = 10 * NS_PER_S};
    looks(&watch, 1, 31, false);
    assert_int_equal(lane_load_decide(&watch, &short_limit, NS_PER_S, 30 * NS_PER_S), LOAD_WAIT);
    assert_int_equal(lane_load_decide(&watch, &short_limit, NS_PER_S, 31 * NS_PER_S), LOAD_NONE);
}

static void a_share_needs_three_looks(void **state)
{
    (void)state;
    struct load_watch watch = {0};
    double share;
    looks(&watch, 1, 2, true);
    assert_false(lane_load_share(&watch, &share));
    looks(&watch, 3, 4, false);
    assert_true(lane_load_share(&watch, &share));
    assert_true(share == 0.5);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_load_that_holds_is_waited_for_no_longer_than_the_least_time),
        cmocka_unit_test(a_load_that_comes_late_must_hold_five_seconds),
        cmocka_unit_test(one_look_without_load_breaks_nothing_and_two_do),
        cmocka_unit_test(without_load_the_limit_ends_the_wait),
        cmocka_unit_test(where_nothing_can_be_seen_the_least_time_is_all),
        cmocka_unit_test(a_limit_below_the_least_time_does_not_shorten_it),
        cmocka_unit_test(a_share_needs_three_looks),
    };
    return cmocka_run_group_tests_name("load", tests, NULL, NULL);
}
