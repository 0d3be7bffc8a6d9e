/* "oom_steps" of a repository: what is read, and every mistake in it. */
#include "expect.h"
#include "plan/config/registry_oom.h"

#include "base/cleanup.h"

#include <math.h>

/* Line 2 begins with the steps. */
#define REGISTRY(steps)                                                                         \
    "{\"models\": {\"r\": {\"path\": \"p\", \"train_script\": \"t\", \"models\": [\"m\"], "     \
    "\"supported_hyperparams\": "                                                               \
    "{"                                                                                         \
    "\"batch\": {\"type\": \"int\", \"default\": 64, \"range\": [2, 512]}, \"lr\": {\"type\": " \
    "\"float\", "                                                                               \
    "\"default\": "                                                                             \
    "0.1, \"range\": [0.001, 1.0]}, \"opt\": {\"type\": \"choice\", \"default\": \"sgd\", "     \
    "\"choices\": [\"sgd\", "                                                                   \
    "\"adam\"]}}, \"oom_steps\":\n" steps "}}}"

#define AT "$.models.r.oom_steps"

static void steps_are_read_in_their_order(void **state)
{
    (void)state;
    AUTO(problems_fini) struct problems problems = {0};
    AUTO(registry_fini) struct registry registry;
    static const char text[] = REGISTRY("[{\"scale\": {\"batch\": 0.5, \"lr\": 2}, \"bounds\": "
                                        "{\"batch\": [8, 128]}, \"times\": 3},\n"
                                        "{\"set\": {\"opt\": \"adam\", \"batch\": 4}, \"args\": "
                                        "[\"--amp\"], \"env\": {\"A\": \"b\"}}]");
    assert_true(registry_parse("r", text, strlen(text), &registry, &problems));
    expect_problems(&problems, LINES());
    const struct repo *repo = &registry.repos[0];
    assert_int_equal(repo->oom_step_count, 2);
    const struct registry_oom_step *first = &repo->oom_steps[0], *second = &repo->oom_steps[1];
    assert_int_equal(first->times, 3);
    assert_int_equal(first->change_count, 2);
    assert_string_equal(first->changes[0].name, "batch");
    assert_true(first->changes[0].scales);
    assert_float_equal(first->changes[0].factor, 0.5, 0);
    assert_float_equal(first->changes[0].low, 8, 0);
    assert_float_equal(first->changes[0].high, 128, 0);
    /* Without bounds the range counts. */
    assert_float_equal(first->changes[1].low, 0.001, 0);
    assert_float_equal(first->changes[1].high, 1, 0);
    assert_int_equal(second->times, 1);
    assert_string_equal(second->changes[0].value.text, "adam");
    assert_int_equal(second->changes[1].value.integer, 4);
    assert_string_equal(second->args.items[0], "--amp");
    assert_string_equal(second->env.items[0], "A=b");
}

static void every_mistake_is_told_with_its_place(void **state)
{
    (void)state;
    expect_registry(
        REGISTRY("3"),
        LINES("r:2:1: error: 'oom_steps': expected a list of at most 20 steps, not 3 (at " AT ")"));
    expect_registry(
        REGISTRY("[3]"),
        LINES("r:2:2: error: 'oom_steps': expected an object (a step), not 3 (at " AT "[0])"));
    expect_registry(REGISTRY("[{}]"), LINES("r:2:2: error: a step that changes nothing: it needs "
                                            "one of scale, set, args and env (at " AT "[0])"));
    expect_registry(REGISTRY("[{\"scale\": {\"bach\": 0.5}}]"),
                    LINES("r:2:13: error: 'bach' is none of the repository's hyperparameters; did "
                          "you mean 'batch'? (at " AT "[0].scale.bach)"));
    expect_registry(REGISTRY("[{\"scale\": {\"opt\": 0.5}}]"),
                    LINES("r:2:13: error: 'opt' is a choice: it can be set, not scaled (at " AT
                          "[0].scale.opt)"));
    expect_registry(REGISTRY("[{\"scale\": {\"batch\": 1}}]"),
                    LINES("r:2:22: error: 'batch': expected a factor from 0.001 to 1000 other than "
                          "1, not 1 (at " AT "[0].scale.batch)"));
    expect_registry(
        REGISTRY("[{\"set\": {\"batch\": 1.5}}]"),
        LINES("r:2:20: error: 'batch': expected an integer, not 1.5 (at " AT "[0].set.batch)"));
    expect_registry(REGISTRY("[{\"set\": {\"opt\": \"lion\"}}]"),
                    LINES("r:2:18: error: 'opt': expected one of its choices, not \"lion\" (at " AT
                          "[0].set.opt)"));
    expect_registry(
        REGISTRY("[{\"scale\": {\"batch\": 0.5}, \"set\": {\"batch\": 4}}]"),
        LINES("r:2:36: error: 'batch' is both scaled and set (at " AT "[0].set.batch)"));
    expect_registry(REGISTRY("[{\"scale\": {\"batch\": 0.5}, \"bounds\": {\"batch\": [9, 8]}}]"),
                    LINES("r:2:48: error: 'batch': expected [low, high], not a list of 2 (at " AT
                          "[0].bounds.batch)"));
    expect_registry(REGISTRY("[{\"scale\": {\"batch\": 0.5}, \"times\": 21}]"),
                    LINES("r:2:37: error: 'times': expected an integer from 1 to 20, not 21 (at " AT
                          "[0].times)"));
}

static void what_has_no_effect_is_a_warning(void **state)
{
    (void)state;
    expect_registry(REGISTRY("[{\"scale\": {\"batch\": 0.5}, \"bounds\": {\"lr\": [0, 1]}}]"),
                    LINES("r:2:39: warning: bounds of 'lr', which this step does not scale, have "
                          "no effect (at " AT "[0].bounds.lr)"));
}

static void steps_are_copied_whole(void **state)
{
    (void)state;
    AUTO(problems_fini) struct problems problems = {0};
    AUTO(registry_fini) struct registry registry;
    static const char text[] = REGISTRY(
        "[{\"set\": {\"opt\": \"adam\"}, \"args\": [\"--amp\"], \"env\": {\"A\": \"b\"}}]");
    assert_true(registry_parse("r", text, strlen(text), &registry, &problems));
    struct registry_oom_step *copy = calloc(1, sizeof *copy);
    *copy = registry_oom_step_copy(&registry.repos[0].oom_steps[0]);
    assert_string_equal(copy->changes[0].name, "opt");
    assert_string_equal(copy->changes[0].value.text, "adam");
    assert_string_equal(copy->args.items[0], "--amp");
    assert_string_equal(copy->env.items[0], "A=b");
    registry_oom_steps_fini(copy, 1);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_read_in_their_order),
        cmocka_unit_test(every_mistake_is_told_with_its_place),
        cmocka_unit_test(what_has_no_effect_is_a_warning),
        cmocka_unit_test(steps_are_copied_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
