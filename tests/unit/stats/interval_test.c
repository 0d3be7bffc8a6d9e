/* How often intervals hold the truth is tried on samples drawn with a fixed seed, so each run of
 * the test is the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/rng.h"
#include "stats/describe.h"
#include "stats/interval.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g is not %.17g within %g", value, expected, tolerance);
}

static bool holds(struct stats_interval interval, double truth)
{
    return interval.method != STATS_NONE && interval.low <= truth && truth <= interval.high;
}

static double exponential(struct rng *rng)
{
    return -log(1 - rng_unit(rng));
}

static void between(const char *what, double coverage, double least, double most)
{
    printf("# %s: %.1f %%\n", what, 100 * coverage);
    if (coverage < least || coverage > most)
        fail_msg("%s: %.3f is not within %.3f and %.3f", what, coverage, least, most);
}

static void intervals_of_medians_hold_the_truth_at_least_as_often(void **state)
{
    (void)state;
    struct rng rng;
    int held = 0;
    rng_seed(&rng, 3);
    for (int i = 0; i < 4000; i++) {
        double x[15];
        for (size_t k = 0; k < 15; k++)
            x[k] = exponential(&rng);
        held += holds(stats_median_interval(x, 15), M_LN2);
    }
    /* Ranks 4 and 12 of 15: 96.5 % by the binomial distribution. */
    between("median of 15", held / 4000.0, 0.955, 0.975);
}

/* The ranks that textbooks tabulate: n = 6: 1 and 6; 10: 2 and 9; 20: 6 and 15; none below 6. */
static void the_ranks_of_the_medians_bounds_are_those_of_the_tables(void **state)
{
    (void)state;
    double x[20];
    for (int i = 0; i < 20; i++)
        x[i] = 20 - i;
    assert_int_equal(stats_median_interval(x + 15, 5).method, STATS_NONE);
    struct stats_interval six = stats_median_interval(x + 14, 6),
                          ten = stats_median_interval(x + 10, 10),
                          twenty = stats_median_interval(x, 20);
    near(six.low, 1, 0);
    near(six.high, 6, 0);
    near(ten.low, 2, 0);
    near(ten.high, 9, 0);
    near(twenty.low, 6, 0);
    near(twenty.high, 15, 0);
}

/* Logarithms 0, ln 2, 2 ln 2: mean and deviation ln 2; t(2) = 4.302653. Logits of 0.2, 0.5 and 0.8:
 * -ln 4, 0, ln 4. */
static void the_median_of_a_few_values_is_students_on_their_scale(void **state)
{
    (void)state;
    const double energies[] = {4, 1, 2}, shares[] = {0.2, 0.8, 0.5}, percent[] = {20, 80, 50},
                 zero[] = {1, 0, 2};
    const char *why = "";
    struct stats_interval energy = stats_median_interval_on(energies, 3, STATS_POSITIVE, &why);
    assert_null(why);
    assert_int_equal(energy.method, STATS_T);
    near(log(energy.low / 2), -4.302652729696 * M_LN2 / sqrt(3), 1e-9);
    near(log(energy.high / 2), 4.302652729696 * M_LN2 / sqrt(3), 1e-9);
    struct stats_interval share = stats_median_interval_on(shares, 3, STATS_SHARE, NULL),
                          same = stats_median_interval_on(percent, 3, STATS_PERCENT, NULL);
    near(log(share.high / (1 - share.high)), 4.302652729696 * log(4) / sqrt(3), 1e-9);
    near(same.high, 100 * share.high, 1e-9);
    near(same.low, 100 * share.low, 1e-9);
    near(stats_median_interval_on(shares, 3, STATS_ANY, NULL).high,
         0.5 + 4.302652729696 * 0.3 / sqrt(3), 1e-9);
    assert_int_equal(stats_median_interval_on(zero, 3, STATS_POSITIVE, &why).method, STATS_NONE);
    assert_string_equal(why, "fewer than 6 values, and one at the end of what is possible");
    assert_int_equal(stats_median_interval_on(energies, 2, STATS_POSITIVE, &why).method,
                     STATS_NONE);
    assert_string_equal(why, "fewer than 3 values");
    assert_int_equal(
        stats_median_interval_on((const double[]){7, 7, 7, 7}, 4, STATS_POSITIVE, &why).method,
        STATS_NONE);
    assert_non_null(strstr(why, "all equal"));
}

/* Hall's t of a mean m away by w deviations: w + g w^2 / 3 + g^2 w^3 / 27 + g / 6 n, which at his
 * bounds is Student's t over the root of n. */
static double halls_t(double w, double g, double n)
{
    return w + g * w * w / 3 + g * g * w * w * w / 27 + g / (6 * n);
}

static void the_mean_of_thirty_values_is_halls_or_students_whichever_is_wider(void **state)
{
    (void)state;
    double x[30], cubes = 0, squares = 0;
    const char *why = NULL;
    for (int i = 0; i < 30; i++)
        x[i] = i < 27 ? 100 + i % 9 : 300;
    double mean = (27 * 104 + 900) / 30.0, t = 2.045229642132703; /* t(29) */
    for (int i = 0; i < 30; i++) {
        squares += (x[i] - mean) * (x[i] - mean);
        cubes += pow(x[i] - mean, 3);
    }
    double deviation = sqrt(squares / 29), skewness = cubes / 30 / pow(squares / 30, 1.5);
    struct stats_interval interval = stats_mean_interval(x, 30, STATS_POSITIVE, &why);
    assert_null(why);
    assert_int_equal(interval.method, STATS_HALL);
    /* skewed to the right: below, Student's is the wider */
    near(interval.low, mean - t * deviation / sqrt(30), 1e-9);
    near(halls_t((mean - interval.high) / deviation, skewness, 30), -t / sqrt(30), 1e-9);
    assert_true(interval.high > mean + t * deviation / sqrt(30));
}

/* scipy.stats.t.interval(0.95, 2, 13, sem([10, 12, 17])). */
static void the_mean_of_three_seeds_has_students_interval(void **state)
{
    (void)state;
    const double seeds[] = {10, 12, 17};
    const char *why = "";
    struct stats_interval interval = stats_mean_interval(seeds, 3, STATS_POSITIVE, &why);
    assert_null(why);
    assert_int_equal(interval.method, STATS_T);
    near(interval.low, 4.043314104633563, 1e-9);
    near(interval.high, 21.956685895366437, 1e-9);
    assert_int_equal(stats_mean_interval(seeds, 2, STATS_POSITIVE, &why).method, STATS_NONE);
    assert_string_equal(why, "fewer than 3 values");
}

static void no_interval_of_a_mean_leaves_what_is_possible(void **state)
{
    (void)state;
    double energies[30] = {0}, percent[30];
    energies[0] = 1;
    for (int i = 0; i < 30; i++)
        percent[i] = i ? 100 : 0;
    assert_true(stats_mean_interval(energies, 30, STATS_ANY, NULL).low < 0);
    near(stats_mean_interval(energies, 30, STATS_POSITIVE, NULL).low, 0, 0);
    assert_true(stats_mean_interval(percent, 30, STATS_ANY, NULL).high > 100);
    near(stats_mean_interval(percent, 30, STATS_PERCENT, NULL).high, 100, 0);
}

static void intervals_of_a_coefficient_of_variation_hold_it(void **state)
{
    (void)state;
    struct rng rng;
    int held = 0;
    rng_seed(&rng, 11);
    for (int i = 0; i < 4000; i++) {
        double x[8];
        for (size_t k = 0; k < 8; k++)
            x[k] = 100 + 10 * rng_normal(&rng);
        held += holds(stats_cv_interval(stats_cv(x, 8).value, 8), 0.1);
    }
    between("coefficient of variation of 8", held / 4000.0, 0.94, 0.96);
    assert_int_equal(stats_cv_interval(0.1, 1).method, STATS_NONE);
}

/* 10 % of spread and 5 % wanted: t(17) 2.1098 * 0.1 / sqrt(18) = 0.0497, t(16) 2.1199 * 0.1 /
 * sqrt(17) = 0.0514. */
static void repeats_are_as_many_as_the_tables_of_t_say(void **state)
{
    (void)state;
    assert_int_equal(stats_repeats(0.10, 0.05), 18);
    assert_int_equal(stats_repeats(0.0, 0.05), 2);
    /* 12.7062 * 0.01 / sqrt(2) = 0.0898, 4.3027 * 0.01 / sqrt(3) = 0.0248. */
    assert_int_equal(stats_repeats(0.01, 0.09), 2);
    assert_int_equal(stats_repeats(0.01, 0.05), 3);
    assert_int_equal(stats_repeats(0.1, 0), 0);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_of_medians_hold_the_truth_at_least_as_often),
        cmocka_unit_test(the_ranks_of_the_medians_bounds_are_those_of_the_tables),
        cmocka_unit_test(the_median_of_a_few_values_is_students_on_their_scale),
        cmocka_unit_test(the_mean_of_thirty_values_is_halls_or_students_whichever_is_wider),
        cmocka_unit_test(the_mean_of_three_seeds_has_students_interval),
        cmocka_unit_test(no_interval_of_a_mean_leaves_what_is_possible),
        cmocka_unit_test(intervals_of_a_coefficient_of_variation_hold_it),
        cmocka_unit_test(repeats_are_as_many_as_the_tables_of_t_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
