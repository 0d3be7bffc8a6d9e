#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "stats/describe.h"
#include "stats/effect.h"

#include <math.h>

static void near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g is not %.17g within %g", value, expected, tolerance);
}

/* Two strata, one pair each, with differences 1 and 3: mean 2, deviation sqrt(2), error 1; t with
 * one degree of freedom. */
static void pairs_are_the_paired_t_test(void **state)
{
    (void)state;
    const double y[] = {0, 1, 10, 13};
    const bool is_b[] = {false, true, false, true};
    const size_t stratum[] = {0, 0, 1, 1};
    struct stats_effect out;
    stats_effect(
        &(struct stats_effect_input){
            .count = 4, .y = y, .is_b = is_b, .stratum = stratum, .strata = 2},
        &out);
    assert_true(out.valid && out.has_error);
    near(out.log_ratio, 2, 1e-12);
    near(out.error, 1, 1e-12);
    near(out.df, 1, 1e-12);
    near(out.p, 2 * special_t_cdf(-2, 1), 1e-12);
    assert_int_equal(out.strata, 2);
    assert_false(out.has_heterogeneity);
}

/* 0, 2 against 5, 7: difference 5; variances 2 and 2, so the error is sqrt(2/2 + 2/2), with 2
 * degrees of freedom. */
static void one_stratum_is_welchs_t_test(void **state)
{
    (void)state;
    const double y[] = {0, 2, 5, 7};
    const bool is_b[] = {false, false, true, true};
    const size_t stratum[] = {0, 0, 0, 0};
    struct stats_effect out;
    stats_effect(
        &(struct stats_effect_input){
            .count = 4, .y = y, .is_b = is_b, .stratum = stratum, .strata = 1},
        &out);
    near(out.log_ratio, 5, 1e-12);
    near(out.error, sqrt(2), 1e-12);
    near(out.df, 2, 1e-12);
    near(out.sigma, sqrt(2), 1e-12);
}

/* The same of values as they are, far from 1: differences in their unit. */
static void plain_values_give_a_difference_in_their_unit(void **state)
{
    (void)state;
    const double y[] = {1e9, 3e9, 6e9, 8e9};
    const bool is_b[] = {false, false, true, true};
    const size_t stratum[] = {0, 0, 0, 0};
    struct stats_effect out;
    stats_effect(
        &(struct stats_effect_input){
            .count = 4, .y = y, .plain = true, .is_b = is_b, .stratum = stratum, .strata = 1},
        &out);
    double half = special_t_quantile(0.975, 2) * sqrt(2) * 1e9;
    near(out.ratio, 5e9, 1e-2);
    near(out.error, sqrt(2) * 1e9, 1e-2);
    near(out.sigma, sqrt(2) * 1e9, 1e-2);
    near(out.interval.low, 5e9 - half, 1);
    near(out.interval.high, 5e9 + half, 1);
}

/* One experiment alone on its side says nothing of that side's noise. */
static void too_little_has_no_interval(void **state)
{
    (void)state;
    const double y[] = {0, 2, 5};
    const bool is_b[] = {false, false, true};
    const size_t together[] = {0, 0, 0}, apart[] = {0, 0, 1};
    struct stats_effect out;
    struct stats_effect_input in = {
        .count = 3, .y = y, .is_b = is_b, .stratum = together, .strata = 1};
    stats_effect(&in, &out);
    assert_true(out.valid);
    near(out.log_ratio, 4, 1e-12);
    assert_false(out.has_error);
    in.stratum = apart;
    in.strata = 2;
    stats_effect(&in, &out);
    assert_false(out.valid);
    in.count = 0;
    stats_effect(&in, &out);
    assert_false(out.valid);
}

static void covariates_that_say_nothing_new_are_dropped(void **state)
{
    (void)state;
    /* y = 2 x + 1 where it is b; the second covariate is twice the first, the third is the same in
     * every stratum. */
    const double y[] = {2, 4, 7, 9, 3}, x[] = {1, 2, 5, 2, 4, 5, 3, 6, 5, 4, 8, 5, 1.5, 3, 5};
    const bool is_b[] = {false, false, true, true, false};
    const size_t stratum[] = {0, 0, 0, 0, 0};
    struct stats_effect out;
    struct stats_effect_input in = {
        .count = 5, .y = y, .is_b = is_b, .stratum = stratum, .strata = 1, .x = x, .covariates = 3};
    stats_effect(&in, &out);
    assert_true(out.valid && !out.dropped[0] && out.dropped[1] && out.dropped[2]);
    near(out.log_ratio, 1, 1e-12);
    near(out.slopes[0], 2, 1e-12);
    /* One that is the side itself cannot be separated from it. */
    const double same[] = {7, 7, 9, 9, 7};
    in.x = same;
    in.covariates = 1;
    stats_effect(&in, &out);
    assert_false(out.valid);
}

static void what_does_not_vary_has_no_noise(void **state)
{
    (void)state;
    const double y[] = {1, 1, 1, 1}, higher[] = {1, 1, 2, 2};
    const bool is_b[] = {false, false, true, true};
    const size_t stratum[] = {0, 0, 0, 0};
    struct stats_effect out;
    struct stats_effect_input in = {
        .count = 4, .y = y, .is_b = is_b, .stratum = stratum, .strata = 1};
    stats_effect(&in, &out);
    assert_true(out.valid && out.constant && !out.has_error);
    near(out.ratio, 1, 0);
    in.y = higher;
    stats_effect(&in, &out);
    assert_true(out.valid && out.constant && !out.has_error);
    near(out.ratio, exp(1), 1e-12);
    assert_int_equal(out.interval.method, STATS_NONE);
}

/* A spread in the twelfth digit: p is below what a double holds, and yet over 0. */
static void no_p_is_zero(void **state)
{
    (void)state;
    double y[400];
    bool is_b[400];
    const size_t stratum[400] = {0};
    for (size_t i = 0; i < 400; i++) {
        is_b[i] = i % 2;
        y[i] = (i % 2 ? 1e6 : 0) + 1e-4 * (double)(i / 2 % 5);
    }
    struct stats_effect out;
    stats_effect(
        &(struct stats_effect_input){
            .count = 400, .y = y, .is_b = is_b, .stratum = stratum, .strata = 1},
        &out);
    assert_true(out.has_error && out.p > 0 && out.p < 1e-200);
}

/* Of 4 degrees of freedom t is 2.776445 for 5 % and 1.189567 for 85 %. */
static void the_least_effect_that_is_found_is_what_two_quantiles_of_t_span(void **state)
{
    (void)state;
    const struct stats_effect effect = {.valid = true, .has_error = true, .error = 0.01, .df = 4};
    near(stats_effect_detectable(&effect, 0.05, 0.85), 0.01 * (2.776445105198 + 1.189566852), 1e-9);
}

/* A table for the t test: a difference of one deviation takes 17 a side at 5 %, with a power of 80
 * % (Cohen 1988, table 2.4.1). */
static void sample_sizes_are_those_of_the_table(void **state)
{
    (void)state;
    assert_in_range(stats_effect_sample_size(1, 1, 0.05, 0.8), 17, 17);
    assert_in_range(stats_effect_sample_size(1, 0.5, 0.05, 0.8), 64, 64);
    assert_in_range(stats_effect_sample_size(1, -0.2, 0.05, 0.8), 393, 394);
    assert_int_equal(stats_effect_sample_size(0, 1, 0.05, 0.8), 2);
    assert_int_equal(stats_effect_sample_size(1, 0, 0.05, 0.8), 0);
    assert_int_equal(stats_effect_sample_size(1, 1e-9, 0.05, 0.8), 0);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_the_paired_t_test),
        cmocka_unit_test(one_stratum_is_welchs_t_test),
        cmocka_unit_test(plain_values_give_a_difference_in_their_unit),
        cmocka_unit_test(too_little_has_no_interval),
        cmocka_unit_test(covariates_that_say_nothing_new_are_dropped),
        cmocka_unit_test(what_does_not_vary_has_no_noise),
        cmocka_unit_test(no_p_is_zero),
        cmocka_unit_test(the_least_effect_that_is_found_is_what_two_quantiles_of_t_span),
        cmocka_unit_test(sample_sizes_are_those_of_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
