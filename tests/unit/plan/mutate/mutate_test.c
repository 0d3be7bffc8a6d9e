/* Drawing: what values there are, which are drawn, and when there is nothing left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "params.h"

/* Draws one value; the caller frees it. */
static bool draw_one(const struct param *param, struct seen *seen, struct rng *rng,
                     struct value *out, struct err *err)
{
    return mutate_draw(&param, 1, "repo/model", seen, rng, out, err);
}

static void seven_values_less_default_and_history_give_exactly_the_rest(void **state)
{
    (void)state;
    struct param param = int_param(1, 7, 4);
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct seen *seen = seen_new();
        const struct value two = value_int(2), six = value_float(6.0);
        AUTO_FREE char *first = mutate_key("repo/model", &two, 1);
        AUTO_FREE char *second = mutate_key("repo/model", &six, 1);
        assert_true(seen_add(seen, first));
        assert_true(seen_add(seen, second));
        struct rng rng;
        rng_seed(&rng, seed);
        int drawn[8] = {0};
        struct value value;
        for (int i = 0; i < 4; i++) {
            assert_true(draw_one(&param, seen, &rng, &value, NULL));
            assert_int_equal(value.kind, VALUE_INT);
            assert_in_range(value.integer, 1, 7);
            drawn[value.integer]++;
        }
        static const int expected[8] = {0, 1, 0, 1, 0, 1, 0, 1};
        assert_memory_equal(drawn, expected, sizeof expected);
        struct err err = {0};
        assert_false(draw_one(&param, seen, &rng, &value, &err));
        assert_string_equal(err.text, "all 6 combinations that exist are taken");
        assert_int_equal(seen_count(seen), 6);
        seen_free(seen);
    }
    param_fini(&param);
}

static void combinations_are_drawn_to_the_last(void **state)
{
    (void)state;
    static const char *const colours[] = {"red", "green", "blue"};
    struct param a = int_param(1, 4, 1), b = choice_param(colours, 3, "none"),
                 c = float_param(0.5, 0.50001, 0.5);
    c.zero_probability = 0.01;
    /* a: 2 3 4; b: 3; c: 0.500001 .. 0.50001 and 0: 11. 3 * 3 * 11 = 99 */
    const struct param *params[] = {&a, &b, &c};
    struct seen *seen = seen_new();
    struct rng rng;
    rng_seed(&rng, 5);
    struct value values[3];
    struct err err = {0};
    int count = 0;
    while (mutate_draw(params, 3, "x", seen, &rng, values, &err)) {
        count++;
        assert_true(values[0].integer >= 2 && values[0].integer <= 4);
        assert_true(values[2].real == 0.0 || (values[2].real > 0.5 && values[2].real <= 0.50001));
        for (int i = 0; i < 3; i++)
            value_fini(&values[i]);
    }
    assert_int_equal(count, 99);
    assert_string_equal(err.text, "all 99 combinations that exist are taken");
    seen_free(seen);
    param_fini(&a);
    param_fini(&b);
    param_fini(&c);
}

static void every_integer_of_a_range_is_drawn_however_large(void **state)
{
    (void)state;
    static const double lows[] = {20240101, -1000020, 0x1p53 - 49};
    for (size_t i = 0; i < sizeof lows / sizeof *lows; i++) {
        struct param param = int_param(lows[i], lows[i] + 49, 0);
        struct seen *seen = seen_new();
        struct rng rng;
        rng_seed(&rng, 8);
        struct value value;
        uint64_t drawn = 0;
        while (draw_one(&param, seen, &rng, &value, NULL)) {
            int64_t place = value.integer - (int64_t)lows[i];
            assert_in_range(place, 0, 49);
            assert_int_equal(drawn >> place & 1, 0);
            drawn |= UINT64_C(1) << place;
        }
        assert_true(drawn == (UINT64_C(1) << 50) - 1);
        seen_free(seen);
        param_fini(&param);
    }
}

static void nothing_but_the_default_is_an_error(void **state)
{
    (void)state;
    struct param param = int_param(7, 7, 7);
    struct seen *seen = seen_new();
    struct rng rng;
    rng_seed(&rng, 1);
    struct value value;
    struct err err = {0};
    assert_false(draw_one(&param, seen, &rng, &value, &err));
    assert_string_equal(err.text, "0 combinations exist: only defaults");
    seen_free(seen);
    param_fini(&param);
}

static void a_distribution_that_lies_on_the_default_still_gives_others(void **state)
{
    (void)state;
    struct param param = int_param(0, 1000000, 500);
    param.distribution = DISTRIBUTION_NORMAL;
    param.has_normal = true;
    param.mean = 500;
    param.deviation = 0.001;
    struct seen *seen = seen_new();
    struct rng rng;
    rng_seed(&rng, 1);
    for (int i = 0; i < 50; i++) {
        struct value value;
        assert_true(draw_one(&param, seen, &rng, &value, NULL));
        assert_int_not_equal(value.integer, 500);
    }
    assert_int_equal(seen_count(seen), 50);
    seen_free(seen);
    param_fini(&param);
}

static void fixed_values_take_part_in_the_key_and_stay(void **state)
{
    (void)state;
    struct param a = int_param(1, 2, 1), b = int_param(1, 3, 1);
    const struct param *params[] = {&a, &b};
    const bool only_b[] = {false, true};
    struct seen *seen = seen_new();
    struct rng rng;
    rng_seed(&rng, 3);
    for (int64_t at = 1; at <= 2; at++) { /* a at 1, its default, and at 2: two values of b each */
        const struct value fixed[2] = {value_int(at), value_int(1)};
        struct value values[2];
        struct mutation *mutation = mutation_new(params, only_b, 2, fixed, "x");
        for (int i = 0; i < 2; i++) {
            assert_true(mutation_draw(mutation, seen, &rng, values, NULL));
            assert_int_equal(values[0].integer, at);
            assert_in_range(values[1].integer, 2, 3);
        }
        assert_false(mutation_draw(mutation, seen, &rng, values, NULL));
        mutation_free(mutation);
    }
    /* With both drawn, (2, 2) and (2, 3) are taken; another context has them again. */
    struct value values[2];
    assert_false(mutate_draw(params, 2, "x", seen, &rng, values, NULL));
    assert_true(mutate_draw(params, 2, "y", seen, &rng, values, NULL));
    seen_free(seen);
    param_fini(&a);
    param_fini(&b);
}

static void two_mutations_of_one_space_share_it_to_the_last(void **state)
{
    (void)state;
    struct param a = int_param(1, 101, 101);
    const struct param *params[] = {&a};
    const bool mutated[] = {true};
    struct seen *seen = seen_new();
    struct rng rng;
    rng_seed(&rng, 4);
    struct mutation *mutations[2] = {mutation_new(params, mutated, 1, NULL, "x"),
                                     mutation_new(params, mutated, 1, NULL, "x")};
    bool drawn[102] = {false};
    for (int i = 0; i < 100; i++) {
        struct value value;
        assert_true(mutation_draw(mutations[i % 2], seen, &rng, &value, NULL));
        assert_in_range(value.integer, 1, 100);
        assert_false(drawn[value.integer]);
        drawn[value.integer] = true;
    }
    for (int i = 0; i < 2; i++) {
        struct value value;
        struct err err = {0};
        assert_false(mutation_draw(mutations[i], seen, &rng, &value, &err));
        assert_string_equal(err.text, "all 100 combinations that exist are taken");
        mutation_free(mutations[i]);
    }
    seen_free(seen);
    param_fini(&a);
}

static void the_same_seed_draws_the_same_and_another_does_not(void **state)
{
    (void)state;
    struct param a = int_param(0, 9999, 1), b = float_param(1e-5, 1e-3, 1e-4);
    const struct param *params[] = {&a, &b};
    char *keys[3] = {NULL};
    static const uint64_t seeds[3] = {7, 7, 8};
    for (int i = 0; i < 3; i++) {
        struct seen *seen = seen_new();
        struct rng rng;
        rng_seed(&rng, seeds[i]);
        struct value values[2];
        assert_true(mutate_draw(params, 2, "x", seen, &rng, values, NULL));
        keys[i] = mutate_key("x", values, 2);
        assert_true(seen_has(seen, keys[i]));
        seen_free(seen);
    }
    assert_string_equal(keys[0], keys[1]);
    assert_string_not_equal(keys[0], keys[2]);
    for (int i = 0; i < 3; i++)
        free(keys[i]);
    param_fini(&a);
    param_fini(&b);
}

static void keys_compare_integers_exactly_and_other_numbers_at_six_digits(void **state)
{
    (void)state;
    struct value a[] = {value_int(20240101), value_float(0.12345678)};
    struct value b[] = {value_float(20240101.0), value_float(0.1234570)};
    struct value c[] = {value_int(20240102), value_float(0.1234570)};
    AUTO_FREE char *first = mutate_key("x", a, 2);
    AUTO_FREE char *second = mutate_key("x", b, 2);
    AUTO_FREE char *third = mutate_key("x", c, 2);
    assert_string_equal(first, second);
    assert_string_not_equal(first, third);
}

static void a_set_keeps_ten_thousand_keys(void **state)
{
    (void)state;
    struct seen *seen = seen_new();
    char key[32];
    for (int i = 0; i < 10000; i++) {
        snprintf(key, sizeof key, "key %d", i);
        assert_true(seen_add(seen, key));
        assert_false(seen_add(seen, key));
    }
    assert_int_equal(seen_count(seen), 10000);
    for (int i = 0; i < 20000; i++) {
        snprintf(key, sizeof key, "key %d", i);
        assert_int_equal(seen_has(seen, key), i < 10000);
    }
    seen_free(seen);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seven_values_less_default_and_history_give_exactly_the_rest),
        cmocka_unit_test(combinations_are_drawn_to_the_last),
        cmocka_unit_test(every_integer_of_a_range_is_drawn_however_large),
        cmocka_unit_test(nothing_but_the_default_is_an_error),
        cmocka_unit_test(a_distribution_that_lies_on_the_default_still_gives_others),
        cmocka_unit_test(fixed_values_take_part_in_the_key_and_stay),
        cmocka_unit_test(two_mutations_of_one_space_share_it_to_the_last),
        cmocka_unit_test(the_same_seed_draws_the_same_and_another_does_not),
        cmocka_unit_test(keys_compare_integers_exactly_and_other_numbers_at_six_digits),
        cmocka_unit_test(a_set_keeps_ten_thousand_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
