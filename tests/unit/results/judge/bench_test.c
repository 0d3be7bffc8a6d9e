/* When a bench has seen enough (bench_until). After how many equal differences a confidence
 * sequence shows a sign is from a program in Python (tests/unit/stats/sequence_test.c): 7 at 0.05,
 * 8 at 0.025, 9 at 0.05 / 3. */
#include "results/judge/bench.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include <math.h>

static void near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.12g is not %.12g", value, expected);
}

/* The number of equal blocks after which it is enough; 0: not within 40. */
static size_t count_blocks(size_t commands, size_t reference, const double *values,
                           const struct bench_until_options *options)
{
    struct bench_until until;
    size_t count = 0;
    bench_until_init(&until, commands, reference);
    for (size_t i = 1; i <= 40 && count == 0; i++) {
        bench_until_block(&until, values);
        count = bench_until_enough(&until, options) ? i : 0;
    }
    bench_until_fini(&until);
    return count;
}

static void a_ratio_is_the_same_from_both_sides(void **state)
{
    (void)state;
    static const double values[] = {3, 6};
    struct bench_until until;
    bench_until_init(&until, 2, 0);
    assert_int_equal(bench_until_ratio(&until, 0, 1).blocks, 0);
    for (int i = 0; i < 7; i++) {
        assert_int_equal(bench_until_sign(&until, 0, 1), 0);
        bench_until_block(&until, values);
    }
    struct bench_until_ratio up = bench_until_ratio(&until, 0, 1),
                             down = bench_until_ratio(&until, 1, 0);
    assert_int_equal(up.blocks, 7);
    near(up.ratio, 2);
    near(down.ratio, 0.5);
    assert_int_equal(up.sign, 1);
    assert_int_equal(down.sign, -1);
    assert_true(up.has_low && down.has_high);
    near(down.high, 1 / up.low);
    bench_until_fini(&until);
}

static void only_positive_finite_values_count(void **state)
{
    (void)state;
    static const double bad[][2] = {{NAN, 1}, {0, 1}, {1, -1}, {1, INFINITY}};
    static const double good[] = {2, 3};
    struct bench_until until;
    bench_until_init(&until, 2, 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        bench_until_block(&until, bad[i]);
    assert_int_equal(bench_until_ratio(&until, 0, 1).blocks, 0);
    bench_until_block(&until, good);
    assert_int_equal(bench_until_ratio(&until, 0, 1).blocks, 1);
    assert_int_equal(until.blocks, 5);
    bench_until_fini(&until);
}

static void more_pairs_need_more_blocks(void **state)
{
    (void)state;
    static const double values[] = {1, 2, 3};
    const struct bench_until_options decided = {.decided = true};
    assert_int_equal(count_blocks(2, 0, values, &decided), 7);
    assert_int_equal(count_blocks(2, 1, values, &decided), 7);
    assert_int_equal(count_blocks(2, BENCH_UNTIL_FASTEST, values, &decided), 7);
    assert_int_equal(count_blocks(3, 0, values, &decided), 8);
    assert_int_equal(count_blocks(3, BENCH_UNTIL_FASTEST, values, &decided), 9);
    assert_int_equal(count_blocks(1, 0, values, &decided), 0);
}

static void equal_commands_are_never_decided_but_known_closely(void **state)
{
    (void)state;
    static const double values[] = {2, 2};
    assert_int_equal(count_blocks(2, 0, values, &(struct bench_until_options){.decided = true}), 0);
    assert_int_equal(count_blocks(2, 0, values, &(struct bench_until_options){0}), 0);
    assert_int_equal(count_blocks(2, 0, values, &(struct bench_until_options){.share = 0.01}), 7);
    assert_int_equal(
        count_blocks(2, 0, values, &(struct bench_until_options){.share = 0.01, .decided = true}),
        7);
}

/* With the fastest as the reference the two slower ones need not be told apart. */
static void all_are_compared_with_the_fastest(void **state)
{
    (void)state;
    static const double values[] = {5, 2, 5};
    const struct bench_until_options decided = {.decided = true};
    assert_int_equal(count_blocks(3, BENCH_UNTIL_FASTEST, values, &decided), 9);
    assert_int_equal(count_blocks(3, 0, values, &decided), 0);
    assert_int_equal(count_blocks(3, 1, values, &decided), 8);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ratio_is_the_same_from_both_sides),
        cmocka_unit_test(only_positive_finite_values_count),
        cmocka_unit_test(more_pairs_need_more_blocks),
        cmocka_unit_test(equal_commands_are_never_decided_but_known_closely),
        cmocka_unit_test(all_are_compared_with_the_fastest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
