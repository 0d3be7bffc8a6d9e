/* The numbers come from a second implementation, written in Python after the authors' reference
 * code (https://prng.di.unimi.it/xoshiro256starstar.c and splitmix64.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/rng.h"

#include <math.h>

static void the_state_1_2_3_4_gives_the_published_numbers(void **state)
{
    (void)state;
    struct rng rng = {{1, 2, 3, 4}};
    static const uint64_t expected[] = {
        UINT64_C(11520),
        UINT64_C(0),
        UINT64_C(1509978240),
        UINT64_C(1215971899390074240),
        UINT64_C(1216172134540287360),
        UINT64_C(607988272756665600),
        UINT64_C(16172922978634559625),
        UINT64_C(8476171486693032832),
        UINT64_C(10595114339597558777),
        UINT64_C(2904607092377533576),
    };
    for (int i = 0; i < 10; i++)
        assert_int_equal(rng_next(&rng), expected[i]);
}

static void seeds_fill_the_state_from_splitmix(void **state)
{
    (void)state;
    static const struct {
        uint64_t seed, filled[4], drawn[4];
    } rows[] = {
        {0,
         {0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f, 0xf88bb8a8724c81ec},
         {0x99ec5f36cb75f2b4, 0xbf6e1f784956452a, 0x1a5f849d4933e6e0, 0x6aa594f1262d2d2c}},
        {42,
         {0xbdd732262feb6e95, 0x28efe333b266f103, 0x47526757130f9f52, 0x581ce1ff0e4ae394},
         {0x15780b2e0c2ec716, 0x6104d9866d113a7e, 0xae17533239e499a1, 0xecb8ad4703b360a1}},
        {UINT64_MAX,
         {0xe4d971771b652c20, 0xe99ff867dbf682c9, 0x382ff84cb27281e9, 0x6d1db36ccba982d2},
         {0x8f5520d52a7ead08, 0xc476a018caa1802d, 0x81de31c0d260469e, 0xbf658d7e065f3c2f}},
    };
    for (size_t row = 0; row < 3; row++) {
        struct rng rng;
        rng_seed(&rng, rows[row].seed);
        for (int i = 0; i < 4; i++)
            assert_int_equal(rng.state[i], rows[row].filled[i]);
        for (int i = 0; i < 4; i++)
            assert_int_equal(rng_next(&rng), rows[row].drawn[i]);
    }
}

static void the_thousandth_number_is_the_same_too(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 42);
    for (int i = 0; i < 999; i++)
        rng_next(&rng);
    assert_int_equal(rng_next(&rng), 0x8de5848c61ab8968);
}

static void a_name_has_numbers_of_its_own(void **state)
{
    (void)state;
    struct rng named, nameless;
    rng_seed_named(&named, 7, "$.experiments[3]");
    assert_int_equal(rng_next(&named), 0xf12d7d393ce915e8);
    assert_int_equal(rng_next(&named), 0x171e093a2b5f2b91);
    assert_int_equal(rng_next(&named), 0x3f4cee970fb66d00);
    rng_seed_named(&nameless, 7, "");
    assert_int_equal(rng_next(&nameless), 0x7a5b1491418ef44c);
    assert_int_equal(rng_next(&nameless), 0xe13dbcdc9e713677);
}

static void unit_takes_the_upper_53_bits(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 42);
    assert_true(rng_unit(&rng) == 0x1.5780b2e0c2ec0p-4);
    assert_true(rng_unit(&rng) == 0x1.84136619b444ep-2);
    assert_true(rng_unit(&rng) == 0x1.5c2ea66473c93p-1);
    assert_true(rng_unit(&rng) == 0x1.d9715a8e0766cp-1);
}

static void below_gives_remainders(void **state)
{
    (void)state;
    static const uint64_t expected[] = {2, 2, 9, 3, 6, 4, 4, 7, 8, 5, 9, 3};
    struct rng rng;
    rng_seed(&rng, 42);
    for (int i = 0; i < 12; i++)
        assert_int_equal(rng_below(&rng, 10), expected[i]);
    assert_int_equal(rng_below(&rng, 1), 0);
}

/* 2^64 is one and a third times this bound; the first number drawn lies in the third that is left
 * out. */
static void below_leaves_out_what_would_be_biased(void **state)
{
    (void)state;
    static const uint64_t expected[] = {0x6104d9866d113a7e, 0xae17533239e499a1, 0x2cb8ad4703b360a1,
                                        0x3de6dc7fe2ec5e64, 0x050da53101795238, 0xb82154855a65ddb2};
    struct rng rng;
    rng_seed(&rng, 42);
    for (int i = 0; i < 6; i++)
        assert_int_equal(rng_below(&rng, UINT64_C(3) << 62), expected[i]);
}

/* libm's logarithm, with which the reference was made, may differ from ours in the last bit. */
static void normal_follows_the_polar_method(void **state)
{
    (void)state;
    static const double expected[] = {-0.7262191382447857, 0.2216227015035933, 0.46417731016247366,
                                      1.476249461018415,   1.0078198992420604, 1.0272109607595328};
    struct rng rng;
    rng_seed(&rng, 42);
    for (int i = 0; i < 6; i++)
        assert_true(fabs(rng_normal(&rng) - expected[i]) < 1e-14);
}

static void normal_numbers_lie_as_a_bell_does(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 2026);
    double sum = 0, squares = 0;
    int within_one = 0, within_two = 0;
    for (int i = 0; i < 100000; i++) {
        double drawn = rng_normal(&rng);
        sum += drawn;
        squares += drawn * drawn;
        within_one += fabs(drawn) < 1;
        within_two += fabs(drawn) < 2;
    }
    assert_true(fabs(sum / 100000) < 0.015);
    assert_true(fabs(squares / 100000 - 1) < 0.02);
    assert_in_range(within_one, 67800, 68740); /* 68.27 %, 3.2 deviations */
    assert_in_range(within_two, 95240, 95660); /* 95.45 % */
}

static void fresh_seeds_differ_and_fit_in_a_json_number(void **state)
{
    (void)state;
    uint64_t one = rng_fresh_seed();
    uint64_t other = rng_fresh_seed();
    assert_true(one < UINT64_C(1) << 53);
    assert_true(other < UINT64_C(1) << 53);
    assert_int_not_equal(one, other);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_state_1_2_3_4_gives_the_published_numbers),
        cmocka_unit_test(seeds_fill_the_state_from_splitmix),
        cmocka_unit_test(the_thousandth_number_is_the_same_too),
        cmocka_unit_test(a_name_has_numbers_of_its_own),
        cmocka_unit_test(unit_takes_the_upper_53_bits),
        cmocka_unit_test(below_gives_remainders),
        cmocka_unit_test(below_leaves_out_what_would_be_biased),
        cmocka_unit_test(normal_follows_the_polar_method),
        cmocka_unit_test(normal_numbers_lie_as_a_bell_does),
        cmocka_unit_test(fresh_seeds_differ_and_fit_in_a_json_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
