#include "expect.h"
#include "plan/config/registry_rules.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include "tests/unit/folder.h"

#include <sys/stat.h>
#include <unistd.h>

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

static char *join(const struct strv *list)
{
    return strv_join(list, "|");
}

static void what_is_not_said_has_its_default(void **state)
{
    (void)state;
    AUTO(registry_fini)
    struct registry registry = parse_good("{\"models\": {\"r\": {\"path\": \"repos/r\", "
                                          "\"train_script\": \"./t.sh\", \"models\": [\"m\"]}}}");
    assert_int_equal(registry.repo_count, 1);
    const struct repo *repo = &registry.repos[0];
    assert_string_equal(repo->name, "r");
    assert_string_equal(repo->json_path, "$.models.r");
    assert_string_equal(repo->path, "/nonexistent/folder/repos/r");
    assert_false(repo->path_exists);
    assert_string_equal(repo->train_script, "./t.sh");
    assert_int_equal(repo->models.count, 1);
    assert_null(repo->model_flag);
    assert_int_equal(repo->param_count, 0);
    assert_int_equal(repo->required_args.count, 0);
    assert_int_equal(repo->env.count, 0);
    assert_int_equal(repo->path_prepend.count, 0);
    assert_null(repo->python);
    assert_null(repo->venv);
    assert_null(repo->conda_env);
    assert_int_equal(repo->command_prefix.count, 0);
    assert_int_equal(repo->metric_count, 0);
    assert_int_equal(repo->success.count, 0);
    assert_int_equal(repo->errors.count, 1);
    assert_non_null(strstr(repo->errors.items[0],
                           "^(?:  \\+ Exception Group )?Traceback \\(most recent call last\\)|"));
    assert_true(repo->exit_code_required);
}

static void everything_about_a_repository_is_read(void **state)
{
    (void)state;
    AUTO(registry_fini)
    struct registry registry = parse_good(
        "{\"models\": {\"a\": {\"path\": \"/opt/a\", \"train_script\": \"train.py\", \"models\": "
        "[\"x\", \"y\"],"
        "\"comment\": \"free\", \"model_flag\": \"-n\", \"required_args\": {\"data\": \"-d  d2a\", "
        "\"list\": [\"-o\", "
        "\"a b\"]},"
        "\"env\": {\"A\": \"1\"}, \"path_prepend\": [\"bin\", \"/usr/x\"], \"python\": \"python3\","
        "\"command_prefix\": [\"nice\", \"-n\", \"5\"], \"success\": \"done\", \"errors\": [], "
        "\"exit_code\": "
        "\"ignored\","
        "\"performance_metrics\": {\"log_patterns\": {\"acc\": \"acc ([0-9.]+)\", \"plain\": \"no "
        "group\"}},"
        "\"marks\": {\"epoch\": \"^Epoch (\\\\d+)\", \"val.1\": {\"start\": \"^V\", \"end\": "
        "\"^W\"},"
        "\"fold\": {\"end\": \"done\", \"note\": \"free\"}}}}}");
    const struct repo *repo = registry_find(&registry, "a");
    assert_non_null(repo);
    assert_null(registry_find(&registry, "b"));
    assert_string_equal(repo->path, "/opt/a");
    AUTO_FREE char *models = join(&repo->models);
    AUTO_FREE char *args = join(&repo->required_args);
    AUTO_FREE char *env = join(&repo->env);
    AUTO_FREE char *prepend = join(&repo->path_prepend);
    AUTO_FREE char *prefix = join(&repo->command_prefix);
    AUTO_FREE char *success = join(&repo->success);
    assert_string_equal(models, "x|y");
    assert_string_equal(repo->model_flag, "-n");
    assert_string_equal(args, "-d|d2a|-o|a b");
    assert_string_equal(env, "A=1");
    assert_string_equal(prepend, "/nonexistent/folder/bin|/usr/x");
    assert_string_equal(repo->python, "python3");
    assert_string_equal(prefix, "nice|-n|5");
    assert_string_equal(success, "done");
    assert_int_equal(repo->errors.count, 0);
    assert_false(repo->exit_code_required);
    assert_int_equal(repo->metric_count, 2);
    assert_string_equal(repo->metrics[0].name, "acc");
    assert_string_equal(repo->metrics[0].pattern, "acc ([0-9.]+)");
    assert_string_equal(repo->metrics[1].pattern, "no group");
    assert_int_equal(repo->mark_count, 3);
    assert_string_equal(repo->marks[0].name, "epoch");
    assert_string_equal(repo->marks[0].start, "^Epoch (\\d+)");
    assert_null(repo->marks[0].end);
    assert_string_equal(repo->marks[1].name, "val.1");
    assert_string_equal(repo->marks[1].start, "^V");
    assert_string_equal(repo->marks[1].end, "^W");
    assert_null(repo->marks[2].start);
    assert_string_equal(repo->marks[2].end, "done");
}

#define PARAMS(rows)                                                                        \
    "{\"models\": {\"r\": {\"path\": \"p\", \"train_script\": \"t\", \"models\": [\"m\"], " \
    "\"supported_hyperparams\": "                                                           \
    "{" rows "}}}}"

static void hyperparameters_are_read_in_their_order(void **state)
{
    (void)state;
    AUTO(registry_fini)
    struct registry registry = parse_good(PARAMS(
        "\"z\": {\"flag\": \"--z\", \"type\": \"int\", \"default\": 10, \"range\": [5, 15]},"
        "\"a\": {\"flag\": \"-a\", \"type\": \"float\", \"default\": 0, \"range\": [1e-5, 0.001],"
        "\"distribution\": \"log_uniform\", \"zero_probability\": 0.2},"
        "\"c\": {\"flag\": \"-c\", \"type\": \"choice\", \"default\": \"adam\", \"choices\": "
        "[\"adam\", \"sgd\", 3, true]},"
        "\"n\": {\"flag\": \"-n\", \"type\": \"float\", \"default\": 2.5, \"range\": [0, 8], "
        "\"distribution\": \"normal\"},"
        "\"k\": {\"flag\": \"-k\", \"type\": \"float\", \"default\": 1.5, \"range\": [0, 8], "
        "\"distribution\": \"normal\","
        "\"mean\": 3, \"std\": 0.5},"
        "\"l\": {\"flag\": \"-l\", \"type\": \"float\", \"default\": 1.5, \"range\": [2, 10], "
        "\"distribution\": \"normal\","
        "\"deviation\": 0.5}"));
    const struct repo *repo = &registry.repos[0];
    assert_int_equal(repo->param_count, 6);
    const struct param *z = &repo->params[0];
    assert_string_equal(z->name, "z");
    assert_string_equal(z->flag, "--z");
    assert_int_equal(z->type, PARAM_INT);
    assert_int_equal(z->distribution, DISTRIBUTION_UNIFORM);
    assert_true(z->has_range && z->low == 5 && z->high == 15);
    assert_int_equal(z->default_value.kind, VALUE_INT);
    assert_int_equal(z->default_value.integer, 10);
    const struct param *a = repo_param(repo, "a");
    assert_ptr_equal(a, &repo->params[1]);
    assert_int_equal(a->distribution, DISTRIBUTION_LOG_UNIFORM);
    assert_int_equal(a->default_value.kind, VALUE_FLOAT);
    assert_true(a->default_value.real == 0 && a->zero_probability == 0.2 && a->low == 1e-5 &&
                a->high == 0.001);
    const struct param *c = repo_param(repo, "c");
    assert_int_equal(c->type, PARAM_CHOICE);
    assert_int_equal(c->choice_count, 4);
    assert_string_equal(c->choices[1].text, "sgd");
    assert_int_equal(c->choices[2].integer, 3);
    assert_string_equal(c->default_value.text, "adam");
    const struct param *n = repo_param(repo, "n");
    assert_int_equal(n->distribution, DISTRIBUTION_NORMAL);
    assert_false(n->has_normal);
    const struct param *k = repo_param(repo, "k");
    assert_true(k->has_normal && k->mean == 3 && k->deviation == 0.5);
    const struct param *l = repo_param(repo, "l");
    /* the mean: the middle of [2, 10] */
    assert_true(l->has_normal && l->mean == 6 && l->deviation == 0.5);
    assert_null(repo_param(repo, "none"));
}

static void a_default_may_lie_outside_the_range(void **state)
{
    (void)state;
    AUTO(registry_fini)
    struct registry registry =
        parse_good(PARAMS("\"wd\": {\"flag\": \"--wd\", \"type\": \"float\", \"default\": 0.0, "
                          "\"range\": [0.00001, 0.001],"
                          "\"distribution\": \"log_uniform\"}"));
    assert_true(registry.repos[0].params[0].default_value.real == 0);
}

static void null_is_a_choice(void **state)
{
    (void)state;
    AUTO(registry_fini)
    struct registry registry =
        parse_good(PARAMS("\"opt\": {\"flag\": \"-o\", \"type\": \"choice\", \"default\": null, "
                          "\"choices\": [null, \"adam\"]}"));
    const struct param *param = &registry.repos[0].params[0];
    assert_int_equal(param->default_value.kind, VALUE_NULL);
    assert_int_equal(param->choice_count, 2);
    assert_int_equal(param->choices[0].kind, VALUE_NULL);
}

static char *make_tree(char folder[64])
{
    strcpy(folder, "/tmp/registry-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    return realpath(folder, NULL);
}

static void make_folder(const char *root, const char *name)
{
    AUTO_FREE char *path = mem_printf("%s/%s", root, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void assert_repo_path(const struct repo *repo, const char *root, const char *rest,
                             bool exists)
{
    AUTO_FREE char *wanted = mem_printf("%s%s", root, rest);
    assert_string_equal(repo->path, wanted);
    assert_int_equal(repo->path_exists, exists);
}

static void a_path_is_relative_to_the_registry_then_to_the_working_folder(void **state)
{
    (void)state;
    char folder[64];
    AUTO_FREE char *root = make_tree(folder);
    static const char *const folders[] = {"share", "share/both", "share/near", "both", "far"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        make_folder(root, folders[i]);
    AUTO_FREE char *before = getcwd(NULL, 0);
    assert_int_equal(chdir(root), 0);
#define REPO(path) "{\"path\": \"" path "\", \"train_script\": \"t\", \"models\": [\"m\"]}"
    static const char text[] =
        "{\"models\": {\"both\": " REPO("both") ", \"near\": " REPO("./near") ", \"far\": " REPO(
            "far") ", \"up\": " REPO("../far") ", \"none\": " REPO("none") "}}";
    {
        AUTO(registry_fini) struct registry registry = parse_good_as("share/r.json", text);
        assert_repo_path(&registry.repos[0], root, "/share/both", true);
        assert_repo_path(&registry.repos[1], root, "/share/near", true);
        assert_repo_path(&registry.repos[2], root, "/far", true);
        assert_repo_path(&registry.repos[3], root, "/far", true);
        assert_repo_path(&registry.repos[4], root, "/share/none", false);
    }
    if (before)
        assert_int_equal(chdir(before), 0);
    folder_remove(folder);
}

static void folders_before_path_are_relative_to_the_registry_then_to_the_repository(void **state)
{
    (void)state;
    char folder[64];
    AUTO_FREE char *root = make_tree(folder);
    static const char *const folders[] = {"share", "share/tools", "repo", "repo/tools", "repo/bin"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        make_folder(root, folders[i]);
    AUTO_FREE char *file = mem_printf("%s/share/r.json", root);
    {
        AUTO(registry_fini)
        struct registry registry =
            parse_good_as(file, "{\"models\": {\"r\": {\"path\": \"../repo\", \"train_script\": "
                                "\"t\", \"models\": [\"m\"],"
                                "\"path_prepend\": [\"tools\", \"bin\"]}}}");
        AUTO_FREE char *wanted = mem_printf("%s/share/tools|%s/repo/bin", root, root);
        AUTO_FREE char *found = join(&registry.repos[0].path_prepend);
        assert_string_equal(found, wanted);
    }
    folder_remove(folder);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_said_has_its_default),
        cmocka_unit_test(everything_about_a_repository_is_read),
        cmocka_unit_test(hyperparameters_are_read_in_their_order),
        cmocka_unit_test(a_default_may_lie_outside_the_range),
        cmocka_unit_test(null_is_a_choice),
        cmocka_unit_test(folders_before_path_are_relative_to_the_registry_then_to_the_repository),
        cmocka_unit_test(a_path_is_relative_to_the_registry_then_to_the_working_folder),
    };
    return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
