/* Grids, lists of points and seeds. */
#include "plan/plan_json.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "fixture.h"

#include "base/mem.h"
#include "base/text.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY(rest) \
    "{'experiments': [{'repo': 'toy', 'model': 'net', " rest "}], 'tare': {'order': 'file'}}"
#define GRID(rest) ENTRY("'mode': 'grid', " rest)
#define LIST(rest) ENTRY("'mode': 'list', " rest)

/* "epochs lr seed optimizer" of each experiment, by commas, in the plan's order. */
static char *values_of(const struct plan *plan)
{
    struct text out = {0};
    for (size_t i = 0; i < plan->count; i++) {
        text_add(&out, i ? ", " : "");
        const struct plan_job *job = &plan->experiments[i].foreground;
        for (size_t k = 0; k < job->param_count; k++) {
            AUTO_FREE char *value = value_format(&job->params[k].value);
            text_addf(&out, "%s%s", k ? " " : "", value);
        }
    }
    return text_take(&out);
}

static void assert_planned(struct fixture *fixture, const char *settings, const char *expected)
{
    fixture_plan_toy(fixture, settings);
    assert_true(fixture->ok);
    AUTO_FREE char *values = values_of(&fixture->plan);
    assert_string_equal(values, expected);
}

static void assert_refused(struct fixture *fixture, const char *settings, const char *text,
                           const char *path)
{
    fixture_plan_toy(fixture, settings);
    assert_false(fixture->ok);
    const struct problem *problem = fixture_problem(fixture, text);
    if (!problem)
        fail_msg("no problem says: %s", text);
    assert_int_equal(problem->severity, SEVERITY_ERROR);
    assert_string_equal(problem->path, path);
}

static void a_grid_is_the_cross_product_in_the_files_order_the_last_axis_fastest(void **state)
{
    struct fixture *fixture = *state;
    assert_planned(
        fixture,
        GRID(
            "'hyperparameters': {'optimizer': ['sgd', 'adam'], 'epochs': 3, 'lr': [0.1, 0.01, 1]}"),
        "3 0.1 1 sgd, 3 0.01 1 sgd, 3 1.0 1 sgd, 3 0.1 1 adam, 3 0.01 1 adam, 3 1.0 1 adam");
    assert_int_equal(fixture->problems.count, 0);
    const struct plan_job *job = &fixture->plan.experiments[5].foreground;
    assert_int_equal(job->mode, MODE_GRID);
    assert_true(!job->params[0].mutated && job->params[1].mutated && !job->params[2].mutated &&
                job->params[3].mutated);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(fixture->plan.experiments[i].entry, 0);
        assert_int_equal(fixture->plan.experiments[i].configuration, i);
    }
}

static void runs_repeat_each_point_within_its_configuration(void **state)
{
    struct fixture *fixture = *state;
    assert_planned(fixture, GRID("'hyperparameters': {'epochs': [4, 5]}, 'runs_per_config': 2"),
                   "4 0.01 1 adam, 4 0.01 1 adam, 5 0.01 1 adam, 5 0.01 1 adam");
    assert_int_equal(fixture->plan.experiments[1].configuration, 0);
    assert_int_equal(fixture->plan.experiments[2].configuration, 1);
}

static void entries_behind_a_grid_have_configurations_of_their_own(void **state)
{
    struct fixture *fixture = *state;
    assert_planned(fixture,
                   "{'experiments': [{'repo': 'toy', 'model': 'net', 'mode': 'grid', "
                   "'hyperparameters': {'epochs': [4, 5]}},"
                   "{'note': 'nothing'}, {'repo': 'toy', 'model': 'net', 'mode': 'default'}], "
                   "'tare': {'order': 'file'}}",
                   "4 0.01 1 adam, 5 0.01 1 adam, 10 0.01 1 adam");
    assert_int_equal(fixture->plan.experiments[2].entry, 2);
    assert_int_equal(fixture->plan.experiments[2].configuration, 3);
}

static void a_list_gives_its_points_and_what_one_leaves_out_keeps_its_default(void **state)
{
    struct fixture *fixture = *state;
    assert_planned(fixture,
                   LIST("'hyperparameters': [{'epochs': 2, 'lr': 0.5}, {'optimizer': 'lion'}, {}]"),
                   "2 0.5 1 adam, 10 0.01 1 lion, 10 0.01 1 adam");
    assert_int_equal(fixture->plan.experiments[1].foreground.mode, MODE_LIST);
    assert_int_equal(fixture->plan.experiments[2].configuration, 2);
}

static void seeds_replicate_each_point(void **state)
{
    struct fixture *fixture = *state;
    assert_planned(fixture, GRID("'hyperparameters': {'epochs': [4, 5]}, 'seeds': 2"),
                   "4 0.01 1 adam, 4 0.01 2 adam, 5 0.01 1 adam, 5 0.01 2 adam");
    assert_int_equal(fixture->plan.experiments[1].configuration, 0);
    assert_true(fixture->plan.experiments[1].foreground.params[2].mutated);
    assert_planned(fixture,
                   LIST("'hyperparameters': [{'epochs': 2}, {'epochs': 3}], 'seeds': [7, -1]"),
                   "2 0.01 7 adam, 2 0.01 -1 adam, 3 0.01 7 adam, 3 0.01 -1 adam");
    assert_planned(fixture, ENTRY("'mode': 'default', 'seeds': [9, 8], 'runs_per_config': 2"),
                   "10 0.01 9 adam, 10 0.01 9 adam, 10 0.01 8 adam, 10 0.01 8 adam");
    assert_planned(
        fixture,
        "{'seeds': 2, 'experiments': [{'repo': 'toy', 'model': 'net', 'mode': 'default'},"
        "{'repo': 'toy', 'model': 'big net', 'mode': 'default', 'seeds': [5]}]}",
        "10 0.01 1 adam, 10 0.01 2 adam, 10 0.01 5 adam");
}

static void each_drawn_combination_is_run_with_each_seed(void **state)
{
    struct fixture *fixture = *state;
    fixture_plan_toy(fixture, ENTRY("'mutate': 'all', 'runs_per_config': 2, 'seeds': 3"));
    assert_true(fixture->ok);
    assert_int_equal(fixture->plan.count, 6);
    for (size_t i = 0; i < 6; i++) {
        const struct plan_param *params = fixture->plan.experiments[i].foreground.params;
        const struct plan_param *first = fixture->plan.experiments[i / 3 * 3].foreground.params;
        assert_int_equal(params[2].value.integer, i % 3 + 1);
        assert_int_equal(params[0].value.integer, first[0].value.integer);
        assert_int_not_equal(params[0].value.integer, 10);
        assert_true(params[0].mutated && params[2].mutated);
    }
}

static void nothing_that_is_drawn_repeats_a_point(void **state)
{
    struct fixture *fixture = *state;
    fixture_plan_toy(
        fixture,
        "{'experiments': [{'repo': 'toy', 'model': 'net', 'mode': 'grid', 'hyperparameters':"
        "{'optimizer': ['sgd']}}, {'repo': 'toy', 'model': 'net', 'mutate': 'optimizer'}]}");
    assert_true(fixture->ok);
    assert_string_equal(fixture->plan.experiments[1].foreground.params[3].value.text, "lion");
}

static void duplicates_are_left_out_with_a_warning(void **state)
{
    struct fixture *fixture = *state;
    assert_planned(fixture, GRID("'hyperparameters': {'epochs': [4, 4.0, 5]}"),
                   "4 0.01 1 adam, 5 0.01 1 adam");
    assert_string_equal(fixture_problem(fixture, "duplicate value 4 is left out")->path,
                        "$.experiments[0].hyperparameters.epochs[1]");
    /* Six digits are the same, but the values are not. */
    assert_planned(fixture, GRID("'hyperparameters': {'lr': [0.1, 0.10000001]}"),
                   "10 0.1 1 adam, 10 0.10000001 1 adam");
    assert_int_equal(fixture->problems.count, 0);
    assert_planned(fixture, LIST("'hyperparameters': [{'epochs': 2}, {'lr': 0.01, 'epochs': 2}]"),
                   "2 0.01 1 adam");
    assert_string_equal(fixture_problem(fixture, "duplicate point")->path,
                        "$.experiments[0].hyperparameters[1]");
    assert_planned(fixture, ENTRY("'mode': 'default', 'seeds': [3, 3]"), "10 0.01 3 adam");
    assert_string_equal(fixture_problem(fixture, "duplicate value 3")->path,
                        "$.experiments[0].seeds[1]");
}

static void blocks_hold_each_point_once(void **state)
{
    struct fixture *fixture = *state;
    fixture_plan_toy(
        fixture,
        "{'experiments': [{'repo': 'toy', 'model': 'net', 'mode': 'grid', 'runs_per_config': 2,"
        "'hyperparameters': {'epochs': [1, 2, 3, 4]}}], 'tare': {'order': 'blocks'}}");
    assert_true(fixture->ok);
    assert_int_equal(fixture->plan.count, 8);
    for (size_t block = 0; block < 2; block++) {
        unsigned seen = 0;
        for (size_t i = 0; i < 4; i++)
            seen |=
                1u << fixture->plan.experiments[4 * block + i].foreground.params[0].value.integer;
        assert_int_equal(seen, 0x1e);
    }
}

static void a_parallel_entry_may_have_a_grid_in_front_and_seeds(void **state)
{
    struct fixture *fixture = *state;
    assert_planned(fixture,
                   "{'experiments': [{'mode': 'parallel', 'seeds': 2, 'foreground': {'repo': "
                   "'toy', 'model': 'net',"
                   " 'mode': 'grid', 'hyperparameters': {'epochs': [1, 2]}}, 'background': "
                   "{'repo': 'toy', 'model':"
                   " 'big net'}}], 'tare': {'order': 'file'}}",
                   "1 0.01 1 adam, 1 0.01 2 adam, 2 0.01 1 adam, 2 0.01 2 adam");
    assert_int_equal(fixture->plan.experiments[3].background->params[2].value.integer, 1);
}

static void what_cannot_be_planned_is_refused(void **state)
{
    struct fixture *fixture = *state;
    assert_refused(fixture, GRID("'hyperparameters': {'epochs': [1, 'x']}"),
                   "'epochs': expected an integer", "$.experiments[0].hyperparameters.epochs[1]");
    assert_refused(fixture, GRID("'hyperparameters': {'seed': [1, 2]}, 'seeds': 3"),
                   "'seeds' and 'hyperparameters' both set 'seed'", "$.experiments[0].seeds");
    assert_refused(fixture, ENTRY("'mutate': ['seed'], 'seeds': 3"), "'seed' is set by 'seeds'",
                   "$.experiments[0].mutate[0]");
    assert_refused(fixture, ENTRY("'mode': 'default', 'runs_per_config': 2, 'seeds': 500001"),
                   "more than 1000000 experiments are asked for: this entry has 1 combinations, "
                   "each with 500001 seeds "
                   "and 2 runs",
                   "$.experiments[0]");
}

static void an_axis_that_the_model_does_not_have_is_left_out_and_refused_when_strict(void **state)
{
    struct fixture *fixture = *state;
    static const char settings[] = GRID("'hyperparameters': {'epoch': [1, 2], 'lr': [0.1, 1]}");
    assert_planned(fixture, settings, "10 0.1 1 adam, 10 1.0 1 adam");
    assert_int_equal(fixture->problems.count, 1);
    assert_non_null(fixture_problem(
        fixture, "'toy' has no hyperparameter 'epoch': it is left out; did you mean 'epochs'?"));
    fixture->options.strict = true;
    assert_refused(fixture, settings, "'toy' has no hyperparameter 'epoch'; did you mean 'epochs'?",
                   "$.experiments[0].hyperparameters.epoch");
}

static void a_grid_that_is_too_large_is_refused_before_it_is_made(void **state)
{
    struct fixture *fixture = *state;
    AUTO_TEXT struct text text = {0};
    text_add(
        &text,
        "{'experiments': [{'repo': 'toy', 'model': 'net', 'mode': 'grid', 'hyperparameters': {");
    static const char *const names[] = {"epochs", "lr", "seed"};
    for (size_t axis = 0; axis < 3; axis++) {
        text_addf(&text, "%s'%s': [", axis ? ", " : "", names[axis]);
        for (int i = 1; i <= 101; i++)
            text_addf(&text, "%s%d", i > 1 ? "," : "", i);
        text_add(&text, "]");
    }
    text_add(&text, "}}]}");
    assert_refused(fixture, text_get(&text),
                   "more than 1000000 experiments are asked for: this entry has 1030301 "
                   "combinations, each with 1 seeds and "
                   "1 runs",
                   "$.experiments[0]");
}

static void a_model_without_a_seed_has_no_replicates(void **state)
{
    struct fixture *fixture = *state;
    static const char registry[] =
        "{'models': {'toy': {'path': 'toy', 'train_script': './train.sh', 'models': ['net'], "
        "'supported_hyperparams': {"
        "'lr': {'flag': '--lr', 'type': 'float', 'default': 0.01, 'range': [0.001, 0.1]}}}}}";
    fixture_plan(fixture, registry, ENTRY("'mode': 'default', 'seeds': 3"));
    assert_false(fixture->ok);
    const struct problem *problem = fixture_problem(
        fixture,
        "'seeds': 'toy' has no seed: no hyperparameter is named seed, random_seed or manual_seed");
    assert_non_null(problem);
    assert_string_equal(problem->path, "$.experiments[0].seeds");
}

static void deduplication_says_that_points_run_all_the_same(void **state)
{
    struct fixture *fixture = *state;
    fixture_write(fixture, "h.csv",
                  "experiment_id,repository,model,hyperparam_epochs\nx_1,toy,net,4\n", false);
    assert_planned(fixture,
                   "{'use_deduplication': true, 'historical_csvs': 'h.csv', 'experiments': "
                   "[{'repo': 'toy', 'model': 'net',"
                   "'mode': 'grid', 'hyperparameters': {'epochs': [4]}}]}",
                   "4 0.01 1 adam");
    const struct problem *problem = fixture_problem(fixture, "the points of a grid run also where");
    assert_non_null(problem);
    assert_int_equal(problem->severity, SEVERITY_WARNING);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

/* Bytes that are allocated now; 0 where that is not counted (under sanitizers). */
static size_t allocated(void)
{
    struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
}

static size_t bytes_of_plan(struct fixture *fixture, int runs)
{
    AUTO_FREE char *settings =
        mem_printf(ENTRY("'mode': 'mutation', 'mutate': ['lr'], 'runs_per_config': %d"), runs);
    fixture_plan_toy(fixture, settings);
    assert_int_equal(fixture->plan.count, runs);
    size_t with = allocated();
    plan_fini(&fixture->plan);
    return with - allocated();
}

/* Of 4 hyperparameters: 300 bytes in them, 300 in the words of the command, and what is fixed. */
static void one_more_experiment_costs_a_plan_less_than_a_kilobyte(void **state)
{
    size_t few = bytes_of_plan(*state, 100), many = bytes_of_plan(*state, 1100);
    if (few == 0)
        skip();
    assert_true(many - few > 100 * 1000 && many - few < 1000 * 1000);
}

static void experiments_of_one_entry_share_all_but_their_own_values(void **state)
{
    struct fixture *fixture = *state;
    fixture_plan_toy(fixture, ENTRY("'mode': 'mutation', 'mutate': ['lr'], 'runs_per_config': 3"));
    json_t *json[3];
    struct plan_experiment back[3];
    for (size_t i = 0; i < 3; i++) {
        struct err err = {0};
        json[i] = plan_experiment_to_json(&fixture->plan.experiments[i]);
        if (i == 2) /* its registry was another */
            json_object_set_new(json_object_get(json[i], "foreground"), "cwd",
                                json_string("/elsewhere"));
        assert_true(plan_experiment_from_json(json[i], &back[i], &err));
        if (i > 0)
            plan_experiment_share(&back[i], json[i], &back[i - 1], json[i - 1]);
    }
    const struct plan_job *first = &fixture->plan.experiments[0].foreground,
                          *second = &fixture->plan.experiments[1].foreground;
    assert_ptr_equal(first->cwd, second->cwd);
    assert_ptr_equal(first->params[1].name, second->params[1].name);
    assert_ptr_equal(back[0].foreground.cwd, back[1].foreground.cwd);
    assert_ptr_equal(back[0].foreground.metrics, back[1].foreground.metrics);
    assert_string_equal(back[2].foreground.cwd, "/elsewhere");
    assert_false(first->params[1].value.real == second->params[1].value.real);
    plan_experiment_fini(&back[0]);
    /* Whatever ends first, the others have what they had. */
    json_t *again = plan_experiment_to_json(&back[1]);
    assert_true(json_equal(again, json[1]));
    json_decref(again);
    for (size_t i = 0; i < 3; i++) {
        json_decref(json[i]);
        plan_experiment_fini(&back[i]); /* of what was finished already: nothing */
    }
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_grid_is_the_cross_product_in_the_files_order_the_last_axis_fastest),
        TEST(runs_repeat_each_point_within_its_configuration),
        TEST(entries_behind_a_grid_have_configurations_of_their_own),
        TEST(a_list_gives_its_points_and_what_one_leaves_out_keeps_its_default),
        TEST(seeds_replicate_each_point),
        TEST(each_drawn_combination_is_run_with_each_seed),
        TEST(nothing_that_is_drawn_repeats_a_point),
        TEST(duplicates_are_left_out_with_a_warning),
        TEST(blocks_hold_each_point_once),
        TEST(a_parallel_entry_may_have_a_grid_in_front_and_seeds),
        TEST(what_cannot_be_planned_is_refused),
        TEST(an_axis_that_the_model_does_not_have_is_left_out_and_refused_when_strict),
        TEST(a_grid_that_is_too_large_is_refused_before_it_is_made),
        TEST(a_model_without_a_seed_has_no_replicates),
        TEST(deduplication_says_that_points_run_all_the_same),
        TEST(one_more_experiment_costs_a_plan_less_than_a_kilobyte),
        TEST(experiments_of_one_entry_share_all_but_their_own_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
