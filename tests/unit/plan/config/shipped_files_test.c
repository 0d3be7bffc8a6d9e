/* The files that come with the program agree with the code. */
#include "expect.h"

#include "base/cleanup.h"
#include "plan/config/registry.h"
#include "plan/config/settings.h"

static void the_shipped_registry_is_without_a_problem(void **state)
{
    (void)state;
    AUTO(problems_fini) struct problems problems = {0};
    AUTO(registry_fini) struct registry registry;
    bool good = registry_read(PROJECT_ROOT "/share/registry.json", &registry, &problems);
    expect_problems(&problems, LINES());
    assert_true(good);
    const struct repo *digits = registry_find(&registry, "digits");
    assert_non_null(digits);
    assert_true(digits->path_exists);
    assert_true(strv_has(&digits->models, "mlp"));
    assert_int_equal(digits->param_count, 6);
    assert_int_equal(digits->metric_count, 2);
    assert_string_equal(repo_param(digits, "learning_rate")->flag, "--lr");
    assert_true(repo_param(digits, "weight_decay")->zero_probability == 0.2);
    const struct repo *pytorch = registry_find(&registry, "pytorch");
    assert_non_null(pytorch);
    assert_true(pytorch->path_exists);
    assert_string_equal(pytorch->python, "python3");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_shipped_registry_is_without_a_problem),
    };
    return cmocka_run_group_tests_name("shipped files", tests, NULL, NULL);
}
