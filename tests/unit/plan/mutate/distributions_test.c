/* The distributions. Shares are compared with probabilities worked out by hand; the seeds are fixed
 * and the bounds six standard deviations wide, so a test that passes once passes always. The
 * expected sequences come from an independent program (xoshiro256** and the formulas of
 * plan/mutate/mutate.h in Python). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/value.h"
#include "fixture.h"

#include <math.h>

#define DRAWS 20000

static struct value draw(const struct param *param, struct rng *rng)
{
    struct seen *seen = seen_new(); /* a new one each time: here repeats are wanted */
    struct value value;
    assert_true(mutate_draw(&param, 1, "", seen, rng, &value, NULL));
    seen_free(seen);
    return value;
}

static void assert_share(int count, double expected)
{
    double bound = 6 * sqrt(expected * (1 - expected) / DRAWS);
    double share = (double)count / DRAWS;
    if (fabs(share - expected) > bound)
        fail_msg("share %g, expected %g within %g", share, expected, bound);
}

static struct param number(enum param_type type, enum distribution distribution, double low,
                           double high)
{
    return (struct param){.type = type,
                          .distribution = distribution,
                          .has_range = true,
                          .low = low,
                          .high = high,
                          .default_value = value_float(-12345.0)}; /* never drawn */
}

static void integer_log_uniform_has_no_bias_at_its_ends(void **state)
{
    (void)state;
    struct param param = number(PARAM_INT, DISTRIBUTION_LOG_UNIFORM, 1, 3);
    struct rng rng;
    rng_seed(&rng, 11);
    int counts[4] = {0};
    for (int i = 0; i < DRAWS; i++) {
        struct value value = draw(&param, &rng);
        assert_in_range(value.integer, 1, 3);
        counts[value.integer]++;
    }
    /* P(n) = ln((n+1)/n) / ln(4/1) */
    assert_share(counts[1], 0.5);
    assert_share(counts[2], 0.29248125);
    assert_share(counts[3], 0.20751875);
}

static void integer_log_uniform_reaches_both_ends_of_a_wide_range(void **state)
{
    (void)state;
    struct param param = number(PARAM_INT, DISTRIBUTION_LOG_UNIFORM, 16, 128);
    struct rng rng;
    rng_seed(&rng, 12);
    int first = 0, last = 0, below_45 = 0;
    for (int i = 0; i < DRAWS; i++) {
        struct value value = draw(&param, &rng);
        assert_in_range(value.integer, 16, 128);
        first += value.integer == 16;
        last += value.integer == 128;
        below_45 += value.integer < 45;
    }
    assert_share(first, 0.02904558);    /* ln(17/16) / ln(129/16) */
    assert_share(last, 0.00372846);     /* ln(129/128) / ln(129/16) */
    assert_share(below_45, 0.49543026); /* ln(45/16) / ln(129/16) */
}

static void integer_uniform_gives_each_number_the_same_share(void **state)
{
    (void)state;
    struct param param = number(PARAM_INT, DISTRIBUTION_UNIFORM, -2, 7);
    struct rng rng;
    rng_seed(&rng, 13);
    int counts[10] = {0};
    for (int i = 0; i < DRAWS; i++)
        counts[draw(&param, &rng).integer + 2]++;
    for (int i = 0; i < 10; i++)
        assert_share(counts[i], 0.1);
}

static void integer_uniform_leaves_the_default_out_and_shares_the_rest(void **state)
{
    (void)state;
    struct param param = number(PARAM_INT, DISTRIBUTION_UNIFORM, 1, 5);
    param.default_value = value_int(1);
    struct rng rng;
    rng_seed(&rng, 14);
    int counts[6] = {0};
    for (int i = 0; i < DRAWS; i++)
        counts[draw(&param, &rng).integer]++;
    assert_int_equal(counts[1], 0);
    for (int i = 2; i <= 5; i++)
        assert_share(counts[i], 0.25);
}

static void integer_normal_stays_in_the_range(void **state)
{
    (void)state;
    /* mean 5, deviation 1 */
    struct param param = number(PARAM_INT, DISTRIBUTION_NORMAL, 3, 7);
    struct rng rng;
    rng_seed(&rng, 15);
    int counts[8] = {0};
    for (int i = 0; i < DRAWS; i++) {
        struct value value = draw(&param, &rng);
        assert_in_range(value.integer, 3, 7);
        counts[value.integer]++;
    }
    /* P(n) = (Phi(n + 1/2 - 5) - Phi(n - 1/2 - 5)) / (Phi(2.5) - Phi(-2.5)), Phi the normal
     * distribution */
    assert_share(counts[5], 0.38774040);
    assert_share(counts[4], 0.24477022);
    assert_share(counts[6], 0.24477022);
    assert_share(counts[3], 0.06135958);
    assert_share(counts[7], 0.06135958);
}

static void float_log_uniform_gives_each_decade_the_same_share(void **state)
{
    (void)state;
    struct param param = number(PARAM_FLOAT, DISTRIBUTION_LOG_UNIFORM, 1e-5, 1e-1);
    struct rng rng;
    rng_seed(&rng, 16);
    int counts[4] = {0};
    for (int i = 0; i < DRAWS; i++) {
        double value = draw(&param, &rng).real;
        assert_true(value >= 1e-5 && value <= 1e-1);
        counts[value < 1e-4 ? 0 : value < 1e-3 ? 1 : value < 1e-2 ? 2 : 3]++;
    }
    for (int i = 0; i < 4; i++)
        assert_share(counts[i], 0.25);
}

static void float_normal_has_the_middle_and_a_quarter_of_the_range(void **state)
{
    (void)state;
    struct param param = number(PARAM_FLOAT, DISTRIBUTION_NORMAL, 0, 8); /* mean 4, deviation 2 */
    struct rng rng;
    rng_seed(&rng, 17);
    int inner = 0, low = 0;
    for (int i = 0; i < DRAWS; i++) {
        double value = draw(&param, &rng).real;
        assert_true(value >= 0 && value <= 8);
        inner += value > 2 && value < 6;
        low += value < 4;
    }
    assert_share(inner, 0.71523277); /* erf(1/sqrt 2) / erf(2/sqrt 2) */
    assert_share(low, 0.5);
}

static void float_normal_takes_the_mean_and_deviation_given(void **state)
{
    (void)state;
    struct param param = number(PARAM_FLOAT, DISTRIBUTION_NORMAL, 0, 100);
    param.has_normal = true;
    param.mean = 10;
    param.deviation = 1;
    struct rng rng;
    rng_seed(&rng, 18);
    int within = 0;
    for (int i = 0; i < DRAWS; i++) {
        double value = draw(&param, &rng).real;
        within += value > 9 && value < 11;
    }
    assert_share(within, 0.68268949);
}

static void a_normal_far_from_its_range_ends_all_the_same(void **state)
{
    (void)state;
    struct param param = number(PARAM_FLOAT, DISTRIBUTION_NORMAL, 0, 1);
    param.has_normal = true;
    param.mean = 1e9;
    param.deviation = 1e-3;
    struct rng rng;
    rng_seed(&rng, 19);
    double value = draw(&param, &rng).real;
    assert_true(value >= 0 && value <= 1);
}

static void zero_probability_is_the_share_of_zeros(void **state)
{
    (void)state;
    struct param param = number(PARAM_FLOAT, DISTRIBUTION_LOG_UNIFORM, 1e-5, 1e-3);
    param.zero_probability = 0.3;
    struct rng rng;
    rng_seed(&rng, 20);
    int zeros = 0;
    for (int i = 0; i < DRAWS; i++) {
        double value = draw(&param, &rng).real;
        assert_true(value == 0 || (value >= 1e-5 && value <= 1e-3));
        zeros += value == 0;
    }
    assert_share(zeros, 0.3);
}

static void a_zero_that_is_the_default_is_never_drawn(void **state)
{
    (void)state;
    struct param param = number(PARAM_FLOAT, DISTRIBUTION_LOG_UNIFORM, 1e-5, 1e-3);
    param.zero_probability = 0.9;
    param.default_value = value_float(0.0);
    struct rng rng;
    rng_seed(&rng, 21);
    for (int i = 0; i < 2000; i++)
        assert_true(draw(&param, &rng).real >= 1e-5);
}

static void choices_have_equal_shares(void **state)
{
    (void)state;
    struct value choices[] = {value_bool(true), value_bool(false), value_int(3), value_float(0.5)};
    struct param param = {.type = PARAM_CHOICE,
                          .choices = choices,
                          .choice_count = 4,
                          .default_value = value_bool(false)};
    struct rng rng;
    rng_seed(&rng, 22);
    int counts[5] = {0};
    for (int i = 0; i < DRAWS; i++) {
        struct value value = draw(&param, &rng);
        assert_false(value.kind == VALUE_BOOL && !value.truth);
        counts[value.kind]++;
    }
    assert_share(counts[VALUE_BOOL], 1.0 / 3);
    assert_share(counts[VALUE_INT], 1.0 / 3);
    assert_share(counts[VALUE_FLOAT], 1.0 / 3);
}

static void floats_have_six_digits_within_the_range(void **state)
{
    (void)state;
    struct param param = number(PARAM_FLOAT, DISTRIBUTION_UNIFORM, 0.1, 0.3);
    struct rng rng;
    rng_seed(&rng, 23);
    for (int i = 0; i < 2000; i++) {
        double value = draw(&param, &rng).real;
        assert_true(value == number_round(value, 6));
    }
    param.low = 0.12345678; /* 0.123457 at six digits, above the range's end */
    param.high = 0.12345679;
    double value = draw(&param, &rng).real;
    assert_true(value >= 0.12345678 && value <= 0.12345679);
}

static void assert_floats(const struct param *param, const double *expected, size_t count)
{
    struct rng rng;
    rng_seed(&rng, 2026);
    for (size_t i = 0; i < count; i++) {
        double value = draw(param, &rng).real;
        if (value != expected[i])
            fail_msg("draw %zu is %.17g, expected %.17g", i, value, expected[i]);
    }
}

static void assert_integers(const struct param *param, const int64_t *expected, size_t count)
{
    struct rng rng;
    rng_seed(&rng, 2026);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(draw(param, &rng).integer, expected[i]);
}

static void draws_are_those_of_the_independent_program(void **state)
{
    (void)state;
    static const double uniform[] = {0.172119, 0.0851038, 0.243753, 0.268102, 0.243611, 0.236635};
    static const double log_uniform[] = {0.000140431, 3.69283e-05, 0.000421715,
                                         0.000612843, 0.000420795, 0.000378065};
    static const double normal[] = {0.557091, 0.559105, 0.536311, 0.554637, 0.504988, 0.561383};
    static const int64_t integers[] = {178, 101, 23, 103, 39, 245, 73, 156};
    static const int64_t log_integers[] = {5577, 2339, 11405, 14545, 11389, 10623, 12153, 11979};
    struct param param = number(PARAM_FLOAT, DISTRIBUTION_UNIFORM, 0, 0.3);
    assert_floats(&param, uniform, 6);
    param = number(PARAM_FLOAT, DISTRIBUTION_LOG_UNIFORM, 1e-5, 1e-3);
    assert_floats(&param, log_uniform, 6);
    param = number(PARAM_FLOAT, DISTRIBUTION_NORMAL, 0.3, 0.6);
    param.has_normal = true;
    param.mean = 0.5;
    param.deviation = 0.1;
    assert_floats(&param, normal, 6);
    param = number(PARAM_INT, DISTRIBUTION_UNIFORM, 5, 300);
    assert_integers(&param, integers, 8);
    param = number(PARAM_INT, DISTRIBUTION_LOG_UNIFORM, 1000, 20000);
    assert_integers(&param, log_integers, 8);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integer_log_uniform_has_no_bias_at_its_ends),
        cmocka_unit_test(integer_log_uniform_reaches_both_ends_of_a_wide_range),
        cmocka_unit_test(integer_uniform_gives_each_number_the_same_share),
        cmocka_unit_test(integer_uniform_leaves_the_default_out_and_shares_the_rest),
        cmocka_unit_test(integer_normal_stays_in_the_range),
        cmocka_unit_test(float_log_uniform_gives_each_decade_the_same_share),
        cmocka_unit_test(float_normal_has_the_middle_and_a_quarter_of_the_range),
        cmocka_unit_test(float_normal_takes_the_mean_and_deviation_given),
        cmocka_unit_test(a_normal_far_from_its_range_ends_all_the_same),
        cmocka_unit_test(zero_probability_is_the_share_of_zeros),
        cmocka_unit_test(a_zero_that_is_the_default_is_never_drawn),
        cmocka_unit_test(choices_have_equal_shares),
        cmocka_unit_test(floats_have_six_digits_within_the_range),
        cmocka_unit_test(draws_are_those_of_the_independent_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
