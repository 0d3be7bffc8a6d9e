/* Expected values: by hand, from NIST's reference data (StRD), from closed forms, and from the
 * tables of distributions that stand in every textbook. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/rng.h"
#include "stats/describe.h"

#include <math.h>

static void near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g is not %.17g within %g", value, expected, tolerance);
}

/* NIST StRD NumAcc4: certified mean 10000000.2, deviation 0.1. */
static void nist_numacc4_keeps_its_digits(void **state)
{
    (void)state;
    double x[1001];
    x[0] = 10000000.2;
    for (int i = 1; i < 1001; i++)
        x[i] = i % 2 ? 10000000.1 : 10000000.3;
    near(stats_mean(x, 1001).value, 10000000.2, 2e-9);
    near(stats_deviation(x, 1001).value, 0.1, 1e-8);
}

/* The example of the standard deviation that Wikipedia computes by hand: population 2 4 4 4 5 5 7
 * 9, mean 5, sum of squares 32. */
static void mean_deviation_and_cv_of_a_worked_example(void **state)
{
    (void)state;
    const double x[] = {2, 4, 4, 4, 5, 5, 7, 9};
    near(stats_mean(x, 8).value, 5, 0);
    near(stats_deviation(x, 8).value, sqrt(32.0 / 7), 1e-15);
    near(stats_cv(x, 8).value, sqrt(32.0 / 7) / 5, 1e-15);
}

static void what_too_few_values_cannot_tell_is_absent(void **state)
{
    (void)state;
    const double one[] = {3}, zero[] = {-1, 1};
    assert_false(stats_mean(one, 0).valid);
    assert_true(stats_mean(one, 1).valid);
    assert_false(stats_deviation(one, 1).valid);
    assert_false(stats_median(one, 0).valid);
    assert_false(stats_cv(zero, 2).valid);
}

/* Type 7 by hand: of 1 2 3 4 10, the 40 % point lies at place 1.6: 2.6; the 90 % point at 3.6: 4 +
 * 0.6 * 6. */
static void quantiles_are_of_type_7(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3, 4, 10}, even[] = {7, 1, 3, 5};
    near(stats_quantile(x, 5, 0), 1, 0);
    near(stats_quantile(x, 5, 1), 10, 0);
    near(stats_quantile(x, 5, 0.4), 2.6, 1e-15);
    near(stats_quantile(x, 5, 0.9), 7.6, 1e-15);
    near(stats_median(even, 4).value, 4, 0);
}

/* Rosner's data and result as the NIST/SEMATECH e-Handbook gives them (1.3.5.17.3): at 5 % three
 * outliers. */
static void the_outliers_of_rosners_paper_are_found(void **state)
{
    (void)state;
    static const double x[] = {-0.25, 0.68, 0.94, 1.15, 1.20, 1.26, 1.26, 1.34, 1.38, 1.43, 1.49,
                               1.49,  1.55, 1.56, 1.58, 1.65, 1.69, 1.70, 1.76, 1.77, 1.81, 1.91,
                               1.94,  1.96, 1.99, 2.06, 2.09, 2.10, 2.14, 2.15, 2.23, 2.24, 2.26,
                               2.35,  2.37, 2.40, 2.47, 2.54, 2.62, 2.64, 2.90, 2.92, 2.92, 2.93,
                               3.21,  3.26, 3.30, 3.59, 3.68, 4.30, 4.64, 5.34, 5.42, 6.01};
    bool out[54];
    assert_int_equal(stats_outliers(x, 54, 10, 0.05, out), 3);
    for (size_t i = 0; i < 54; i++)
        assert_int_equal(out[i], i >= 51);
}

/* Grubbs' test of five values at 5 % has the limit 1.715 (every table of it). */
static void of_five_values_one_is_an_outlier_from_grubbs_limit_on(void **state)
{
    (void)state;
    const double inside[] = {10, 11, 12, 13, 18.4}, outside[] = {10, 11, 12, 13, 25};
    const double same[] = {5, 5, 5, 5, 5}, but_one[] = {5, 5, 5, 5, 15}, four[] = {5, 5, 5, 15};
    bool out[5];
    /* (18.4 - 12.88) / 3.298 = 1.674 */
    assert_int_equal(stats_outliers(inside, 5, 1, 0.05, out), 0);
    assert_int_equal(stats_outliers(outside, 5, 1, 0.05, out), 1); /* (25 - 14.2) / 6.140 = 1.759 */
    assert_true(out[4]);
    assert_int_equal(stats_outliers(same, 5, 1, 0.05, out), 0);
    assert_int_equal(stats_outliers(but_one, 5, 1, 0.001, out), 1);
    assert_int_equal(stats_outliers(four, 4, 1, 0.05, out), 0);
}

static void two_outliers_do_not_hide_each_other(void **state)
{
    (void)state;
    const double x[] = {100, 101, 99, 100.5, 150, 99.5, 100.2, 152, 99.8, 100.1};
    bool out[10];
    assert_int_equal(stats_outliers(x, 10, 2, 0.001, out), 2);
    assert_true(out[4] && out[7]);
}

/* One sample in a hundred at most (the level is divided by how many may be named), and not none:
 * 4,000 samples of each size, a standard error of 0.16 %. */
static void normal_samples_have_outliers_as_rarely_as_asked(void **state)
{
    (void)state;
    static const size_t sizes[] = {5, 7, 10, 15, 30};
    struct rng rng;
    rng_seed(&rng, 1983);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t accused = 0;
        for (int i = 0; i < 4000; i++) {
            double x[30];
            bool out[30];
            for (size_t k = 0; k < sizes[s]; k++)
                x[k] = rng_normal(&rng);
            accused +=
                stats_outliers(x, sizes[s], sizes[s] / 5, 0.01 / (double)(sizes[s] / 5), out) > 0;
        }
        if (accused > 55 || accused == 0)
            fail_msg("%zu of 4000 samples of %zu", accused, sizes[s]);
    }
}

static void the_normal_distribution_is_that_of_the_tables(void **state)
{
    (void)state;
    near(special_normal_quantile(0.975), 1.959963984540054, 1e-12);
    near(special_normal_quantile(0.5), 0, 1e-12);
    near(special_normal_quantile(0.001), -3.090232306167813, 1e-12);
    near(special_normal_cdf(1), 0.8413447460685429, 1e-14);
}

/* With 1 and 2 degrees of freedom Student's t has closed forms; the quantiles are those of the
 * tables. */
static void students_t_is_that_of_the_tables(void **state)
{
    (void)state;
    static const struct {
        double df, quantile;
    } rows[] = {{1, 12.706204736432}, {2, 4.302652729696},  {5, 2.570581835636},
                {10, 2.228138851965}, {30, 2.042272456301}, {120, 1.979930405082}};
    for (double t = -5; t <= 5; t += 0.5) {
        near(special_t_cdf(t, 1), 0.5 + atan(t) / M_PI, 1e-13);
        near(special_t_cdf(t, 2), 0.5 + t / (2 * sqrt(2 + t * t)), 1e-13);
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        near(special_t_quantile(0.975, rows[i].df), rows[i].quantile, 1e-9);
        near(special_t_quantile(0.025, rows[i].df), -rows[i].quantile, 1e-9);
    }
}

static void chi_squared_is_that_of_the_tables(void **state)
{
    (void)state;
    for (double x = 0.5; x < 40; x += 1.5)
        near(special_chi2_cdf(x, 2), 1 - exp(-x / 2), 1e-13);
    near(special_chi2_quantile(0.95, 1), 3.841458820694124, 1e-10);
    near(special_chi2_quantile(0.975, 9), 19.02276780, 1e-7);
    near(special_chi2_quantile(0.025, 9), 2.70038950, 1e-7);
}

/* scipy.stats.skewtest and skew. */
static void skewness_is_told_from_chance_from_eight_values_on(void **state)
{
    (void)state;
    const double skewed[] = {1, 2, 3, 4, 5, 6, 7, 30},
                 even[] = {2.1, 3.4, 2.9, 3.8, 2.2, 3.1, 3.3, 2.7, 3.0, 2.6},
                 same[] = {4, 4, 4, 4, 4, 4, 4, 4};
    near(stats_skewness(skewed, 8), 2.065711310109673, 1e-13);
    near(stats_skew_p(skewed, 8).value, 0.0010124025125733322, 1e-14);
    near(stats_skew_p(even, 10).value, 0.9563663981332869, 1e-12);
    assert_false(stats_skew_p(skewed, 7).valid);
    assert_false(stats_skew_p(same, 8).valid);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nist_numacc4_keeps_its_digits),
        cmocka_unit_test(mean_deviation_and_cv_of_a_worked_example),
        cmocka_unit_test(what_too_few_values_cannot_tell_is_absent),
        cmocka_unit_test(quantiles_are_of_type_7),
        cmocka_unit_test(the_outliers_of_rosners_paper_are_found),
        cmocka_unit_test(of_five_values_one_is_an_outlier_from_grubbs_limit_on),
        cmocka_unit_test(two_outliers_do_not_hide_each_other),
        cmocka_unit_test(normal_samples_have_outliers_as_rarely_as_asked),
        cmocka_unit_test(the_normal_distribution_is_that_of_the_tables),
        cmocka_unit_test(students_t_is_that_of_the_tables),
        cmocka_unit_test(chi_squared_is_that_of_the_tables),
        cmocka_unit_test(skewness_is_told_from_chance_from_eight_values_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
