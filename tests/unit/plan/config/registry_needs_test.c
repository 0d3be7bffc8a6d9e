/* "source", "data" and "requires" of a repository: what is read, and every mistake in it. */
#include "expect.h"

#include "base/cleanup.h"
#include "plan/config/registry.h"

/* Line 2 begins with the rest. */
#define REGISTRY(rest)                                                                         \
    "{\"models\": {\"r\": {\"path\": \"p\", \"train_script\": \"t\", \"models\": [\"small\", " \
    "\"large\"],\n" rest "}}}"
#define COMMIT "0123456789abcdef0123456789abcdef01234567"

static void what_a_machine_must_have_is_read(void **state)
{
    (void)state;
    AUTO(problems_fini) struct problems problems = {0};
    AUTO(registry_fini) struct registry registry;
    static const char text[] = REGISTRY(
        "\"source\": {\"url\": \"https://example.org/r.git\", \"commit\": \"" COMMIT
        "\", \"licence\": \"MIT\","
        " \"size\": \"2 MB\", \"comment\": \"a note\"},"
        "\"data\": [{\"path\": \"data/a.csv\", \"get\": \"by hand\", \"size\": 1024, \"models\": "
        "\"large\"},"
        " {\"path\": \"data\"}],"
        "\"requires\": [{\"modules\": [\"torch\", \"os.path\"], \"get\": \"pip install torch\"},"
        " {\"modules\": \"timm\", \"models\": [\"small\", \"large\"]}]");
    assert_true(registry_parse("r", text, strlen(text), &registry, &problems));
    expect_problems(&problems, LINES());
    const struct repo *repo = &registry.repos[0];
    assert_string_equal(repo->path_given, "p");
    assert_string_equal(repo->source.url, "https://example.org/r.git");
    assert_string_equal(repo->source.commit, COMMIT);
    assert_string_equal(repo->source.licence, "MIT");
    assert_int_equal(repo->source.size_bytes, 2000000);
    assert_int_equal(repo->data_count, 2);
    assert_string_equal(repo->data[0].path, "data/a.csv");
    assert_string_equal(repo->data[0].get, "by hand");
    assert_int_equal(repo->data[0].size_bytes, 1024);
    assert_int_equal(repo->data[0].models.count, 1);
    assert_string_equal(repo->data[0].models.items[0], "large");
    assert_null(repo->data[1].get);
    assert_int_equal(repo->data[1].models.count, 0);
    assert_int_equal(repo->module_count, 2);
    assert_string_equal(repo->modules[0].names.items[1], "os.path");
    assert_string_equal(repo->modules[0].get, "pip install torch");
    assert_string_equal(repo->modules[1].names.items[0], "timm");
    assert_int_equal(repo->modules[1].models.count, 2);
}

static void a_registry_that_says_nothing_needs_nothing(void **state)
{
    (void)state;
    AUTO(problems_fini) struct problems problems = {0};
    AUTO(registry_fini) struct registry registry;
    static const char text[] = REGISTRY("\"source\": null, \"data\": null");
    assert_true(registry_parse("r", text, strlen(text), &registry, &problems));
    assert_null(registry.repos[0].source.url);
    assert_int_equal(registry.repos[0].data_count, 0);
    assert_int_equal(registry.repos[0].module_count, 0);
}

static void every_mistake_of_a_source_is_told_with_its_place(void **state)
{
    (void)state;
    expect_registry(
        REGISTRY("\"source\": 3"),
        LINES("r:2:11: error: 'source': expected an object, not 3 (at $.models.r.source)"));
    expect_registry(
        REGISTRY("\"source\": {}"),
        LINES("r:2:11: error: 'url' is missing: what git clones (at $.models.r.source)"));
    /* git would take the first for an option, the second for a program to start. */
    expect_registry(REGISTRY("\"source\": {\"url\": \"--upload-pack=x\"}"),
                    LINES("r:2:19: error: 'url': expected an address that git clones (https://..., "
                          "ssh://..., git@...), not "
                          "\"--upload-pack=x\" (at $.models.r.source.url)"));
    expect_registry(REGISTRY("\"source\": {\"url\": \"ext::sh -c x\"}"),
                    LINES("r:2:19: error: 'url': expected an address that git clones (https://..., "
                          "ssh://..., git@...), not "
                          "\"ext::sh -c x\" (at $.models.r.source.url)"));
    expect_registry(REGISTRY("\"source\": {\"url\": \"https://a b\"}"),
                    LINES("r:2:19: error: 'url': expected an address that git clones (https://..., "
                          "ssh://..., git@...), not "
                          "\"https://a b\" (at $.models.r.source.url)"));
    /* A branch moves, and so does what a short name stands for. */
    expect_registry(REGISTRY("\"source\": {\"url\": \"git@h:r\", \"commit\": \"main\"}"),
                    LINES("r:2:40: error: 'commit': expected the 40 (or 64) hexadecimal digits of "
                          "a commit, not \"main\" (at "
                          "$.models.r.source.commit)"));
    expect_registry(REGISTRY("\"source\": {\"url\": \"git@h:r\", \"license\": \"MIT\"}"),
                    LINES("r:2:30: warning: unknown key 'license'; did you mean 'licence'? (at "
                          "$.models.r.source.license)"));
}

static void every_mistake_of_data_is_told_with_its_place(void **state)
{
    (void)state;
    expect_registry(REGISTRY("\"data\": {}"), LINES("r:2:9: error: 'data': expected a list of at "
                                                    "most 1000 objects, not an empty object (at "
                                                    "$.models.r.data)"));
    expect_registry(
        REGISTRY("\"data\": [\"x\", {}]"),
        LINES("r:2:10: error: 'data': expected an object, not \"x\" (at $.models.r.data[0])",
              "r:2:15: error: 'path' is missing: a file or folder (at $.models.r.data[1])"));
    expect_registry(
        REGISTRY("\"data\": [{\"path\": \"d\", \"size\": \"big\", \"models\": [\"larg\"]}]"),
        LINES("r:2:32: error: 'size': expected bytes or a size such as \"500 MB\" or \"1GiB\", at "
              "most 2^53 bytes, "
              "not \"big\" (at $.models.r.data[0].size)",
              "r:2:49: error: 'models': 'larg' is none of the repository's models; did you mean "
              "'large'? (at "
              "$.models.r.data[0].models)"));
    expect_registry(REGISTRY("\"data\": [{\"path\": \"d\", \"get\": \"a\\u001b[2J\"}]"),
                    LINES("r:2:31: error: 'get': expected a string without control characters, not "
                          "\"a\\u001b[2J\" (at "
                          "$.models.r.data[0].get)"));
}

static void a_module_is_a_name_and_never_a_line_of_code(void **state)
{
    (void)state;
    expect_registry(REGISTRY("\"requires\": [{}]"),
                    LINES("r:2:14: error: 'modules' is missing: names of Python modules (at "
                          "$.models.r.requires[0])"));
    expect_registry(
        REGISTRY("\"requires\": [{\"modules\": [\"os; x()\", \".a\", \"a.\", \"1a\", "
                 "\"scikit-learn\", \"_a.b1\"]}]"),
        LINES("r:2:26: error: 'modules': 'os; x()' is no name of a Python module (at "
              "$.models.r.requires[0].modules)",
              "r:2:26: error: 'modules': '.a' is no name of a Python module (at "
              "$.models.r.requires[0].modules)",
              "r:2:26: error: 'modules': 'a.' is no name of a Python module (at "
              "$.models.r.requires[0].modules)",
              "r:2:26: error: 'modules': '1a' is no name of a Python module (at "
              "$.models.r.requires[0].modules)",
              "r:2:26: error: 'modules': 'scikit-learn' is no name of a Python module (at "
              "$.models.r.requires[0].modules)"));
}

static void a_version_is_read_with_its_module(void **state)
{
    (void)state;
    AUTO(problems_fini) struct problems problems = {0};
    AUTO(registry_fini) struct registry registry;
    static const char text[] = REGISTRY("\"requires\": [{\"modules\": [\"torch >=2.0, <2.12\", "
                                        "\"yaml\"]}, {\"python\": \">=3.8\"}]");
    assert_true(registry_parse("r", text, strlen(text), &registry, &problems));
    expect_problems(&problems, LINES());
    const struct registry_modules *rows = registry.repos[0].modules;
    assert_string_equal(rows[0].names.items[0], "torch");
    assert_string_equal(rows[0].wanted.items[0], ">=2.0, <2.12");
    assert_string_equal(rows[0].names.items[1], "yaml");
    assert_string_equal(rows[0].wanted.items[1], "");
    assert_null(rows[0].python);
    assert_int_equal(rows[1].names.count, 0);
    assert_string_equal(rows[1].python, ">=3.8");
}

static void a_malformed_version_specifier_is_refused_with_its_place(void **state)
{
    (void)state;
    expect_registry(REGISTRY("\"requires\": [{\"modules\": [\"torch=2\", \"numpy\"]}]"),
                    LINES("r:2:26: error: 'modules': 'torch=2': '=2' is not a version specifier "
                          "such as >=2.6,<3 (at "
                          "$.models.r.requires[0].modules)"));
    expect_registry(
        REGISTRY("\"requires\": [{\"python\": \"3.8\"}]"),
        LINES(
            "r:2:25: error: 'python': '3.8': '3.8' is not a version specifier such as >=2.6,<3 (at "
            "$.models.r.requires[0].python)"));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_machine_must_have_is_read),
        cmocka_unit_test(a_registry_that_says_nothing_needs_nothing),
        cmocka_unit_test(every_mistake_of_a_source_is_told_with_its_place),
        cmocka_unit_test(every_mistake_of_data_is_told_with_its_place),
        cmocka_unit_test(a_module_is_a_name_and_never_a_line_of_code),
        cmocka_unit_test(a_version_is_read_with_its_module),
        cmocka_unit_test(a_malformed_version_specifier_is_refused_with_its_place),
    };
    return cmocka_run_group_tests_name("what a machine must have", tests, NULL, NULL);
}
