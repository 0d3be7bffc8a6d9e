/* Whose energy it is when two jobs share a GPU: the sums by hand. */
#include "measure/colocated.h"

#include "base/clock.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static void assert_near(double value, double expected)
{
    if (fabs(value - expected) > 1e-9 * fmax(1, fabs(expected)))
        fail_msg("%.15g is not %.15g", value, expected);
}

/* Two looks, a second each, 100 W then 300 W: the foreground had 50 % then 20 %, the background 30
 * % then 60 %. Of 100 + 300 weights: foreground 50 + 60 = 110 (27.5 %), background 30 + 180 = 210
 * (52.5 %). */
static void shares_count_by_the_power_that_was_drawn(void **state)
{
    (void)state;
    struct colocated_shares shares;
    struct colocated_split split;
    colocated_start(&shares, 10 * NS_PER_S);
    colocated_take(&shares, 11 * NS_PER_S, 100, 50, 30, 0);
    colocated_take(&shares, 12 * NS_PER_S, 300, 20, 60, 0);
    assert_true(colocated_split(&shares, 400000, 2, &split));
    assert_int_equal(split.total_mj, 400000);
    assert_int_equal(split.foreground_mj, 110000);
    assert_int_equal(split.background_mj, 210000);
    assert_int_equal(split.unattributed_mj, 80000);
    assert_near(split.covered_share, 1);
}

/* 90 and 60 with 30 of others are 180: half of it is the foreground's, a third the background's. */
static void shares_above_a_hundred_are_scaled_to_it(void **state)
{
    (void)state;
    struct colocated_shares shares;
    struct colocated_split split;
    colocated_start(&shares, 0);
    colocated_take(&shares, NS_PER_S, 200, 90, 60, 30);
    assert_true(colocated_split(&shares, 600, 1, &split));
    assert_int_equal(split.foreground_mj, 300);
    assert_int_equal(split.background_mj, 200);
    assert_int_equal(split.unattributed_mj, 100);
}

/* One look stands for 5 s of 20 s at most: the rest is nobody's. */
static void what_nobody_looked_at_is_unattributed(void **state)
{
    (void)state;
    struct colocated_shares shares;
    struct colocated_split split;
    colocated_start(&shares, 0);
    colocated_take(&shares, 20 * NS_PER_S, 100, 40, 60, 0);
    assert_true(colocated_split(&shares, 1000, 20, &split));
    assert_int_equal(split.foreground_mj, 100);
    assert_int_equal(split.background_mj, 150);
    assert_int_equal(split.unattributed_mj, 750);
    assert_near(split.covered_share, 0.25);
}

static void parts_add_up_whatever_the_rounding(void **state)
{
    (void)state;
    for (int64_t total = 0; total < 1000; total += 7) {
        struct colocated_shares shares;
        struct colocated_split split, sum = {0};
        colocated_start(&shares, 0);
        colocated_take(&shares, NS_PER_S, 123.4, 33.3, 66.7, 0);
        assert_true(colocated_split(&shares, total, 1, &split));
        assert_int_equal(split.foreground_mj + split.background_mj + split.unattributed_mj, total);
        assert_true(split.unattributed_mj >= 0);
        colocated_add(&sum, &split);
        colocated_add(&sum, &split);
        assert_int_equal(sum.foreground_mj + sum.background_mj + sum.unattributed_mj, 2 * total);
        assert_int_equal(sum.total_mj, 2 * total);
    }
}

static void without_a_look_there_is_no_split(void **state)
{
    (void)state;
    struct colocated_shares shares;
    struct colocated_split split;
    colocated_start(&shares, 0);
    assert_false(colocated_split(&shares, 1000, 1, &split));
}

/* Ten slices of 98 and 102 W in turn: deviation sqrt(40/9), standard error sqrt(40/90) = 2/3, t
 * with 9 degrees of freedom 2.262. Beside it the read-out: 6 J in 30 s are 0.2 W; and a drift of 2
 * %, 2 W. */
static void the_power_alone_is_as_sure_as_it_was_steady(void **state)
{
    (void)state;
    double slices_w[10];
    struct colocated_alone alone;
    for (int i = 0; i < 10; i++)
        slices_w[i] = i % 2 ? 102 : 98;
    colocated_alone(3000, 6, 30, slices_w, 10, &alone);
    assert_near(alone.power_w, 100);
    assert_near(alone.half_width_w, sqrt(0.2 * 0.2 + 2.262 * 2.262 * 4 / 9 + 2 * 2));
    colocated_alone(3000, 6, 30, slices_w, 3, &alone); /* too few to say */
    assert_near(alone.half_width_w, sqrt(0.2 * 0.2 + 2 * 2));
}

/* Five slices of 90 W, then five of 110 W, are as two values and not as ten. Pairs: 90, 90, 100,
 * 110, 110, variance 100, standard error sqrt(20), t with 4 degrees of freedom 2.776. Neighbours
 * correlate by 0.7, so 1.7 / 0.3 times that. */
static void slices_of_one_phase_are_not_independent(void **state)
{
    (void)state;
    double slices_w[10];
    struct colocated_alone alone;
    for (int i = 0; i < 10; i++)
        slices_w[i] = i < 5 ? 90 : 110;
    colocated_alone(3000, 0, 30, slices_w, 10, &alone);
    assert_near(alone.half_width_w, sqrt(2.776 * 2.776 * 20 * 1.7 / 0.3 + 2 * 2));
}

/* 100 W ± 0.3 W alone; together 6400 J ± 40 J in 40 s: the foreground added 2400 J, ± sqrt(40² +
 * 12²). */
static void the_foreground_added_what_the_background_alone_did_not_draw(void **state)
{
    (void)state;
    struct colocated_alone alone = {.power_w = 100, .half_width_w = 0.3};
    struct colocated_marginal marginal;
    colocated_marginal(6400, 40, 40, &alone, &marginal);
    assert_near(marginal.joules, 2400);
    assert_near(marginal.half_width_j, sqrt(1744));
    assert_true(marginal.is_separable);
    assert_near(marginal.low_j, 2400 - sqrt(1744));
    colocated_marginal(3900, 40, 40, &alone, &marginal);
    assert_near(marginal.joules, -100);
}

/* The case that was printed as -592 J ± 7603 J: an interval, and not an estimate. */
static void a_half_width_above_a_fifth_is_not_separable(void **state)
{
    (void)state;
    struct colocated_alone alone = {.power_w = 100};
    struct colocated_marginal marginal;
    colocated_marginal(9408, 7603, 100, &alone, &marginal);
    assert_false(marginal.is_separable);
    assert_near(marginal.joules, -592);
    assert_near(marginal.low_j, 0);
    assert_near(marginal.high_j, 7011);
    colocated_marginal(11000, 200, 100, &alone, &marginal);
    assert_true(marginal.is_separable);
    colocated_marginal(11000, 201, 100, &alone, &marginal);
    assert_false(marginal.is_separable);
    colocated_marginal(9000, 100, 100, &alone, &marginal);
    assert_false(marginal.is_separable);
    assert_near(marginal.high_j, 0);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_count_by_the_power_that_was_drawn),
        cmocka_unit_test(shares_above_a_hundred_are_scaled_to_it),
        cmocka_unit_test(what_nobody_looked_at_is_unattributed),
        cmocka_unit_test(parts_add_up_whatever_the_rounding),
        cmocka_unit_test(without_a_look_there_is_no_split),
        cmocka_unit_test(the_power_alone_is_as_sure_as_it_was_steady),
        cmocka_unit_test(slices_of_one_phase_are_not_independent),
        cmocka_unit_test(the_foreground_added_what_the_background_alone_did_not_draw),
        cmocka_unit_test(a_half_width_above_a_fifth_is_not_separable),
    };
    return cmocka_run_group_tests_name("colocated", tests, NULL, NULL);
}
