/* How often intervals hold the truth is tried on samples drawn with a fixed seed, so each run of the test is the
 * same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stats/describe.h"
#include "stats/interval.h"

#include <math.h>
#include <stdio.h>

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

static double coverage_of_mean(size_t n, bool skewed, int rounds)
{
    struct rng data, boot;
    int held = 0;
    rng_seed(&data, 7);
    rng_seed(&boot, 8);
    for (int i = 0; i < rounds; i++) {
        double x[64];
        for (size_t k = 0; k < n; k++)
            x[k] = skewed ? exponential(&data) : 100 + 5 * rng_normal(&data);
        held += holds(stats_mean_interval(x, n, &boot), skewed ? 1 : 100);
    }
    return (double)held / rounds;
}

static void intervals_of_means_hold_the_truth_as_often_as_they_say(void **state)
{
    (void)state;
    between("normal, 3 values, t", coverage_of_mean(3, false, 4000), 0.935, 0.965);
    between("normal, 8 values, bca", coverage_of_mean(8, false, 500), 0.91, 0.98);
    between("normal, 20 values, bca", coverage_of_mean(20, false, 400), 0.92, 0.98);
    between("exponential, 30 values, bca", coverage_of_mean(30, true, 400), 0.90, 0.98);
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
    struct stats_interval six = stats_median_interval(x + 14, 6), ten = stats_median_interval(x + 10, 10),
                          twenty = stats_median_interval(x, 20);
    near(six.low, 1, 0);
    near(six.high, 6, 0);
    near(ten.low, 2, 0);
    near(ten.high, 9, 0);
    near(twenty.low, 6, 0);
    near(twenty.high, 15, 0);
}

/* Student (1908), additional hours of sleep by laevohysocyamine less hyoscyamine: mean 1.58, deviation 1.230 (n =
 * 10). */
static void the_interval_of_a_few_values_is_students(void **state)
{
    (void)state;
    const double first_five[] = {1.2, 2.4, 1.3, 1.3, 0.0};
    struct rng rng;
    rng_seed(&rng, 1);
    struct stats_interval interval = stats_mean_interval(first_five, 5, &rng);
    /* Mean 1.24, squares 2.892, so deviation 0.850294; t(4) = 2.776445. */
    assert_int_equal(interval.method, STATS_T);
    near(interval.low, 1.24 - 2.776445105198 * sqrt(2.892 / 4 / 5), 1e-9);
    near(interval.high, 1.24 + 2.776445105198 * sqrt(2.892 / 4 / 5), 1e-9);
    assert_int_equal(stats_mean_interval(first_five, 1, &rng).method, STATS_NONE);
}

static void the_same_seed_gives_the_same_interval(void **state)
{
    (void)state;
    const double x[] = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
    struct rng a, b;
    rng_seed(&a, 5);
    rng_seed(&b, 5);
    struct stats_interval first = stats_mean_interval(x, 10, &a), second = stats_mean_interval(x, 10, &b);
    assert_int_equal(first.method, STATS_BOOTSTRAP);
    near(first.low, second.low, 0);
    near(first.high, second.high, 0);
    /* Student's own interval of these, his first column, is -0.53 to 2.03 (mean 0.75, deviation 1.789). */
    near(first.low, -0.53, 0.25);
    near(first.high, 2.03, 0.35);
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

/* 10 % of spread and 5 % wanted: t(17) 2.1098 * 0.1 / sqrt(18) = 0.0497, t(16) 2.1199 * 0.1 / sqrt(17) = 0.0514. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_of_means_hold_the_truth_as_often_as_they_say),
        cmocka_unit_test(intervals_of_medians_hold_the_truth_at_least_as_often),
        cmocka_unit_test(the_ranks_of_the_medians_bounds_are_those_of_the_tables),
        cmocka_unit_test(the_interval_of_a_few_values_is_students),
        cmocka_unit_test(the_same_seed_gives_the_same_interval),
        cmocka_unit_test(intervals_of_a_coefficient_of_variation_hold_it),
        cmocka_unit_test(repeats_are_as_many_as_the_tables_of_t_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
