/* From settings to experiments. */
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

static void assert_value(const struct plan_experiment *experiment, const char *name,
                         const char *expected)
{
    AUTO_FREE char *value = fixture_value(experiment, name);
    assert_string_equal(value, expected);
}

static void assert_problem(const struct fixture *fixture, enum severity severity, const char *path,
                           const char *text)
{
    const struct problem *problem = fixture_problem(fixture, text);
    if (!problem)
        fail_msg("no problem says: %s", text);
    assert_int_equal(problem->severity, severity);
    assert_string_equal(problem->path, path);
    assert_true(problem->place.line == 1 && problem->place.column > 1);
}

static void default_mode_takes_defaults_and_given_values_every_run(void **state)
{
    struct fixture *fixture = *state;
    fixture_plan_toy(
        fixture,
        "{'experiments': [{'repo': 'toy', 'model': 'net', 'mode': 'default', 'runs_per_config': 2,"
        " 'hyperparameters': {'epochs': 3}}]}");
    assert_true(fixture->ok);
    assert_int_equal(fixture->problems.count, 0);
    assert_int_equal(fixture->plan.count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct plan_experiment *experiment = &fixture->plan.experiments[i];
        assert_int_equal(experiment->number, i + 1);
        assert_int_equal(experiment->entry, 0);
        assert_false(experiment->parallel);
        assert_int_equal(experiment->max_retries, 2);
        assert_null(experiment->governor);
        assert_int_equal(experiment->foreground.mode, MODE_DEFAULT);
        assert_int_equal(experiment->foreground.param_count, 4);
        assert_value(experiment, "epochs", "3");
        assert_value(experiment, "lr", "0.01");
        assert_value(experiment, "seed", "1");
        assert_value(experiment, "optimizer", "adam");
        for (size_t k = 0; k < 4; k++)
            assert_false(experiment->foreground.params[k].mutated);
    }
    assert_string_equal(fixture->plan.experiments[0].id, "toy_net_001");
    assert_string_equal(fixture->plan.experiments[1].id, "toy_net_002");
}

static void ids_have_no_characters_that_a_folder_should_not_have(void **state)
{
    struct fixture *fixture = *state;
    fixture_plan_toy(fixture, "{'experiments': [{'mode': 'parallel', 'foreground': {'repo': 'toy', "
                              "'model': 'big net', 'mode': "
                              "'default'}, 'background': {'repo': 'toy', 'model': 'net', "
                              "'hyperparameters': {'seed': 5}}}]}");
    assert_true(fixture->ok);
    assert_int_equal(fixture->plan.count, 1);
    const struct plan_experiment *experiment = &fixture->plan.experiments[0];
    assert_string_equal(experiment->id, "toy_big_net_001_parallel");
    assert_string_equal(experiment->foreground.model, "big net");
    assert_true(experiment->parallel);
    assert_string_equal(experiment->background->model, "net");
    assert_int_equal(experiment->background->mode, MODE_DEFAULT);
    assert_int_equal(experiment->background->params[2].value.integer, 5);
}

static void mutation_draws_only_what_is_listed(void **state)
{
    struct fixture *fixture = *state;
    fixture_plan_toy(
        fixture,
        "{'runs_per_config': 19, 'experiments': [{'repo': 'toy', 'model': 'net', 'mutate': "
        "['epochs'], 'hyperparameters': {'lr': 0.5}}]}");
    assert_true(fixture->ok);
    assert_int_equal(fixture->problems.count, 0);
    assert_int_equal(fixture->plan.count, 19); /* 1..20 without 10: each of them once */
    bool drawn[21] = {false};
    for (size_t i = 0; i < 19; i++) {
        const struct plan_experiment *experiment = &fixture->plan.experiments[i];
        int64_t epochs = experiment->foreground.params[0].value.integer;
        assert_in_range(epochs, 1, 20);
        assert_false(drawn[epochs]);
        drawn[epochs] = true;
        assert_true(experiment->foreground.params[0].mutated);
        assert_false(experiment->foreground.params[1].mutated);
        assert_value(experiment, "lr", "0.5");
        assert_value(experiment, "seed", "1");
    }
    assert_false(drawn[10]);
}

static void all_and_an_absent_list_mutate_everything(void **state)
{
    struct fixture *fixture = *state;
    static const char *const lists[] = {"'mutate': ['all'],", "'mutate': 'all',", ""};
    for (size_t i = 0; i < 3; i++) {
        AUTO_FREE char *text =
            mem_printf("{'experiments': [{'repo': 'toy', %s 'model': 'net'}]}", lists[i]);
        fixture_plan_toy(fixture, text);
        assert_true(fixture->ok);
        assert_int_equal(fixture->plan.count, 1);
        const struct plan_job *job = &fixture->plan.experiments[0].foreground;
        static const char *const defaults[] = {"10", "0.01", "1", "adam"};
        for (size_t k = 0; k < 4; k++) {
            assert_true(job->params[k].mutated);
            AUTO_FREE char *value = value_format(&job->params[k].value);
            assert_string_not_equal(value, defaults[k]);
        }
    }
}

static void a_space_smaller_than_asked_is_planned_as_far_as_it_goes(void **state)
{
    struct fixture *fixture = *state;
    fixture_plan_toy(fixture,
                     "{'experiments': [{'repo': 'toy', 'model': 'net', 'mutate': ['optimizer'], "
                     "'runs_per_config': 5}]}");
    assert_true(fixture->ok);
    assert_int_equal(fixture->plan.count, 2);
    assert_problem(fixture, SEVERITY_WARNING, "$.experiments[0]",
                   "5 experiments are asked for, but only 2 can be drawn: all 2 combinations that "
                   "exist are taken");
}

static void a_space_that_is_used_up_is_an_error(void **state)
{
    struct fixture *fixture = *state;
    fixture_plan_toy(
        fixture, "{'experiments': ["
                 "{'repo': 'toy', 'model': 'net', 'mutate': ['optimizer'], 'runs_per_config': 2},"
                 "{'repo': 'toy', 'model': 'net', 'mutate': ['optimizer']}]}");
    assert_false(fixture->ok);
    assert_int_equal(fixture->plan.count, 0);
    assert_problem(
        fixture, SEVERITY_ERROR, "$.experiments[1]",
        "no experiment can be drawn of the 1 asked for: all 2 combinations that exist are taken");
    /* Another model, or parallel mode, has a space of its own. */
    fixture_plan_toy(
        fixture,
        "{'experiments': ["
        "{'repo': 'toy', 'model': 'net', 'mutate': ['optimizer'], 'runs_per_config': 2},"
        "{'repo': 'toy', 'model': 'big net', 'mutate': ['optimizer'], 'runs_per_config': 2},"
        "{'mode': 'parallel', 'runs_per_config': 2,"
        " 'foreground': {'repo': 'toy', 'model': 'net', 'mutate': ['optimizer']},"
        " 'background': {'repo': 'toy', 'model': 'net'}}]}");
    assert_true(fixture->ok);
    assert_int_equal(fixture->plan.count, 6);
}

static void what_another_entry_fixes_is_not_drawn(void **state)
{
    struct fixture *fixture = *state;
    for (uint64_t seed = 0; seed < 8; seed++) {
        fixture->options.seed = seed;
        fixture_plan_toy(fixture,
                         "{'experiments': ["
                         "{'repo': 'toy', 'model': 'net', 'mutate': ['optimizer']},"
                         "{'repo': 'toy', 'model': 'net', 'mode': 'default', 'hyperparameters': "
                         "{'optimizer': 'sgd'}}]}");
        assert_true(fixture->ok);
        assert_value(&fixture->plan.experiments[0], "optimizer", "lion");
        assert_value(&fixture->plan.experiments[1], "optimizer", "sgd");
    }
}

static void given_values_take_the_type_of_their_hyperparameter(void **state)
{
    struct fixture *fixture = *state;
    fixture_plan_toy(
        fixture,
        "{'experiments': [{'repo': 'toy', 'model': 'net', 'mode': 'default', 'hyperparameters': "
        "{'epochs': 500.0, 'lr': 30, 'seed': -1}}]}");
    assert_true(fixture->ok);
    assert_int_equal(fixture->problems.count, 0); /* out of range is accepted */
    const struct plan_experiment *experiment = &fixture->plan.experiments[0];
    assert_value(experiment, "epochs", "500");
    assert_int_equal(experiment->foreground.params[0].value.kind, VALUE_INT);
    assert_value(experiment, "lr", "30.0");
    assert_int_equal(experiment->foreground.params[1].value.kind, VALUE_FLOAT);
    assert_value(experiment, "seed", "-1");
}

static void values_of_a_wrong_type_are_errors_with_their_place(void **state)
{
    struct fixture *fixture = *state;
    fixture_plan_toy(
        fixture,
        "{'experiments': [{'repo': 'toy', 'model': 'net', 'mode': 'default', 'hyperparameters': "
        "{'epochs': 1.5, 'lr': 'fast', 'seed': true, 'optimizer': 3}}]}");
    assert_false(fixture->ok);
    assert_int_equal(fixture->problems.errors, 4);
    assert_problem(fixture, SEVERITY_ERROR, "$.experiments[0].hyperparameters.epochs",
                   "'epochs': expected an integer, not 1.5");
    assert_problem(fixture, SEVERITY_ERROR, "$.experiments[0].hyperparameters.lr",
                   "'lr': expected a number, not the string 'fast'");
    assert_problem(fixture, SEVERITY_ERROR, "$.experiments[0].hyperparameters.seed",
                   "'seed': expected an integer, not True");
    assert_problem(fixture, SEVERITY_ERROR, "$.experiments[0].hyperparameters.optimizer",
                   "'optimizer': 3 is none of the choices");
}

static void a_value_outside_of_the_choices_is_used_with_a_warning(void **state)
{
    struct fixture *fixture = *state;
    fixture_plan_toy(
        fixture,
        "{'experiments': [{'repo': 'toy', 'model': 'net', 'mode': 'default', 'hyperparameters': "
        "{'optimizer': 'adan'}}]}");
    assert_true(fixture->ok);
    assert_problem(fixture, SEVERITY_WARNING, "$.experiments[0].hyperparameters.optimizer",
                   "'optimizer': the string 'adan' is none of the choices; did you mean 'adam'?");
    assert_value(&fixture->plan.experiments[0], "optimizer", "adan");
}

static void all_unknown_names_are_told_at_once(void **state)
{
    struct fixture *fixture = *state;
    fixture_plan_toy(
        fixture,
        "{'experiments': [{'repo': 'toi', 'model': 'net'}, {'repo': 'toy', 'model': 'nett'},"
        "{'mode': 'parallel', 'foreground': {'repo': 'toy', 'model': 'net'}, 'background': "
        "{'repo': 'tox', 'model': 'net'}}]}");
    assert_false(fixture->ok);
    assert_int_equal(fixture->problems.errors, 3);
    assert_problem(fixture, SEVERITY_ERROR, "$.experiments[0].repo",
                   "unknown repository 'toi'; did you mean 'toy'?");
    assert_problem(fixture, SEVERITY_ERROR, "$.experiments[1].model",
                   "unknown model of 'toy': 'nett'; did you mean 'net'?");
    assert_problem(fixture, SEVERITY_ERROR, "$.experiments[2].background.repo",
                   "unknown repository 'tox'");
}

static const char misnamed[] =
    "{'experiments': [{'repo': 'toy', 'model': 'net', 'runs_per_config': 3,"
    " 'mutate': ['epoch', 'lr'], 'hyperparameters': {'epoch': 3, 'depth': 2}}]}";

static void what_a_model_lacks_is_left_out_with_one_warning(void **state)
{
    struct fixture *fixture = *state;
    fixture_plan_toy(fixture, misnamed);
    assert_true(fixture->ok);
    assert_int_equal(fixture->plan.count, 3);
    assert_int_equal(fixture->problems.count, 2);
    assert_problem(fixture, SEVERITY_WARNING, "$.experiments[0].hyperparameters.epoch",
                   "'toy' has no hyperparameter 'epoch': it is left out; did you mean 'epochs'?");
    assert_problem(fixture, SEVERITY_WARNING, "$.experiments[0].hyperparameters.depth",
                   "'toy' has no hyperparameter 'depth': it is left out");
    assert_value(&fixture->plan.experiments[0], "epochs", "10");
}

static void strict_makes_it_an_error(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.strict = true;
    fixture_plan_toy(fixture, misnamed);
    assert_false(fixture->ok);
    assert_int_equal(fixture->problems.errors, 2);
}

static void nothing_left_to_mutate_is_an_error(void **state)
{
    struct fixture *fixture = *state;
    fixture_plan_toy(
        fixture,
        "{'experiments': [{'repo': 'toy', 'model': 'net', 'mutate_params': ['depth', 'width']}]}");
    assert_false(fixture->ok);
    assert_int_equal(fixture->problems.errors, 1);
    assert_problem(fixture, SEVERITY_ERROR, "$.experiments[0].mutate_params[0]",
                   "nothing is left to mutate");
}

static void a_hyperparameter_with_one_value_cannot_be_mutated(void **state)
{
    struct fixture *fixture = *state;
    static const char registry[] =
        "{'models': {'toy': {'path': 'toy', 'train_script': './train.sh', 'models': ['net'], "
        "'supported_hyperparams': {"
        "'a': {'flag': '-a', 'type': 'int', 'default': 1, 'range': [1, 1]},"
        "'b': {'flag': '-b', 'type': 'int', 'default': 1, 'range': [1, 2]}}}}}";
    fixture_plan(fixture, registry,
                 "{'experiments': [{'repo': 'toy', 'model': 'net', 'mutate': ['a', 'b']}]}");
    assert_false(fixture->ok);
    assert_problem(fixture, SEVERITY_ERROR, "$.experiments[0].mutate[0]", "'a' cannot be mutated");
    fixture_plan(fixture, registry,
                 "{'experiments': [{'repo': 'toy', 'model': 'net', 'mutate': 'all'}]}");
    assert_true(fixture->ok);
    assert_problem(fixture, SEVERITY_WARNING, "$.experiments[0].mutate", "'a' cannot be mutated");
    assert_value(&fixture->plan.experiments[0], "a", "1");
    assert_value(&fixture->plan.experiments[0], "b", "2");
}

static void a_value_that_is_given_and_mutated_is_mutated_with_a_warning(void **state)
{
    struct fixture *fixture = *state;
    fixture_plan_toy(fixture,
                     "{'experiments': [{'repo': 'toy', 'model': 'net', 'mutate': ['optimizer'], "
                     "'hyperparameters': {'optimizer': 'adam'}}]}");
    assert_true(fixture->ok);
    assert_problem(fixture, SEVERITY_WARNING, "$.experiments[0].mutate[0]",
                   "'optimizer' is given under 'hyperparameters' and mutated");
    AUTO_FREE char *value = fixture_value(&fixture->plan.experiments[0], "optimizer");
    assert_string_not_equal(value, "adam");
}

static const char mixed[] =
    "{'seed': 42, 'runs_per_config': 4, 'experiments': ["
    "{'repo': 'toy', 'model': 'net'},"
    "{'repo': 'toy', 'model': 'big net', 'mutate': 'lr,seed'},"
    "{'mode': 'parallel', 'foreground': {'repo': 'toy', 'model': 'net', 'mutate': ['lr']},"
    " 'background': {'repo': 'toy', 'model': 'net'}}]}";

static void a_seed_gives_the_same_plan_and_another_seed_another(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.has_seed = false;
    fixture_plan_toy(fixture, mixed);
    assert_true(fixture->ok);
    assert_int_equal(fixture->plan.seed, 42);
    AUTO_FREE char *first = fixture_print(fixture);
    fixture_plan_toy(fixture, mixed);
    AUTO_FREE char *second = fixture_print(fixture);
    assert_string_equal(first, second);
    fixture->options.has_seed = true; /* over the settings' */
    fixture->options.seed = 43;
    fixture_plan_toy(fixture, mixed);
    assert_int_equal(fixture->plan.seed, 43);
    AUTO_FREE char *third = fixture_print(fixture);
    assert_string_not_equal(first, third);
}

static void without_a_seed_a_fresh_one_is_taken_and_recorded(void **state)
{
    struct fixture *fixture = *state;
    static const char settings[] =
        "{'experiments': [{'repo': 'toy', 'model': 'net', 'runs_per_config': 3}]}";
    fixture->options.has_seed = false;
    fixture_plan_toy(fixture, settings);
    AUTO_FREE char *first = fixture_print(fixture);
    fixture->options.has_seed = true;
    fixture->options.seed = fixture->plan.seed;
    fixture_plan_toy(fixture, settings);
    AUTO_FREE char *again = fixture_print(fixture);
    assert_string_equal(first, again);
}

static void an_entrys_draws_do_not_depend_on_entries_of_other_models(void **state)
{
    struct fixture *fixture = *state;
    fixture_plan_toy(fixture,
                     "{'experiments': [{'repo': 'toy', 'model': 'big net', 'runs_per_config': 1},"
                     "{'repo': 'toy', 'model': 'net', 'mutate': ['lr', 'seed']}]}");
    AUTO_FREE char *lr = fixture_value(&fixture->plan.experiments[1], "lr");
    AUTO_FREE char *seed = fixture_value(&fixture->plan.experiments[1], "seed");
    fixture_plan_toy(fixture,
                     "{'experiments': [{'repo': 'toy', 'model': 'big net', 'runs_per_config': 7},"
                     "{'repo': 'toy', 'model': 'net', 'mutate': ['lr', 'seed']}]}");
    assert_value(&fixture->plan.experiments[7], "lr", lr);
    assert_value(&fixture->plan.experiments[7], "seed", seed);
}

static void draws_are_those_of_the_independent_program(void **state)
{
    struct fixture *fixture = *state;
    /* SplitMix64 and FNV-1a of "entry 0 run 0" and "entry 0 run 1", xoshiro256**, the formulas of
     * plan/mutate/mutate.h: in Python. */
    fixture->options.seed = 2026;
    fixture_plan_toy(fixture,
                     "{'experiments': [{'repo': 'toy', 'model': 'net', 'mutate': ['lr', 'seed'], "
                     "'runs_per_config': 2}]}");
    assert_value(&fixture->plan.experiments[0], "lr", "0.0288378");
    assert_value(&fixture->plan.experiments[0], "seed", "1909");
    assert_value(&fixture->plan.experiments[1], "lr", "0.0416509");
    assert_value(&fixture->plan.experiments[1], "seed", "7317");
}

static void blocks_hold_one_run_of_every_entry(void **state)
{
    struct fixture *fixture = *state;
    static const char settings[] =
        "{'tare': {'order': 'blocks'}, 'experiments': ["
        "{'repo': 'toy', 'model': 'net', 'mode': 'default', 'runs_per_config': 20},"
        "{'repo': 'toy', 'model': 'net', 'mode': 'default', 'runs_per_config': 20, "
        "'hyperparameters': {'epochs': 1}},"
        "{'repo': 'toy', 'model': 'net', 'mode': 'default', 'runs_per_config': 18, "
        "'hyperparameters': {'epochs': 2}}]}";
    fixture_plan_toy(fixture, settings);
    assert_true(fixture->ok);
    assert_int_equal(fixture->plan.order, ORDER_BLOCKS);
    assert_int_equal(fixture->plan.count, 58);
    size_t in_file_order = 0;
    for (size_t i = 0; i < 58; i++) {
        assert_int_equal(fixture->plan.experiments[i].number, i + 1);
        in_file_order += fixture->plan.experiments[i].entry == i % 3;
    }
    assert_true(in_file_order < 58);
    for (size_t block = 0; block < 18; block++) {
        unsigned entries = 0;
        for (size_t i = 0; i < 3; i++)
            entries |= 1u << fixture->plan.experiments[block * 3 + i].entry;
        assert_int_equal(entries, 7);
    }
    for (size_t block = 0; block < 2; block++) /* the third entry has no more runs */
        assert_int_equal(fixture->plan.experiments[54 + block * 2].entry +
                             fixture->plan.experiments[55 + block * 2].entry,
                         1);
    AUTO_FREE char *first = fixture_print(fixture);
    fixture_plan_toy(fixture, settings);
    AUTO_FREE char *again = fixture_print(fixture);
    assert_string_equal(first, again);
    fixture->options.seed = 2;
    fixture_plan_toy(fixture, settings);
    bool differs = false;
    AUTO_FREE char *other = fixture_print(fixture);
    /* the first line holds the seed itself */
    differs = strcmp(strchr(first, '\n'), strchr(other, '\n')) != 0;
    assert_true(differs);
}

static void what_the_settings_say_of_the_run_is_in_the_plan(void **state)
{
    struct fixture *fixture = *state;
    fixture_plan_toy(
        fixture,
        "{'experiment_name': 'night', 'governor': 'performance', 'max_retries': 1, 'timeout': 90,"
        "'experiments': [{'comment': 'only this'}, {'repo': 'toy', 'model': 'net'}]}");
    assert_true(fixture->ok);
    assert_string_equal(fixture->plan.name, "night");
    assert_int_equal(fixture->plan.order, ORDER_FILE);
    assert_true(fixture->plan.timing.stop_grace_s == 10);
    const struct plan_experiment *experiment = &fixture->plan.experiments[0];
    assert_int_equal(experiment->entry, 1);
    assert_string_equal(experiment->governor, "performance");
    assert_int_equal(experiment->max_retries, 1);
    assert_true(experiment->timeout_s == 90);
    assert_int_equal(experiment->foreground.metric_count, 1);
    assert_string_equal(experiment->foreground.metrics[0].name, "accuracy");
    assert_string_equal(experiment->foreground.metrics[0].pattern, "Accuracy: ([0-9.]+)");
    assert_int_equal(experiment->foreground.mark_count, 1);
    assert_string_equal(experiment->foreground.marks[0].name, "epoch");
    assert_string_equal(experiment->foreground.marks[0].end, "^Epoch ([0-9]+):");
    assert_null(experiment->foreground.marks[0].start);
    assert_int_equal(experiment->foreground.errors.count, 1);
    assert_true(experiment->foreground.exit_code_required);
}

/* Plans {'experiments': [...], 'tare': {TARE}} (tare NULL: without the key) where trainings see a
 * GPU, or none, and compares all that is said of pauses. */
static void assert_pauses(struct fixture *fixture, const char *tare, bool has_gpus, double runs_s,
                          double configurations_s, double retry_s, int mode)
{
    AUTO_FREE char *settings =
        mem_printf("{'experiments': [{'repo': 'toy', 'model': 'net'}]%s%s%s}",
                   tare ? ", 'tare': {" : "", tare ? tare : "", tare ? "}" : "");
    fixture->options.has_gpus = has_gpus;
    fixture_plan_toy(fixture, settings);
    assert_true(fixture->ok);
    assert_true(fixture->plan.timing.between_runs_s == runs_s);
    assert_true(fixture->plan.timing.between_configurations_s == configurations_s);
    assert_true(fixture->plan.timing.before_retry_s == retry_s);
    assert_int_equal(fixture->plan.guard.cooldown.mode, mode);
}

static void pauses_that_nobody_stated_are_none_without_a_gpu_and_adaptive_with_one(void **state)
{
    struct fixture *fixture = *state;
    assert_pauses(fixture, "", false, 0, 0, 0, COOLDOWN_FIXED);
    assert_pauses(fixture, "", true, 60, 60, 30, COOLDOWN_ADAPTIVE);
    assert_pauses(fixture, "'cooldown': {'max': 90}, 'timing': {'stop_grace': 3}", true, 60, 60, 30,
                  COOLDOWN_ADAPTIVE);
}

static void settings_of_the_study_pause_as_the_study_did(void **state)
{
    struct fixture *fixture = *state;
    assert_pauses(fixture, NULL, true, 60, 60, 30, COOLDOWN_FIXED);
    assert_pauses(fixture, NULL, false, 0, 0, 0, COOLDOWN_FIXED);
}

static void pauses_that_are_stated_keep_their_meaning(void **state)
{
    struct fixture *fixture = *state;
    assert_pauses(fixture, "'timing': {'between_runs': 7}", false, 7, 0, 0, COOLDOWN_FIXED);
    assert_pauses(fixture, "'timing': {'between_runs': 7}", true, 7, 60, 30, COOLDOWN_FIXED);
    assert_pauses(fixture, "'timing': {'between_configurations': 0}", true, 60, 0, 30,
                  COOLDOWN_FIXED);
    assert_pauses(fixture, "'timing': {'before_retry': 1}", true, 60, 60, 1, COOLDOWN_FIXED);
    assert_pauses(fixture, "'timing': {'between_runs': 7}, 'cooldown': {'mode': 'adaptive'}", true,
                  7, 60, 30, COOLDOWN_ADAPTIVE);
    assert_pauses(fixture, "'cooldown': {'mode': 'fixed'}", true, 60, 60, 30, COOLDOWN_FIXED);
    assert_pauses(fixture, "'timing': {'between_runs': 7}, 'cooldown': {'mode': 'adaptive'}", false,
                  7, 0, 0, COOLDOWN_ADAPTIVE);
}

static void more_than_a_million_experiments_are_refused(void **state)
{
    struct fixture *fixture = *state;
    fixture_plan_toy(fixture,
                     "{'runs_per_config': 600000, 'experiments': [{'repo': 'toy', 'model': 'net'},"
                     "{'repo': 'toy', 'model': 'net'}]}");
    assert_false(fixture->ok);
    assert_problem(fixture, SEVERITY_ERROR, "$.experiments[1]",
                   "more than 1000000 experiments are asked for");
}

static void no_runs_give_an_empty_plan(void **state)
{
    struct fixture *fixture = *state;
    fixture_plan_toy(fixture,
                     "{'experiments': [{'repo': 'toy', 'model': 'net', 'runs_per_config': 0}]}");
    assert_true(fixture->ok);
    assert_int_equal(fixture->plan.count, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_set_up, fixture_tear_down)

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        TEST(default_mode_takes_defaults_and_given_values_every_run),
        TEST(ids_have_no_characters_that_a_folder_should_not_have),
        TEST(mutation_draws_only_what_is_listed),
        TEST(all_and_an_absent_list_mutate_everything),
        TEST(a_space_smaller_than_asked_is_planned_as_far_as_it_goes),
        TEST(a_space_that_is_used_up_is_an_error),
        TEST(what_another_entry_fixes_is_not_drawn),
        TEST(given_values_take_the_type_of_their_hyperparameter),
        TEST(values_of_a_wrong_type_are_errors_with_their_place),
        TEST(a_value_outside_of_the_choices_is_used_with_a_warning),
        TEST(all_unknown_names_are_told_at_once),
        TEST(what_a_model_lacks_is_left_out_with_one_warning),
        TEST(strict_makes_it_an_error),
        TEST(nothing_left_to_mutate_is_an_error),
        TEST(a_hyperparameter_with_one_value_cannot_be_mutated),
        TEST(a_value_that_is_given_and_mutated_is_mutated_with_a_warning),
        TEST(a_seed_gives_the_same_plan_and_another_seed_another),
        TEST(without_a_seed_a_fresh_one_is_taken_and_recorded),
        TEST(an_entrys_draws_do_not_depend_on_entries_of_other_models),
        TEST(draws_are_those_of_the_independent_program),
        TEST(blocks_hold_one_run_of_every_entry),
        TEST(what_the_settings_say_of_the_run_is_in_the_plan),
        TEST(pauses_that_nobody_stated_are_none_without_a_gpu_and_adaptive_with_one),
        TEST(settings_of_the_study_pause_as_the_study_did),
        TEST(pauses_that_are_stated_keep_their_meaning),
        TEST(more_than_a_million_experiments_are_refused),
        TEST(no_runs_give_an_empty_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
