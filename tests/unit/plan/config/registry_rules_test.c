#include "expect.h"
#include "plan/config/registry_rules.h"

#include "base/cleanup.h"

/* Parses a registry that must be without any problem. */
static struct registry parse_good_as(const char *file, const char *text)
{
    struct registry registry;
    AUTO(problems_fini) struct problems problems = {0};
    bool good = registry_parse(file, text, strlen(text), &registry, &problems);
    expect_problems(&problems, LINES());
    assert_true(good);
    return registry;
}

static struct registry parse_good(const char *text)
{
    return parse_good_as("/nonexistent/folder/r.json", text);
}

static void what_success_is_can_be_said_by_model(void **state)
{
    (void)state;
    {
        AUTO(registry_fini)
        struct registry registry =
            parse_good("{\"models\": {\"r\": {\"path\": \"p\", \"train_script\": \"t\", "
                       "\"models\": [\"m\", \"n\"]}}}");
        struct success_rules rules = repo_rules(&registry.repos[0], "m");
        assert_int_equal(rules.metrics, METRICS_ANY);
        assert_int_equal(rules.fail_on, FAIL_ON_ALL);
        assert_false(rules.cpu_only || rules.reads_checkpoints);
    }
    {
        AUTO(registry_fini)
        struct registry registry = parse_good("{\"models\": {\"r\": {\"path\": \"p\", "
                                              "\"train_script\": \"t\", \"models\": [\"m\", \"n\"],"
                                              "\"metrics\": {\"m\": \"required\"}, \"fail_on\": "
                                              "[\"oom_kill\"], \"cpu_models\": [\"n\"],"
                                              "\"reads_checkpoints\": true}}}");
        struct success_rules m = repo_rules(&registry.repos[0], "m"),
                             n = repo_rules(&registry.repos[0], "n");
        assert_int_equal(m.metrics, METRICS_REQUIRED);
        assert_int_equal(n.metrics, METRICS_ANY);
        assert_int_equal(m.fail_on, FAIL_ON_OOM_KILL);
        assert_false(m.cpu_only);
        assert_true(n.cpu_only && n.reads_checkpoints);
        json_t *json = success_rules_to_json(&n);
        struct success_rules again = success_rules_from_json(json);
        assert_int_equal(again.metrics, METRICS_ANY);
        assert_int_equal(again.fail_on, FAIL_ON_OOM_KILL);
        assert_true(again.cpu_only && again.reads_checkpoints);
        json_decref(json);
    }
    struct success_rules none = success_rules_from_json(NULL); /* a plan of an older version */
    assert_int_equal(none.metrics, METRICS_OPTIONAL);
    assert_int_equal(none.fail_on, 0);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_success_is_can_be_said_by_model),
    };
    return cmocka_run_group_tests_name("registry rules", tests, NULL, NULL);
}
