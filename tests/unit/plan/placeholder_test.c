/* {dir}, {id} and names of hyperparameters in words of a command, and the warnings about
 * outputs. */
#include "plan/change.h"
#include "plan/plan_json.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "fixture.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* A grid over lr with this text as required_args, a JSON value. */
static void plan_with(struct fixture *fixture, const char *args, const char *more)
{
    AUTO_FREE char *registry =
        mem_printf("{'models': {'r': {'path': 'toy', 'train_script': './train.sh', 'models': ['m'],"
                   " 'required_args': {'words': %s}, %s 'supported_hyperparams': {"
                   "'lr': {'flag': '--lr', 'type': 'float', 'default': 0.1, 'range': [0, 1]},"
                   "'batch-size': {'flag': '-b', 'type': 'int', 'default': 64, 'range': [1, 64]},"
                   "'run': {'flag': '--run-name', 'type': 'choice', 'default': 'try-{id}',"
                   " 'choices': ['try-{id}']}}}}}",
                   args, more);
    fixture_plan(fixture, registry,
                 "{'experiments': [{'repo': 'r', 'model': 'm', 'mode': 'grid',"
                 " 'hyperparameters': {'lr': [0.1, 0.01]}}]}");
    assert_true(fixture->ok);
    assert_int_equal(fixture->plan.count, 2);
}

/* The words behind the script of experiment number, joined by "|". The caller frees it. */
static char *words_of(const struct fixture *fixture, size_t number, const char *dir)
{
    const struct plan_experiment *experiment = &fixture->plan.experiments[number - 1];
    AUTO_STRV struct strv argv = {0};
    const struct placeholder_place place = {.id = experiment->id, .dir = dir};
    placeholder_fill_argv(&experiment->foreground, &place, &argv);
    free(argv.items[0]);
    argv.items[0] = mem_strdup("");
    return strv_join(&argv, "|");
}

static void assert_words(const struct fixture *fixture, size_t number, const char *expected)
{
    AUTO_FREE char *words = words_of(fixture, number, "/runs/a");
    assert_string_equal(words, expected);
}

static void words_are_replaced_for_each_experiment(void **state)
{
    struct fixture *fixture = *state;
    plan_with(fixture, "['--out', '{dir}/x', '--tag={id}', 'lr{lr}b{batch_size}']", "");
    assert_words(fixture, 1,
                 "|--out|/runs/a/x|--tag=r_m_001|lr0.1b64|--lr|0.1|-b|64|--run-name|try-r_m_001");
    assert_words(fixture, 2,
                 "|--out|/runs/a/x|--tag=r_m_002|lr0.01b64|--lr|0.01|-b|64|--run-name|try-r_m_002");
}

static void a_hyperparameter_keeps_the_words_that_were_written(void **state)
{
    struct fixture *fixture = *state;
    plan_with(fixture, "[]", "");
    for (size_t i = 0; i < 2; i++) {
        AUTO_FREE char *value = fixture_value(&fixture->plan.experiments[i], "run");
        assert_string_equal(value, "try-{id}");
    }
}

static void other_braces_stay(void **state)
{
    struct fixture *fixture = *state;
    plan_with(fixture,
              "['{}', '{', '{lr', '{{\\'a\\': {\\'lr\\': 1}}', '{{ prompt }}', '{lr:.2f}', "
              "'${lr}', '{1}']",
              "");
    assert_words(fixture, 1,
                 "|{}|{|{lr|{{\"a\": {\"lr\": 1}}|{{ prompt }}|{lr:.2f}|$0.1|{1}|--lr|0.1|-b|64|"
                 "--run-name|try-r_m_001");
}

static void two_braces_are_one(void **state)
{
    struct fixture *fixture = *state;
    plan_with(fixture, "['{{lr}', '{{dir}/{dir}', '{{{id}']", "");
    assert_words(fixture, 1, "|{lr}|{dir}//runs/a|{{id}|--lr|0.1|-b|64|--run-name|try-r_m_001");
}

static void the_folder_stays_where_it_is_not_known(void **state)
{
    struct fixture *fixture = *state;
    plan_with(fixture, "['{dir}/{id}']", "");
    AUTO_FREE char *words = words_of(fixture, 1, NULL);
    assert_string_equal(words, "|{dir}/r_m_001|--lr|0.1|-b|64|--run-name|try-r_m_001");
}

static void the_environment_has_them_too(void **state)
{
    struct fixture *fixture = *state;
    plan_with(fixture, "[]", "'env': {'OUT': '{dir}/lr{lr}'},");
    AUTO_STRV struct strv env = {0};
    const struct plan_experiment *second = &fixture->plan.experiments[1];
    const struct placeholder_place place = {.id = second->id, .dir = "/d"};
    placeholder_fill_env(&second->foreground, &place, &env);
    assert_string_equal(strv_env_get(&env, "OUT"), "/d/lr0.01");
}

/* As of a plan that was made before there were placeholders, and of bench's commands. */
static void words_of_a_verbatim_plan_stay(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.verbatim = true;
    plan_with(fixture, "['--output_dir', '{id}', '{lrr}']", "");
    assert_words(fixture, 1, "|--output_dir|{id}|{lrr}|--lr|0.1|-b|64|--run-name|try-{id}");
    assert_int_equal(fixture->problems.count, 0);
}

static void a_plan_read_back_has_the_same_words(void **state)
{
    struct fixture *fixture = *state;
    plan_with(fixture, "['--out', '{dir}']", "");
    json_t *json = plan_experiment_to_json(&fixture->plan.experiments[1]);
    struct plan_experiment again;
    assert_true(plan_experiment_from_json(json, &again, NULL));
    json_decref(json);
    AUTO_STRV struct strv argv = {0};
    const struct placeholder_place place = {.id = again.id, .dir = "/new"};
    placeholder_fill_argv(&again.foreground, &place, &argv);
    assert_string_equal(argv.items[2], "/new");
    plan_experiment_fini(&again);
}

/* A retry with a smaller batch writes its own name. */
static void a_changed_hyperparameter_is_seen(void **state)
{
    struct fixture *fixture = *state;
    plan_with(fixture, "['b{batch-size}']",
              "'oom_steps': [{'scale': {'batch-size': 0.5}, 'args': ['--acc', "
              "'{batch-size}']}],");
    struct plan_experiment *experiment = change_copy(&fixture->plan.experiments[0]);
    json_t *changed = json_array();
    assert_true(change_take_step(&experiment->foreground, 0, changed));
    json_decref(changed);
    AUTO_STRV struct strv argv = {0};
    const struct placeholder_place place = {.id = experiment->id};
    placeholder_fill_argv(&experiment->foreground, &place, &argv);
    assert_string_equal(argv.items[1], "b32");
    assert_string_equal(argv.items[argv.count - 1], "32");
    plan_experiment_fini(experiment);
    free(experiment);
}

static void an_output_that_several_share_is_named_once(void **state)
{
    struct fixture *fixture = *state;
    static const char *const shared[] = {
        "['--output_dir', 'out']",    "['--output-dir', 'out']",  "['--save-dir=out']",
        "['--logdir', 'out']",        "['--checkpoint-dir=out']", "['--out_dir=out']",
        "['trainer.output_dir=out']", "['hydra.run.dir=out']",    "['--run-name', 'out']",
    };
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        plan_with(fixture, shared[i], "");
        assert_int_equal(fixture->problems.count, 1);
        assert_int_equal(fixture->problems.items[0].severity, SEVERITY_WARNING);
        const char *text = fixture->problems.items[0].text;
        assert_non_null(strstr(text, "is 'out' in 2 experiments"));
        assert_non_null(strstr(text, "{dir}"));
    }
    plan_with(fixture, "['--output_dir', 'out', '--logdir=logs']", "");
    assert_int_equal(fixture->problems.count, 1);
    assert_non_null(fixture_problem(fixture, "--output_dir is 'out' in 2 experiments, --logdir is "
                                             "'logs' in 2 experiments"));
    assert_non_null(fixture_problem(fixture, "--output_dir {dir}"));
}

static void an_output_of_each_one_s_own_is_not(void **state)
{
    struct fixture *fixture = *state;
    static const char *const own[] = {
        "['--output_dir', '{dir}']",  "['--output_dir', 'out/{id}']",
        "['--output_dir=o{lr}']",     "['--data_dir', 'data']",
        "['--output_dir', 'none']",   "['--log_dir']",
        "['--logdir', '--run', 'a']", "['-o', 'out']",
        "['--resume', 'model.pt']",
    };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        plan_with(fixture, own[i], "");
        assert_int_equal(fixture->problems.count, 0);
    }
}

static void a_short_option_is_known_by_its_hyperparameter(void **state)
{
    struct fixture *fixture = *state;
    fixture_plan(fixture,
                 "{'models': {'r': {'path': 'toy', 'train_script': './train.sh', 'models': ['m'],"
                 " 'supported_hyperparams': {'output_dir': {'flag': '-o', 'type': 'choice',"
                 " 'default': 'out', 'choices': ['out', 'other']}}}}}",
                 "{'experiments': [{'repo': 'r', 'model': 'm', 'mode': 'default',"
                 " 'runs_per_config': 3}]}");
    assert_non_null(fixture_problem(fixture, "-o is 'out' in 3 experiments"));
}

static void a_name_that_is_not_known_is_named_with_the_nearest(void **state)
{
    struct fixture *fixture = *state;
    plan_with(fixture, "['out/{lrr}', '{lrr}', '{batch_sise}', '{epoch}', '{{lrr}']", "");
    assert_int_equal(fixture->problems.count, 2);
    assert_non_null(fixture_problem(fixture, "{lrr} stays as it is"));
    assert_non_null(fixture_problem(fixture, "did you mean {lr}?"));
    assert_non_null(fixture_problem(fixture, "did you mean {batch-size}?"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        TEST(words_are_replaced_for_each_experiment),
        TEST(a_hyperparameter_keeps_the_words_that_were_written),
        TEST(other_braces_stay),
        TEST(two_braces_are_one),
        TEST(the_folder_stays_where_it_is_not_known),
        TEST(the_environment_has_them_too),
        TEST(words_of_a_verbatim_plan_stay),
        TEST(a_plan_read_back_has_the_same_words),
        TEST(a_changed_hyperparameter_is_seen),
        TEST(an_output_that_several_share_is_named_once),
        TEST(an_output_of_each_one_s_own_is_not),
        TEST(a_short_option_is_known_by_its_hyperparameter),
        TEST(a_name_that_is_not_known_is_named_with_the_nearest),
    };
    return cmocka_run_group_tests_name("placeholder", tests, NULL, NULL);
}
