#include "stats/sequence.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include <math.h>

/* The expected figures are those of a program in Python that was written from the formulas of
 * sequence.h: the wealth of four bets (0.15, 0.4, 1, 2.5 with the shares 0.2, 0.3, 0.3, 0.2). */

static void near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.9g is not %.9g, give or take %g", value, expected, tolerance);
}

static void add_all(struct stats_sequence *sequence, const double *x, size_t count, double shift,
                    double scale)
{
    for (size_t i = 0; i < count; i++)
        stats_sequence_add(sequence, shift + scale * x[i]);
}

/* How many equal differences show a sign. */
static size_t count_until_sign(double x, double alpha, int sign)
{
    struct stats_sequence sequence = {0};
    while (stats_sequence_sign(&sequence, alpha) == 0 && sequence.count < 100)
        stats_sequence_add(&sequence, x);
    assert_int_equal(stats_sequence_sign(&sequence, alpha), sign);
    size_t count = sequence.count;
    stats_sequence_fini(&sequence);
    return count;
}

static void equal_differences_show_their_sign_after_a_known_count(void **state)
{
    (void)state;
    assert_int_equal(count_until_sign(1, 0.05, 1), 7);
    assert_int_equal(count_until_sign(1e-9, 0.05, 1), 7); /* only ranks and signs count */
    assert_int_equal(count_until_sign(-1, 0.05, -1), 7);
    assert_int_equal(count_until_sign(1, 0.01, 1), 9);
    assert_int_equal(count_until_sign(-1, 0.2, -1), 5);
}

static void zeros_and_balanced_differences_show_no_sign(void **state)
{
    (void)state;
    struct stats_sequence zeros = {0}, balanced = {0};
    for (int i = 0; i < 100; i++) {
        stats_sequence_add(&zeros, 0);
        stats_sequence_add(&balanced, i % 2 ? -1 : 1);
        assert_int_equal(stats_sequence_sign(&zeros, 0.2), 0);
        assert_int_equal(stats_sequence_sign(&balanced, 0.2), 0);
    }
    stats_sequence_fini(&zeros);
    stats_sequence_fini(&balanced);
}

static void a_sign_that_was_shown_stays(void **state)
{
    (void)state;
    struct stats_sequence sequence = {0};
    for (int i = 0; i < 7; i++)
        stats_sequence_add(&sequence, 1);
    assert_int_equal(stats_sequence_sign(&sequence, 0.05), 1);
    for (int i = 0; i < 7; i++)
        stats_sequence_add(&sequence, -1);
    assert_int_equal(stats_sequence_sign(&sequence, 0.05), 1);
    struct stats_sequence_interval interval = stats_sequence_interval(&sequence, 0.05);
    assert_true(interval.has_low && interval.low >= 0);
    stats_sequence_fini(&sequence);
}

static void the_centre_is_the_median_of_the_means_of_all_pairs(void **state)
{
    (void)state;
    struct stats_sequence sequence = {0};
    assert_false(stats_sequence_interval(&sequence, 0.05).any);
    stats_sequence_add(&sequence, 1);
    stats_sequence_add(&sequence, 6);
    stats_sequence_add(&sequence, 2);
    struct stats_sequence_interval interval = stats_sequence_interval(&sequence, 0.05);
    /* 1, 2, 6 and 1.5, 3.5, 4 */
    assert_true(interval.any);
    near(interval.centre, 2.75, 1e-12);
    assert_false(interval.has_low || interval.has_high);
    stats_sequence_fini(&sequence);
}

static void an_interval_ends_where_the_wealth_reaches_its_limit(void **state)
{
    (void)state;
    static const double x[] = {3.1, 4.7, 2.2, 5.9, 4.1, 3.6, 4.4, 2.9, 5.2, 3.9, 4.8, 3.3};
    static const struct {
        double shift, scale;
    } rows[] = {{0, 1}, {-100, 1}, {0, 1000}, {5, -2}};
    const double low = 2.65, high = 5.3, centre = 4;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double shift = rows[i].shift, scale = rows[i].scale;
        struct stats_sequence sequence = {0};
        add_all(&sequence, x, sizeof x / sizeof *x, shift, scale);
        struct stats_sequence_interval interval = stats_sequence_interval(&sequence, 0.05);
        assert_true(interval.has_low && interval.has_high);
        near(interval.centre, shift + scale * centre, 1e-9 * fabs(scale));
        near(interval.low, shift + scale * (scale > 0 ? low : high), 2e-4 * fabs(scale));
        near(interval.high, shift + scale * (scale > 0 ? high : low), 2e-4 * fabs(scale));
        stats_sequence_fini(&sequence);
    }
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_differences_show_their_sign_after_a_known_count),
        cmocka_unit_test(zeros_and_balanced_differences_show_no_sign),
        cmocka_unit_test(a_sign_that_was_shown_stays),
        cmocka_unit_test(the_centre_is_the_median_of_the_means_of_all_pairs),
        cmocka_unit_test(an_interval_ends_where_the_wealth_reaches_its_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
