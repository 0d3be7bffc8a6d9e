/* What is started: scripts, interpreters, arguments and environment. */
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
#include <unistd.h>

/* Plans one experiment of repository "r" in folder toy, with more keys of the registry's entry and
 * of the settings. */
static void plan_with(struct fixture *fixture, const char *repo_keys, const char *settings_keys)
{
    AUTO_FREE char *registry = mem_printf(
        "{'models': {'r': {'path': 'toy', 'models': ['m'], 'supported_hyperparams': {"
        "'a': {'flag': '-a', 'type': 'int', 'default': 1, 'range': [0, 9]},"
        "'b-c': {'type': 'float', 'default': 0.5, 'range': [0, 1]},"
        "'d': {'flag': '--d', 'type': 'choice', 'default': true, 'choices': [true, false]}}, %s}}}",
        repo_keys);
    AUTO_FREE char *settings = mem_printf("{%s 'experiments': [{'repo': 'r', 'model': 'm', 'mode': "
                                          "'default', 'runs_per_config': 2}]}",
                                          settings_keys);
    fixture_plan(fixture, registry, settings);
}

/* The words of the command, joined by "|", the folder written as F. The caller frees it. */
static char *shown(const struct fixture *fixture, const struct strv *words)
{
    AUTO_FREE char *joined = strv_join(words, "|");
    struct text out = {0};
    size_t length = strlen(fixture->folder);
    for (const char *c = joined; *c;) {
        bool folder = strncmp(c, fixture->folder, length) == 0;
        text_add_bytes(&out, folder ? "F" : c, 1);
        c += folder ? length : 1;
    }
    return text_take(&out);
}

static void assert_words(const struct fixture *fixture, const struct strv *words,
                         const char *expected)
{
    AUTO_FREE char *joined = shown(fixture, words);
    assert_string_equal(joined, expected);
}

static const struct plan_job *job_of(const struct fixture *fixture)
{
    assert_true(fixture->ok);
    assert_int_equal(fixture->plan.count, 2);
    return &fixture->plan.experiments[1].foreground;
}

static void a_script_is_started_with_its_flags_in_the_registrys_order(void **state)
{
    struct fixture *fixture = *state;
    plan_with(fixture,
              "'train_script': './train.sh', 'model_flag': '-n', 'required_args': {'x': '-d  d2a', "
              "'y': ['--z', 'a b']}",
              "");
    const struct plan_job *job = job_of(fixture);
    assert_int_equal(fixture->problems.count, 0);
    assert_words(fixture, &job->argv, "F/toy/train.sh|-n|m|-d|d2a|--z|a b|-a|1|--d|True");
    assert_words(fixture, &job->env, "TARE_PARAM_B_C=0.5");
    AUTO_FREE char *cwd = mem_printf("%s/toy", fixture->folder);
    assert_string_equal(job->cwd, cwd);
    assert_int_equal(job->path_prepend.count, 0);
}

static void flags_that_end_with_an_equals_sign_are_joined_with_their_values(void **state)
{
    struct fixture *fixture = *state;
    fixture_plan(
        fixture,
        "{'models': {'r': {'path': 'toy', 'train_script': './train.sh', 'models': ['m'],"
        "'supported_hyperparams': {"
        "'lr': {'flag': '--learning_rate=', 'type': 'float', 'default': 0.5, 'range': [0, 1]},"
        "'wd': {'flag': 'optimizer.wd=', 'type': 'int', 'default': 3, 'range': [0, 9]}}}}}",
        "{'experiments': [{'repo': 'r', 'model': 'm', 'mode': 'default', 'runs_per_config': 2}]}");
    const struct plan_job *job = job_of(fixture);
    assert_words(fixture, &job->argv, "F/toy/train.sh|--learning_rate=0.5|optimizer.wd=3");
    assert_int_equal(job->params[1].place, 2);
    assert_int_equal(fixture->problems.count, 0);
}

/* The values of hyperparameters without a flag go where the words name them; all other braces
 * stay. */
static void values_go_to_their_places_in_the_required_words(void **state)
{
    struct fixture *fixture = *state;
    fixture_plan(
        fixture,
        "{'models': {'r': {'path': 'toy', 'train_script': './train.sh', 'models': ['m'],"
        "'required_args': {'script': ['fit', '--lr', '{lr}', '{amp}', '--n={n}', '{gone}', '{x}', "
        "'{a: 1}', "
        "'--f', '{f}']},"
        "'supported_hyperparams': {"
        "'lr': {'type': 'text', 'default': '1e-3'},"
        "'n': {'type': 'int', 'default': 7, 'range': null},"
        "'gone': {'type': 'text', 'default': null},"
        "'f': {'flag': '-f', 'type': 'int', 'default': 2, 'range': null},"
        "'amp': {'flag': '--amp', 'off_flag': '--no-amp', 'type': 'bool', 'default': false}}}}}",
        "{'experiments': [{'repo': 'r', 'model': 'm', 'mode': 'default', 'runs_per_config': 2}]}");
    const struct plan_job *job = job_of(fixture);
    assert_words(fixture, &job->argv,
                 "F/toy/train.sh|fit|--lr|1e-3|--no-amp|--n=7|{x}|{a: 1}|--f|{f}|-f|2");
    assert_int_equal(job->env.count, 0);
    assert_int_equal(job->params[0].place, 3);
    assert_int_equal(job->params[1].place, 5);
}

/* After "--" an option would be an operand. The "--" of a launcher ends only its own options. */
static void options_precede_a_bare_double_dash_of_the_script(void **state)
{
    struct fixture *fixture = *state;
    fixture_plan(
        fixture,
        "{'models': {'r': {'path': 'toy', 'train_script': './train.sh', 'models': ['m'],"
        "'required_args': {'launcher': ['run', '--', 'train'], 'script': ['{lr}', '--', 'x={n}', "
        "'--']},"
        "'supported_hyperparams': {"
        "'lr': {'type': 'text', 'default': '1e-3'},"
        "'amp': {'flag': '--amp', 'type': 'bool', 'default': true},"
        "'n': {'type': 'int', 'default': 7, 'range': null},"
        "'f': {'flag': '-f', 'type': 'int', 'default': 2, 'range': null}}}}}",
        "{'experiments': [{'repo': 'r', 'model': 'm', 'mode': 'default', 'runs_per_config': 2}]}");
    const struct plan_job *job = job_of(fixture);
    assert_words(fixture, &job->argv, "F/toy/train.sh|run|--|train|1e-3|--amp|-f|2|--|x=7|--");
    assert_int_equal(job->params[2].place, 9);
    assert_int_equal(job->params[3].place, 7);
}

static void a_bare_name_is_the_repositorys_file_or_a_program_on_path(void **state)
{
    struct fixture *fixture = *state;
    fixture_write(fixture, "bin/trainer", "#!/bin/sh\n", true);
    fixture_write(fixture, "first/trainer", "#!/bin/sh\n", true);
    AUTO_FREE char *path = mem_printf("/nowhere:%s/bin", fixture->folder);
    fixture->options.path = path;
    plan_with(fixture, "'train_script': 'trainer'", "");
    assert_words(fixture, &job_of(fixture)->argv, "F/bin/trainer|-a|1|--d|True");
    plan_with(fixture, "'train_script': 'trainer', 'path_prepend': ['../first']", "");
    assert_words(fixture, &job_of(fixture)->argv, "F/first/trainer|-a|1|--d|True");
    assert_words(fixture, &job_of(fixture)->path_prepend, "F/first");
    plan_with(fixture, "'train_script': 'train.sh'", "");
    assert_words(fixture, &job_of(fixture)->argv, "F/toy/train.sh|-a|1|--d|True");
    assert_int_equal(fixture->problems.count, 0);
}

static void python_is_a_name_or_a_path(void **state)
{
    struct fixture *fixture = *state;
    fixture_write(fixture, "toy/train.py", "", false);
    fixture_write(fixture, "bin/python3", "#!/bin/sh\n", true);
    AUTO_FREE char *path = mem_printf("%s/bin", fixture->folder);
    fixture->options.path = path;
    plan_with(fixture, "'train_script': 'train.py', 'python': 'python3'", "");
    assert_words(fixture, &job_of(fixture)->argv, "F/bin/python3|F/toy/train.py|-a|1|--d|True");
    plan_with(fixture, "'train_script': 'train.py', 'python': '../bin/python3'", "");
    assert_words(fixture, &job_of(fixture)->argv, "F/bin/python3|F/toy/train.py|-a|1|--d|True");
    fixture->options.home = fixture->folder;
    plan_with(fixture, "'train_script': 'train.py', 'python': '~/bin/python3'", "");
    assert_words(fixture, &job_of(fixture)->argv, "F/bin/python3|F/toy/train.py|-a|1|--d|True");
    assert_int_equal(fixture->problems.count, 0);
}

static void a_venv_gives_its_python_and_is_activated(void **state)
{
    struct fixture *fixture = *state;
    fixture_write(fixture, "toy/train.py", "", false);
    fixture_write(fixture, "toy/.venv/bin/python", "#!/bin/sh\n", true);
    plan_with(fixture,
              "'train_script': 'train.py', 'venv': '.venv', 'path_prepend': ['/opt/tools']", "");
    const struct plan_job *job = job_of(fixture);
    assert_int_equal(fixture->problems.count, 0);
    assert_words(fixture, &job->argv, "F/toy/.venv/bin/python|F/toy/train.py|-a|1|--d|True");
    assert_words(fixture, &job->env, "VIRTUAL_ENV=F/toy/.venv|TARE_PARAM_B_C=0.5");
    assert_words(fixture, &job->path_prepend, "F/toy/.venv/bin|/opt/tools");
}

static void a_conda_environment_is_found_by_folder_or_name(void **state)
{
    struct fixture *fixture = *state;
    fixture_write(fixture, "toy/train.py", "", false);
    static const char *const places[] = {"prefix/envs/e0", "miniconda3/envs/e1",
                                         "anaconda3/envs/e2", ".conda/envs/e3"};
    AUTO_FREE char *prefix = mem_printf("%s/prefix", fixture->folder);
    fixture->options.conda_prefix = prefix;
    fixture->options.home = fixture->folder;
    for (int i = 0; i < 4; i++) {
        AUTO_FREE char *file = mem_printf("%s/bin/python", places[i]);
        fixture_write(fixture, file, "#!/bin/sh\n", true);
        AUTO_FREE char *keys = mem_printf("'train_script': 'train.py', 'conda_env': 'e%d'", i);
        plan_with(fixture, keys, "");
        AUTO_FREE char *expected =
            mem_printf("F/%s/bin/python|F/toy/train.py|-a|1|--d|True", places[i]);
        assert_words(fixture, &job_of(fixture)->argv, expected);
    }
    plan_with(fixture, "'train_script': 'train.py', 'conda_env': '../anaconda3/envs/e2'", "");
    assert_words(fixture, &job_of(fixture)->argv,
                 "F/anaconda3/envs/e2/bin/python|F/toy/train.py|-a|1|--d|True");
    assert_int_equal(fixture->problems.count, 0);
    plan_with(fixture, "'train_script': 'train.py', 'conda_env': 'e9'", "");
    assert_int_equal(fixture->problems.count, 1);
    const struct problem *problem = fixture_problem(fixture, "no conda environment 'e9'");
    assert_non_null(problem);
    assert_string_equal(problem->path, "$.models.r.conda_env");
}

static void a_prefix_comes_first_and_is_found_on_path(void **state)
{
    struct fixture *fixture = *state;
    fixture_write(fixture, "bin/nice", "#!/bin/sh\n", true);
    AUTO_FREE char *path = mem_printf("%s/bin", fixture->folder);
    fixture->options.path = path;
    plan_with(fixture, "'train_script': './train.sh', 'command_prefix': ['nice', '-n', '5']", "");
    assert_int_equal(fixture->problems.count, 0);
    assert_words(fixture, &job_of(fixture)->argv, "F/bin/nice|-n|5|F/toy/train.sh|-a|1|--d|True");
    plan_with(fixture, "'train_script': './train.sh', 'command_prefix': ['nicer', '-n', '5']", "");
    assert_int_equal(fixture->problems.count, 1);
    assert_non_null(fixture_problem(fixture, "no program 'nicer' is on PATH"));
}

static void the_settings_environment_is_over_the_registrys(void **state)
{
    struct fixture *fixture = *state;
    plan_with(fixture, "'train_script': './train.sh', 'env': {'A': 'registry', 'B': 'registry'}",
              "'tare': {'environment': {'B': 'settings', 'C': 'x=y'}},");
    assert_words(fixture, &job_of(fixture)->env, "A=registry|B=settings|C=x=y|TARE_PARAM_B_C=0.5");
}

/* The same mistake: a warning for looking, an error for running; told once for two runs. */
static void assert_missing(struct fixture *fixture, const char *keys, const char *path,
                           const char *text)
{
    for (int running = 0; running <= 1; running++) {
        fixture->options.for_running = running;
        plan_with(fixture, keys, "");
        if (fixture->problems.count != 1)
            fail_msg("%zu problems with %s", fixture->problems.count, keys);
        assert_int_equal(fixture->ok, !running);
        assert_int_equal(fixture->problems.items[0].severity,
                         running ? SEVERITY_ERROR : SEVERITY_WARNING);
        assert_string_equal(fixture->problems.items[0].path, path);
        assert_non_null(strstr(fixture->problems.items[0].text, text));
    }
}

static void what_is_missing_is_told_once(void **state)
{
    struct fixture *fixture = *state;
    fixture_write(fixture, "toy/train.py", "", false);
    assert_missing(fixture, "'train_script': './run.sh'", "$.models.r.train_script",
                   "toy/run.sh is not there");
    assert_missing(fixture, "'train_script': 'run'", "$.models.r.train_script",
                   "no program 'run' is on PATH");
    assert_missing(fixture, "'train_script': './train.py'", "$.models.r.train_script",
                   "is not executable");
    assert_missing(fixture, "'train_script': './train.py', 'python': 'python99'",
                   "$.models.r.python", "no program 'python99' is on PATH");
    assert_missing(fixture, "'train_script': './train.py', 'venv': '.venv'", "$.models.r.venv",
                   "toy/.venv/bin/python is not there or cannot be executed");
}

static void a_missing_folder_is_told_and_its_script_is_not(void **state)
{
    struct fixture *fixture = *state;
    static const char registry[] =
        "{'models': {'r': {'path': 'elsewhere', 'train_script': './train.sh', 'models': ['m']}}}";
    for (int running = 0; running <= 1; running++) {
        fixture->options.for_running = running;
        fixture_plan(fixture, registry,
                     "{'experiments': [{'repo': 'r', 'model': 'm', 'mode': 'default'},"
                     "{'repo': 'r', 'model': 'm', 'mode': 'default'}]}");
        assert_int_equal(fixture->ok, !running);
        assert_int_equal(fixture->problems.count, 1);
        assert_string_equal(fixture->problems.items[0].path, "$.models.r.path");
        assert_non_null(strstr(fixture->problems.items[0].text, "elsewhere is not there"));
    }
}

static void a_repository_that_nothing_runs_in_is_not_checked(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.for_running = true;
    fixture_plan(
        fixture,
        "{'models': {'r': {'path': 'elsewhere', 'train_script': './train.sh', 'models': ['m']}}}",
        "{'experiments': [{'repo': 'r', 'model': 'm', 'mode': 'default', 'runs_per_config': 0}]}");
    assert_true(fixture->ok);
    assert_int_equal(fixture->problems.count, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_set_up, fixture_tear_down)

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_script_is_started_with_its_flags_in_the_registrys_order),
        TEST(flags_that_end_with_an_equals_sign_are_joined_with_their_values),
        TEST(values_go_to_their_places_in_the_required_words),
        TEST(options_precede_a_bare_double_dash_of_the_script),
        TEST(a_bare_name_is_the_repositorys_file_or_a_program_on_path),
        TEST(python_is_a_name_or_a_path),
        TEST(a_venv_gives_its_python_and_is_activated),
        TEST(a_conda_environment_is_found_by_folder_or_name),
        TEST(a_prefix_comes_first_and_is_found_on_path),
        TEST(the_settings_environment_is_over_the_registrys),
        TEST(what_is_missing_is_told_once),
        TEST(a_missing_folder_is_told_and_its_script_is_not),
        TEST(a_repository_that_nothing_runs_in_is_not_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
