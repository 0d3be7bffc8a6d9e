/* What earlier runs had is not planned again. */
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

#define COLUMNS                                                                                  \
    "experiment_id,timestamp,repository,model,training_success,hyperparam_epochs,hyperparam_lr," \
    "hyperparam_optimizer,hyperparam_other,hyperparam_seed,perf_accuracy\n"

/* Asks for 19 values of epochs (1..20 without the default 10), everything else at its default. */
static void plan_epochs(struct fixture *fixture, const char *mode)
{
    AUTO_FREE char *settings = mem_printf(
        strcmp(mode, "parallel") == 0
            ? "{'use_deduplication': true, 'historical_csvs': ['old/summary.csv'], 'experiments': "
              "[{'mode': '%s',"
              " 'runs_per_config': 19, 'foreground': {'repo': 'toy', 'model': 'net', 'mutate': "
              "['epochs']},"
              " 'background': {'repo': 'toy', 'model': 'net'}}]}"
            : "{'use_deduplication': true, 'historical_csvs': ['old/summary.csv'], 'experiments': "
              "[{'mode': '%s',"
              " 'runs_per_config': 19, 'repo': 'toy', 'model': 'net', 'mutate': ['epochs']}]}",
        mode);
    fixture_plan_toy(fixture, settings);
}

/* Bit n: epochs n is planned. */
static unsigned planned_epochs(const struct fixture *fixture)
{
    assert_true(fixture->ok);
    unsigned epochs = 0;
    for (size_t i = 0; i < fixture->plan.count; i++) {
        unsigned bit = 1u << fixture->plan.experiments[i].foreground.params[0].value.integer;
        assert_int_equal(epochs & bit, 0);
        epochs |= bit;
    }
    return epochs;
}

#define ALL_BUT(taken) (0x1ffffeu & ~(1u << 10) & ~(unsigned)(taken))

/* 5: equal at six digits, whatever became of it */
static const char history[] =
    COLUMNS "toy_net_001,t,toy,net,True,3,0.01,adam,,1,90\n" /* 3 */
            "toy_net_002,t,toy,net,False,5.0,0.0100000004,adam,7,1,\n"
            "toy_net_003,t,toy,net,True,7,,,,,\n"            /* 7: empty cells are defaults */
            "toy_net_004,t,toy,net,True,8,0.02,adam,,1,90\n" /* another learning rate */
            "toy_net_005,t,toy,net,True,9,0.01,adam,,2,90\n" /* another seed */
            "toy_net_006_parallel,t,toy,net,True,11,0.01,adam,,1,90\n"   /* another mode */
            "toy_big net_007,t,toy,big net,True,12,0.01,adam,,1,90\n"    /* another model */
            "tox_net_008,t,tox,net,True,13,0.01,adam,,1,90\n"            /* another repository */
            "toy_net_009,t,\"toy\",\"net\",True,14,1e-2,adam,,1,90\r\n"; /* 14 */

static void rows_of_the_same_repository_model_and_mode_are_avoided(void **state)
{
    struct fixture *fixture = *state;
    fixture_write(fixture, "old/summary.csv", history, false);
    plan_epochs(fixture, "mutation");
    assert_int_equal(planned_epochs(fixture), ALL_BUT(1 << 3 | 1 << 5 | 1 << 7 | 1 << 14));
    assert_int_equal(fixture->plan.count, 15);
    assert_non_null(
        fixture_problem(fixture, "19 experiments are asked for, but only 15 can be drawn"));
    plan_epochs(fixture, "parallel");
    assert_int_equal(planned_epochs(fixture), ALL_BUT(1 << 11));
}

/* Of the 20 seeds from 20240101 on, one is the default and two have run: 17 are left, and these are
 * they. */
static void integers_are_avoided_exactly_and_drawn_to_the_last(void **state)
{
    struct fixture *fixture = *state;
    static const char registry[] = "{'models': {'toy': {'path': 'toy', 'train_script': "
                                   "'./train.sh', 'models': ['net'], 'supported_hyperparams': "
                                   "{'seed':"
                                   " {'type': 'int', 'range': [20240101, 20240120], 'default': "
                                   "20240101, 'flag': '--seed'}}}}}";
    fixture_write(fixture, "old/summary.csv",
                  "experiment_id,repository,model,hyperparam_seed\n"
                  "toy_net_001,toy,net,20240102\n"
                  "toy_net_002,toy,net,20240105.0\n",
                  false);
    fixture_plan(fixture, registry,
                 "{'use_deduplication': true, 'historical_csvs': ['old/summary.csv'], "
                 "'experiments': [{'repo': 'toy',"
                 " 'model': 'net', 'mutate': ['seed'], 'runs_per_config': 20}]}");
    assert_true(fixture->ok);
    unsigned seeds = 0;
    for (size_t i = 0; i < fixture->plan.count; i++)
        seeds |= 1u << (fixture->plan.experiments[i].foreground.params[0].value.integer - 20240101);
    assert_int_equal(fixture->plan.count, 17);
    assert_int_equal(seeds, 0xfffffu & ~(1u | 1u << 1 | 1u << 4));
}

static void a_mode_column_goes_before_the_id(void **state)
{
    struct fixture *fixture = *state;
    fixture_write(fixture, "old/summary.csv",
                  "\xef\xbb\xbf"
                  "mode,experiment_id,repository,model,hyperparam_epochs\n"
                  "parallel,toy_net_001,toy,net,3\n"
                  "mutation,toy_net_002_parallel,toy,net,4\n"
                  ",toy_net_003_parallel,toy,net,5\n",
                  false);
    plan_epochs(fixture, "mutation");
    assert_int_equal(planned_epochs(fixture), ALL_BUT(1 << 4));
    plan_epochs(fixture, "parallel");
    assert_int_equal(planned_epochs(fixture), ALL_BUT(1 << 3 | 1 << 5));
}

static void without_use_deduplication_the_history_is_not_read(void **state)
{
    struct fixture *fixture = *state;
    fixture_write(fixture, "old/summary.csv", history, false);
    fixture_plan_toy(
        fixture,
        "{'use_deduplication': false, 'historical_csvs': ['old/summary.csv'], 'experiments': ["
        "{'runs_per_config': 19, 'repo': 'toy', 'model': 'net', 'mutate': ['epochs']}]}");
    assert_int_equal(planned_epochs(fixture), ALL_BUT(0));
}

static void a_path_is_relative_to_the_settings_file_then_to_the_working_folder(void **state)
{
    struct fixture *fixture = *state;
    AUTO_FREE char *elsewhere = mem_printf("%s/work", fixture->folder);
    fixture->options.cwd = elsewhere;
    fixture_write(fixture, "work/old/summary.csv", COLUMNS "x,t,toy,net,True,3,,,,,\n", false);
    plan_epochs(fixture, "mutation");
    assert_int_equal(planned_epochs(fixture), ALL_BUT(1 << 3));
    fixture_write(fixture, "old/summary.csv", COLUMNS "x,t,toy,net,True,4,,,,,\n", false);
    plan_epochs(fixture, "mutation");
    assert_int_equal(planned_epochs(fixture), ALL_BUT(1 << 4));
}

static void a_missing_history_is_a_warning(void **state)
{
    struct fixture *fixture = *state;
    plan_epochs(fixture, "mutation");
    assert_int_equal(planned_epochs(fixture), ALL_BUT(0));
    assert_int_equal(fixture->problems.count, 1);
    const struct problem *problem =
        fixture_problem(fixture, "the history 'old/summary.csv' is not there");
    assert_non_null(problem);
    assert_int_equal(problem->severity, SEVERITY_WARNING);
    assert_string_equal(problem->path, "$.historical_csvs[0]");
}

static void a_broken_history_is_an_error_with_its_line(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        const char *text;
        const char *said;
    } broken[] = {
        {"", "it is empty"},
        {"experiment_id,model\n", "line 1: there is no column 'repository'"},
        {"experiment_id,repository\n", "line 1: there is no column 'model'"},
        {"repository,model\n", "line 1: there is no column 'experiment_id'"},
        {COLUMNS "x,t,toy,net,True,3,,,,,\nx,t,toy\n", "line 3: 3 cells, but the header has 11"},
        {COLUMNS "x,t,toy,net,True,3,,,,,\n\"x,t\n", "line 3: a quoted cell is not closed"},
    };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        fixture_write(fixture, "old/summary.csv", broken[i].text, false);
        plan_epochs(fixture, "mutation");
        assert_false(fixture->ok);
        assert_int_equal(fixture->problems.errors, 1);
        const struct problem *problem = fixture_problem(fixture, broken[i].said);
        if (!problem)
            fail_msg("nothing says %s, but %s", broken[i].said, fixture->problems.items[0].text);
        assert_string_equal(problem->path, "$.historical_csvs[0]");
        assert_non_null(strstr(problem->text, "old/summary.csv"));
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_set_up, fixture_tear_down)

#define TIMED "experiment_id,repository,model,training_success,duration_seconds,hyperparam_epochs\n"

/* An epoch of net took 5 s and 7 s, of big net 10 s; what failed is no measure. */
static const char timed[] = TIMED "toy_net_001,toy,net,True,50.0,10\n"
                                  "toy_net_002,toy,net,True,14,2\n"
                                  "toy_net_003,toy,net,False,1000,1\n"
                                  "toy_net_004,toy,net,True,,1\n"
                                  "toy_big net_005,toy,big net,True,100,10\n";

static const char longest_first[] =
    "{%s 'tare': {'order': 'longest-first'}, 'experiments': ["
    "{'repo': 'toy', 'model': 'net', 'mode': 'default', 'hyperparameters': {'epochs': 5}},"
    "{'repo': 'toy', 'model': 'net', 'mode': 'default', 'hyperparameters': {'epochs': 20}},"
    "{'repo': 'toy', 'model': 'big net', 'mode': 'default', 'hyperparameters': {'epochs': 4}},"
    "{'mode': 'parallel', 'foreground': {'repo': 'toy', 'model': 'net', 'mode': 'default'},"
    " 'background': {'repo': 'toy', 'model': 'net'}},"
    "{'repo': 'toy', 'model': 'net', 'mode': 'default', 'runs_per_config': 2%s}]}";

/* 6 s x 5 = 30 s, 6 s x 20 = 120 s, 10 s x 4 = 40 s, nothing is known of a parallel one, twice 35 s
 * as the settings say: what is unknown counts as their mean, 52 s. */
static void the_longest_come_first_by_what_earlier_runs_and_the_settings_say(void **state)
{
    static const struct {
        size_t entry;
        double expected_s;
    } rows[] = {{1, 120}, {3, 0}, {2, 40}, {4, 35}, {4, 35}, {0, 30}};
    struct fixture *fixture = *state;
    AUTO_FREE char *settings = mem_printf(longest_first, "'historical_csvs': ['old/summary.csv'],",
                                          ", 'expected_duration': '35s'");
    fixture_write(fixture, "old/summary.csv", timed, false);
    fixture_plan_toy(fixture, settings);
    assert_true(fixture->ok);
    assert_int_equal(fixture->plan.order, ORDER_LONGEST);
    assert_int_equal(fixture->plan.count, 6);
    for (size_t i = 0; i < 6; i++) {
        const struct plan_experiment *experiment = &fixture->plan.experiments[i];
        assert_int_equal(experiment->number, i + 1);
        assert_int_equal(experiment->entry, rows[i].entry);
        assert_int_equal(experiment->expected_s.valid, rows[i].expected_s > 0);
        assert_true(experiment->expected_s.value > rows[i].expected_s - 1e-9);
        assert_true(experiment->expected_s.value < rows[i].expected_s + 1e-9);
    }
    struct plan_experiment read;
    struct plan head;
    struct err err;
    json_t *json = plan_experiment_to_json(&fixture->plan.experiments[2]),
           *head_json = plan_head_to_json(&fixture->plan);
    assert_true(plan_experiment_from_json(json, &read, &err));
    assert_true(read.expected_s.valid && read.expected_s.value > 39.9 &&
                read.expected_s.value < 40.1);
    assert_string_equal(json_string_value(json_object_get(head_json, "order")), "longest-first");
    assert_true(plan_head_from_json(head_json, &head, &err));
    assert_int_equal(head.order, ORDER_LONGEST);
    plan_experiment_fini(&read);
    plan_fini(&head);
    json_decref(json);
    json_decref(head_json);
}

static void where_no_length_is_known_the_files_order_stays_and_that_is_said(void **state)
{
    static const size_t entries[] = {0, 1, 2, 3, 4, 4};
    struct fixture *fixture = *state;
    AUTO_FREE char *settings = mem_printf(longest_first, "", "");
    fixture_plan_toy(fixture, settings);
    assert_true(fixture->ok);
    assert_int_equal(fixture->plan.count, 6);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(fixture->plan.experiments[i].entry, entries[i]);
    assert_non_null(fixture_problem(fixture, "nothing is known of how long the experiments take"));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_of_the_same_repository_model_and_mode_are_avoided),
        TEST(integers_are_avoided_exactly_and_drawn_to_the_last),
        TEST(a_mode_column_goes_before_the_id),
        TEST(without_use_deduplication_the_history_is_not_read),
        TEST(a_path_is_relative_to_the_settings_file_then_to_the_working_folder),
        TEST(a_missing_history_is_a_warning),
        TEST(a_broken_history_is_an_error_with_its_line),
        TEST(the_longest_come_first_by_what_earlier_runs_and_the_settings_say),
        TEST(where_no_length_is_known_the_files_order_stays_and_that_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
