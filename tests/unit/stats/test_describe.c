/* Expected values: by hand, from NIST's reference data (StRD), from closed forms, and from the tables of distributions
 * that stand in every textbook. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stats/describe.h"
#include "stats/special.h"

#include <math.h>

static void near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g is not %.17g within %g", value, expected, tolerance);
}

static struct reading modified_z(const double *x, size_t n, size_t index)
{
    struct stats_robust robust = stats_robust(x, n);
    return stats_modified_z(&robust, x[index]);
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

/* The example of the standard deviation that Wikipedia computes by hand: population 2 4 4 4 5 5 7 9, mean 5, sum of
 * squares 32. */
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
    assert_false(modified_z(zero, 2, 0).valid);
}

/* Type 7 by hand: of 1 2 3 4 10, the 40 % point lies at place 1.6: 2.6; the 90 % point at 3.6: 4 + 0.6 * 6. */
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

/* 1 1 2 2 4 6 9: median 2, distances 1 1 0 0 2 4 7, their median 1 (Wikipedia, "Median absolute deviation"). */
static void the_median_distance_of_a_worked_example(void **state)
{
    (void)state;
    const double x[] = {1, 1, 2, 2, 4, 6, 9};
    near(modified_z(x, 7, 6).value, 0.6745 * 7, 1e-12);
    near(modified_z(x, 7, 0).value, -0.6745, 1e-12);
}

/* More than half equal: the mean distance, 10 / 5, times 1.2533. */
static void equal_values_do_not_hide_an_outlier(void **state)
{
    (void)state;
    const double x[] = {5, 5, 5, 5, 15}, same[] = {5, 5, 5};
    near(modified_z(x, 5, 4).value, 10 / (1.2533141373155 * 2), 1e-12);
    assert_false(modified_z(same, 3, 0).valid);
}

static void limits_of_outliers_fall_with_the_size_of_the_sample(void **state)
{
    (void)state;
    assert_true(isinf(stats_outlier_limit(4)));
    for (size_t n = 6; n < 200; n++)
        assert_true(stats_outlier_limit(n) <= stats_outlier_limit(n - 1));
    assert_true(stats_outlier_limit(1000) > 3.5);
}

static void the_normal_distribution_is_that_of_the_tables(void **state)
{
    (void)state;
    near(special_normal_quantile(0.975), 1.959963984540054, 1e-12);
    near(special_normal_quantile(0.5), 0, 1e-12);
    near(special_normal_quantile(0.001), -3.090232306167813, 1e-12);
    near(special_normal_cdf(1), 0.8413447460685429, 1e-14);
}

/* With 1 and 2 degrees of freedom Student's t has closed forms; the quantiles are those of the tables. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nist_numacc4_keeps_its_digits),
        cmocka_unit_test(mean_deviation_and_cv_of_a_worked_example),
        cmocka_unit_test(what_too_few_values_cannot_tell_is_absent),
        cmocka_unit_test(quantiles_are_of_type_7),
        cmocka_unit_test(the_median_distance_of_a_worked_example),
        cmocka_unit_test(equal_values_do_not_hide_an_outlier),
        cmocka_unit_test(limits_of_outliers_fall_with_the_size_of_the_sample),
        cmocka_unit_test(the_normal_distribution_is_that_of_the_tables),
        cmocka_unit_test(students_t_is_that_of_the_tables),
        cmocka_unit_test(chi_squared_is_that_of_the_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
