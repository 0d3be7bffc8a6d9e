#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "report/registry_text.h"

#include <string.h>

static const char source[] =
    "{\"models\": {\"digits\": {\"path\": \"/nowhere/digits\", \"train_script\": \"train.py\", "
    "\"models\": [\"mlp\", "
    "\"cnn\"],"
    " \"supported_hyperparams\": {"
    "  \"epochs\": {\"flag\": \"--epochs\", \"type\": \"int\", \"default\": 10, \"range\": [5, 15],"
    "   \"distribution\": \"uniform\"},"
    "  \"learning_rate\": {\"flag\": \"--lr\", \"type\": \"float\", \"default\": 0.001, \"range\": "
    "[0.0001, 0.1],"
    "   \"distribution\": \"log_uniform\"}},"
    " \"performance_metrics\": {\"log_patterns\": {\"accuracy\": \"acc ([0-9.]+)\"}},"
    " \"marks\": {\"epoch\": \"^e\", \"fold\": {\"end\": \"^f\"}}}}}";

static struct registry registry_of_source(void)
{
    struct registry registry = {0};
    struct problems problems = {0};
    registry_parse("models_config.json", source, strlen(source), &registry, &problems);
    problems_fini(&problems);
    assert_int_equal(registry.repo_count, 1);
    return registry;
}

static void hyperparameters_stand_in_a_table_with_flag_type_range_default_and_distribution(
    void **state)
{
    (void)state;
    struct registry registry = registry_of_source();
    AUTO_TEXT struct text out = {0};
    registry_text(&registry, NULL, false, &out);
    assert_string_equal(text_get(&out),
                        "digits\n"
                        "models   mlp, cnn\n"
                        "path     /nowhere/digits (not there)\n"
                        "metrics  accuracy\n"
                        "marks    epoch, fold\n"
                        "\n"
                        "HYPERPARAMETER  FLAG      TYPE   RANGE          DEFAULT  DISTRIBUTION\n"
                        "epochs          --epochs  int    5 .. 15        10       uniform\n"
                        "learning_rate   --lr      float  0.0001 .. 0.1  0.001    log_uniform\n");
    registry_fini(&registry);
}

static void the_json_keeps_types_and_ranges_as_numbers(void **state)
{
    (void)state;
    struct registry registry = registry_of_source();
    json_t *json = registry_text_json(&registry, NULL);
    const json_t *repo = json_array_get(json_object_get(json, "repositories"), 0);
    assert_string_equal(json_string_value(json_object_get(repo, "name")), "digits");
    assert_true(json_is_false(json_object_get(repo, "path_exists")));
    assert_string_equal(json_string_value(json_array_get(json_object_get(repo, "models"), 1)),
                        "cnn");
    const json_t *params = json_object_get(repo, "hyperparameters");
    const json_t *epochs = json_array_get(params, 0), *rate = json_array_get(params, 1);
    assert_string_equal(json_string_value(json_object_get(epochs, "flag")), "--epochs");
    assert_true(json_is_integer(json_object_get(epochs, "default")));
    assert_int_equal(json_integer_value(json_array_get(json_object_get(epochs, "range"), 1)), 15);
    assert_true(json_real_value(json_array_get(json_object_get(rate, "range"), 0)) == 0.0001);
    assert_string_equal(json_string_value(json_object_get(rate, "distribution")), "log_uniform");
    assert_string_equal(json_string_value(json_array_get(json_object_get(repo, "metrics"), 0)),
                        "accuracy");
    assert_string_equal(json_string_value(json_array_get(json_object_get(repo, "marks"), 1)),
                        "fold");
    json_decref(json);
    registry_fini(&registry);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            hyperparameters_stand_in_a_table_with_flag_type_range_default_and_distribution),
        cmocka_unit_test(the_json_keeps_types_and_ranges_as_numbers),
    };
    return cmocka_run_group_tests_name("registry_text", tests, NULL, NULL);
}
