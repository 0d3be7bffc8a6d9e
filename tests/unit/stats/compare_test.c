#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/rng.h"
#include "stats/compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g is not %.17g within %g", value, expected, tolerance);
}

static struct stats_rank spearman(const double *x, const double *y, size_t n)
{
    struct rng rng;
    rng_seed(&rng, 1);
    return stats_spearman(x, y, n, &rng);
}

/* Wikipedia's worked example (IQ against hours of television): rho = -29/165, p = 0.627188. */
static void spearman_of_the_published_example(void **state)
{
    (void)state;
    const double iq[] = {106, 100, 86, 101, 99, 103, 97, 113, 112, 110},
                 hours[] = {7, 27, 2, 50, 28, 29, 20, 12, 6, 17};
    struct stats_rank rank = spearman(iq, hours, 10);
    assert_true(rank.valid);
    near(rank.rho, -29.0 / 165, 1e-14);
    near(rank.p, 0.627188, 0.04); /* of random orders, until 1000 go as far */
    /* Bonett and Wright: atanh(rho) -+ 1.959964 sqrt((1 + rho^2/2) / 7). */
    double half = 1.959963984540054 * sqrt((1 + 29.0 * 29 / 165 / 165 / 2) / 7);
    near(rank.interval.low, tanh(atanh(-29.0 / 165) - half), 1e-12);
    near(rank.interval.high, tanh(atanh(-29.0 / 165) + half), 1e-12);
}

/* Of 4! orders two are as extreme as a perfect one; of 5! ten are as extreme as rho = 0.9 (its
 * table says 0.083). */
static void small_samples_have_exact_p_values(void **state)
{
    (void)state;
    const double four[] = {1, 2, 3, 4}, squares[] = {1, 4, 9, 16}, five[] = {1, 2, 3, 4, 5},
                 swapped[] = {2, 1, 3, 4, 5};
    near(spearman(four, squares, 4).rho, 1, 0);
    near(spearman(four, squares, 4).p, 2.0 / 24, 1e-15);
    near(spearman(five, swapped, 5).rho, 0.9, 1e-14);
    near(spearman(five, swapped, 5).p, 10.0 / 120, 1e-15);
    assert_int_equal(spearman(four, squares, 4).interval.method, STATS_NONE);
}

/* No p value is 0: of 19,999 random orders none goes as far as a perfect one of 30, and that one is
 * counted. */
static void a_perfect_order_has_a_p_value_and_no_interval(void **state)
{
    (void)state;
    double x[30], y[30];
    for (int i = 0; i < 30; i++) {
        x[i] = i;
        y[i] = -i * i;
    }
    struct stats_rank rank = spearman(x, y, 30);
    near(rank.rho, -1, 0);
    near(rank.p, 1.0 / 20000, 1e-15);
    assert_int_equal(rank.interval.method, STATS_NONE);
    /* Ties: the two highest of ten fall on the two highest in one of 45 orders, and none goes as
     * far the other way. */
    for (int i = 0; i < 10; i++)
        x[i] = y[i] = i >= 8;
    near(spearman(x, y, 10).p, 1.0 / 45, 0.003);
}

/* Ranks 1, 2.5, 2.5, 4 against 1 2 3 4: 4.5 / sqrt(4.5 * 5). */
static void ties_share_their_mean_rank(void **state)
{
    (void)state;
    const double tied[] = {1, 5, 5, 9}, plain[] = {1, 2, 3, 4}, same[] = {2, 2, 2, 2};
    near(spearman(tied, plain, 4).rho, 4.5 / sqrt(4.5 * 5), 1e-14);
    assert_false(spearman(same, plain, 4).valid);
    assert_false(spearman(tied, plain, 2).valid);
}

/* The 15 p values of Benjamini and Hochberg (1995), section 3.2: at 5 % Bonferroni's procedure (and
 * Holm's) rejects three. */
static void many_tests_are_corrected_as_in_the_paper(void **state)
{
    (void)state;
    static const double p[15] = {0.0344, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0001,
                                 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
    double holm[15];
    size_t rejected = 0;
    memcpy(holm, p, sizeof p);
    stats_adjust_holm(holm, 15);
    for (int i = 0; i < 15; i++)
        rejected += holm[i] <= 0.05;
    assert_int_equal(rejected, 3);
    near(holm[7], 0.0001 * 15, 1e-15);
    near(holm[1], 0.0004 * 14, 1e-15);
    near(holm[2], 0.0019 * 13, 1e-15);
    near(holm[14], 1, 0);
}

/* In one group. */
static struct stats_change change_of_one(const double *x, size_t n, size_t least, struct rng *rng)
{
    static const size_t group[60];
    assert_in_range(n, 1, 60);
    return stats_change_point(x, group, 1, n, least, rng);
}

static void a_planted_change_is_found_where_it_is(void **state)
{
    (void)state;
    struct rng rng;
    double x[60];
    rng_seed(&rng, 21);
    for (int i = 0; i < 60; i++)
        x[i] = rng_normal(&rng) + (i < 35 ? 0 : 4);
    struct stats_change change = change_of_one(x, 60, 5, &rng);
    assert_true(change.found);
    assert_int_equal(change.first, 35);
    near(change.after - change.before, 4, 1);
    /* None of 1999 shuffles comes near. */
    near(change.p, 1.0 / 2000, 1e-12);
}

/* Six groups of ten values, of which two or one are higher by themselves. */
static struct stats_change pooled(size_t first_high, size_t second_high, int sign)
{
    struct rng rng;
    double x[60];
    size_t group[60];
    rng_seed(&rng, 23);
    for (size_t i = 0; i < 60; i++) {
        group[i] = i / 10;
        x[i] = rng_normal(&rng) + (group[i] == first_high || group[i] == second_high ? 5 : 0);
    }
    return stats_change_pooled(x, group, 60, 5, sign, &rng);
}

static void a_change_that_groups_share_is_found_though_no_group_is_on_both_sides(void **state)
{
    (void)state;
    struct stats_change change = pooled(4, 5, 1);
    assert_true(change.found);
    assert_int_equal(change.first, 40);
    near(change.after - change.before, 5, 1);
    near(change.p, 1.0 / 2000, 1e-12);
    /* Both are last in 1 of 15 orders; noise shifts the strength of those. */
    near(change.p_order, 1.0 / 15, 0.05);
}

static void a_rise_is_not_a_fall_and_one_group_by_itself_is_as_likely_elsewhere(void **state)
{
    (void)state;
    struct stats_change fall = pooled(4, 5, -1);
    assert_true(fall.p > 0.5);
    /* One of six is last, by itself, in 1 of 6 orders. */
    near(pooled(5, 5, 1).p_order, 1.0 / 6, 0.05);
    /* Its place among the others says more than that it differs. */
    assert_true(pooled(1, 3, 1).p_order > 0.3);
}

/* Where ones are dense at the end, the rate changes where they become so; where they are spread
 * from the 20th value on, there. */
static void a_rate_changes_where_the_first_of_rare_ones_is(void **state)
{
    (void)state;
    double x[40] = {0};
    static const size_t ones[] = {20, 25, 32, 33, 34, 35, 36, 37, 38, 39};
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++)
        x[ones[i]] = 1;
    assert_int_equal(stats_change_of_rate(x, 40, 5), 32);
    x[32] = x[33] = x[34] = x[35] = 0;
    x[21] = x[23] = x[28] = x[30] = 1;
    assert_int_equal(stats_change_of_rate(x, 40, 5), 20);
    assert_int_equal(stats_change_of_rate(x, 9, 5), 0);
}

static void noise_alone_is_called_a_change_in_one_of_twenty_at_most(void **state)
{
    (void)state;
    struct rng rng;
    int found = 0;
    rng_seed(&rng, 22);
    for (int round = 0; round < 300; round++) {
        double x[20];
        for (int i = 0; i < 20; i++)
            x[i] = rng_normal(&rng);
        found += change_of_one(x, 20, 5, &rng).found;
    }
    printf("# changes found in noise: %.1f %%\n", found / 3.0);
    assert_true(found <= 24); /* 15 are to be expected; more than 24 in 1 of 100 seeds */
    const double same[12] = {0};
    assert_false(change_of_one(same, 12, 3, &rng).found);
    assert_false(change_of_one(same, 5, 3, &rng).found);
}

static void the_front_holds_what_nothing_beats(void **state)
{
    (void)state;
    const double cost[] = {1, 2, 3, 4, 2, 5}, quality[] = {10, 20, 15, 30, 20, 30};
    bool front[6];
    stats_pareto(cost, quality, 6, front);
    const bool expected[] = {true, true, false, true, true, false};
    assert_memory_equal(front, expected, sizeof front);
}

/* scipy.stats.linregress; of 8 values two of the 8! orders are as extreme as a perfect one. */
static void a_trend_of_few_points_is_students_and_of_more_of_their_order(void **state)
{
    (void)state;
    const double epochs[] = {5, 8, 12, 15, 20}, energy[] = {4994.6, 8009, 12029, 15116, 19973},
                 powers[] = {1, 2, 4, 8, 16}, pi[] = {3, 1, 4, 1, 5},
                 seven[] = {1, 2, 3, 4, 5, 6, 7}, mixed[] = {2, 1, 4, 3, 7, 5, 6},
                 eight[] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct rng rng;
    rng_seed(&rng, 1);
    struct stats_trend line = stats_trend(epochs, energy, 5, &rng),
                       noise = stats_trend(powers, pi, 5, &rng),
                       some = stats_trend(seven, mixed, 7, &rng),
                       order = stats_trend(eight, eight, 8, &rng);
    assert_int_equal(line.test, STATS_TREND_STUDENT);
    near(line.r, 0.9999564311471886, 1e-13);
    near(line.p / 3.452194104030969e-07, 1, 1e-9);
    near(noise.p, 0.3814566662506363, 1e-12);
    near(some.p, 0.02344880834569151, 1e-12);
    assert_int_equal(order.test, STATS_TREND_PERMUTATIONS);
    near(order.p, 2.0 / 40320, 1e-15);
    struct stats_trend exact = stats_trend(seven, seven, 7, &rng);
    assert_true(exact.p > 0 && exact.p < 1e-15);
    assert_false(stats_trend(powers, pi, 4, &rng).valid);
}

/* Of 5 and 5 the 252 orders have 2 runs in 2 cases, 3 in 8, 4 in 32: P(at most 3) = 0.040, P(at
 * most 4) = 0.167. */
static void an_order_that_could_explain_a_difference_is_told(void **state)
{
    (void)state;
    const bool apart[] = {0, 0, 0, 0, 0, 1, 1, 1, 1, 1}, three[] = {0, 0, 0, 1, 1, 1, 1, 1, 0, 0},
               four[] = {0, 0, 0, 1, 1, 0, 0, 1, 1, 1}, one[] = {0, 0, 0}, pair[] = {0, 1, 1};
    assert_true(stats_order_confounded(apart, 10));
    assert_true(stats_order_confounded(three, 10));
    assert_false(stats_order_confounded(four, 10));
    assert_false(stats_order_confounded(one, 3));
    assert_true(stats_order_confounded(pair, 3));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spearman_of_the_published_example),
        cmocka_unit_test(small_samples_have_exact_p_values),
        cmocka_unit_test(a_perfect_order_has_a_p_value_and_no_interval),
        cmocka_unit_test(ties_share_their_mean_rank),
        cmocka_unit_test(many_tests_are_corrected_as_in_the_paper),
        cmocka_unit_test(a_planted_change_is_found_where_it_is),
        cmocka_unit_test(a_change_that_groups_share_is_found_though_no_group_is_on_both_sides),
        cmocka_unit_test(a_rise_is_not_a_fall_and_one_group_by_itself_is_as_likely_elsewhere),
        cmocka_unit_test(a_rate_changes_where_the_first_of_rare_ones_is),
        cmocka_unit_test(noise_alone_is_called_a_change_in_one_of_twenty_at_most),
        cmocka_unit_test(the_front_holds_what_nothing_beats),
        cmocka_unit_test(a_trend_of_few_points_is_students_and_of_more_of_their_order),
        cmocka_unit_test(an_order_that_could_explain_a_difference_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
