/* What is run around others, and what warms up before them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "fixture.h"

#include "base/mem.h"
#include "base/text.h"
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

#define ENTRY(epochs, runs)                                                        \
    "{'repo': 'toy', 'model': 'net', 'mode': 'default', 'runs_per_config': " #runs \
    ", 'hyperparameters': {'epochs': " #epochs "}}"

/* The entries of the experiments, a digit each. The caller frees it. */
static char *entries_of(const struct plan *plan)
{
    struct text out = {0};
    for (size_t i = 0; i < plan->count; i++)
        text_addf(&out, "%zu", plan->experiments[i].entry);
    return text_take(&out);
}

static size_t count_of(const char *text, char c, size_t from, size_t to)
{
    size_t count = 0;
    for (size_t i = from; i < to; i++)
        count += text[i] == c;
    return count;
}

static void what_warms_up_comes_first_in_blocks_of_its_own(void **state)
{
    struct fixture *fixture = *state;
    bool differs = false;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        fixture->options.seed = seed;
        fixture_plan_toy(
            fixture, "{'tare': {'order': 'blocks', 'warmup_entries': 2}, 'experiments': [" ENTRY(
                         1, 2) "," ENTRY(2, 1) "," ENTRY(3, 4) "," ENTRY(4, 4) "]}");
        assert_true(fixture->ok);
        AUTO_FREE char *entries = entries_of(&fixture->plan);
        assert_int_equal(strlen(entries), 11);
        /* The first block of the warm-up holds one of each, the second what is left; then four
         * blocks of the others. */
        assert_int_equal(count_of(entries, '0', 0, 2), 1);
        assert_int_equal(count_of(entries, '1', 0, 2), 1);
        assert_int_equal(entries[2], '0');
        for (size_t block = 0; block < 4; block++) {
            assert_int_equal(count_of(entries, '2', 3 + 2 * block, 5 + 2 * block), 1);
            assert_int_equal(count_of(entries, '3', 3 + 2 * block, 5 + 2 * block), 1);
            differs |= entries[3 + 2 * block] != entries[3];
        }
    }
    assert_true(differs);
}

static void without_warm_up_entries_the_blocks_are_as_before(void **state)
{
    struct fixture *fixture = *state;
    static const char entries[] = "'experiments': [" ENTRY(1, 3) "," ENTRY(2, 3) "]}";
    AUTO_FREE char *plain = mem_printf("{'tare': {'order': 'blocks'}, %s", entries);
    AUTO_FREE char *none =
        mem_printf("{'tare': {'order': 'blocks', 'warmup_entries': 0}, %s", entries);
    fixture_plan_toy(fixture, plain);
    AUTO_FREE char *first = fixture_print(fixture);
    fixture_plan_toy(fixture, none);
    AUTO_FREE char *second = fixture_print(fixture);
    assert_string_equal(first, second);
}

static void a_preparation_stands_before_each_of_its_experiments_alone(void **state)
{
    struct fixture *fixture = *state;
    struct err err = {0};
    static const size_t before[] = {2, PLAN_AROUND_NONE}, after[] = {3, 3};
    fixture_plan_toy(fixture, "{'experiments': [" ENTRY(1, 2) "," ENTRY(2, 1) "," ENTRY(
                                  3, 1) "," ENTRY(4, 1) "]}");
    assert_true(fixture->ok);
    assert_true(plan_surround(&fixture->plan, before, after, 2, &err));
    AUTO_FREE char *entries = entries_of(&fixture->plan);
    assert_string_equal(entries, "20320313");
    for (size_t i = 0; i < fixture->plan.count; i++) {
        const struct plan_experiment *experiment = &fixture->plan.experiments[i];
        AUTO_FREE char *id = mem_printf("toy_net_%03zu", i + 1);
        AUTO_FREE char *epochs = fixture_value(experiment, "epochs");
        AUTO_FREE char *expected = mem_printf("%zu", experiment->entry + 1);
        assert_int_equal(experiment->number, i + 1);
        assert_string_equal(experiment->id, id);
        assert_string_equal(epochs, expected);
    }
}

static void an_entry_without_an_experiment_leaves_the_plan_as_it_was(void **state)
{
    struct fixture *fixture = *state;
    struct err err = {0};
    static const size_t before[] = {7}, after[] = {PLAN_AROUND_NONE};
    fixture_plan_toy(fixture, "{'experiments': [" ENTRY(1, 2) "]}");
    AUTO_FREE char *first = fixture_print(fixture);
    assert_false(plan_surround(&fixture->plan, before, after, 1, &err));
    assert_string_equal(err.text, "entry 7 of the plan has no experiment");
    AUTO_FREE char *second = fixture_print(fixture);
    assert_string_equal(first, second);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_set_up, fixture_tear_down)

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_warms_up_comes_first_in_blocks_of_its_own),
        TEST(without_warm_up_entries_the_blocks_are_as_before),
        TEST(a_preparation_stands_before_each_of_its_experiments_alone),
        TEST(an_entry_without_an_experiment_leaves_the_plan_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
