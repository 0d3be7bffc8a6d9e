/* Plans of shell scripts from start to end: what is recorded, what stands in the folders. */
#include "fixture.h"

#include "base/mem.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static void assert_file(char *text, const char *expected)
{
    assert_string_equal(text, expected);
    free(text);
}

static void assert_way(const struct world *world, int64_t experiment, const char *expected)
{
    AUTO_FREE char *way = world_way(world, experiment);
    assert_string_equal(way, expected);
}

static int64_t number_of(const json_t *data, const char *key)
{
    const json_t *value = json_object_get(data, key);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static void a_job_that_ends_well_goes_the_whole_way(void **state)
{
    struct world *world = *state;
    struct plan_experiment *experiment =
        world_add(world, "echo 'loss 0.5'; echo 'loss 0.25'; echo >&2 'acc 90'; printf end");
    world_add_metric(experiment, "loss", "loss ([0-9.]+)");
    world_add_metric(experiment, "acc", "acc ([0-9.]+)");
    world_add_metric(experiment, "absent", "absent ([0-9.]+)");
    world_run(world);
    assert_true(world->ok);
    assert_int_equal(world->summary.outcome, RUN_FINISHED);
    assert_int_equal(world->summary.succeeded, 1);
    assert_way(
        world, 1,
        "experiment_started attempt_prepared job_born attempt_started attempt_stopping job_exited "
        "job_proven attempt_ended experiment_ended");
    const json_t *metrics = json_object_get(world_last(world, "experiment_ended", 1), "metrics");
    assert_true(json_real_value(json_object_get(metrics, "loss")) == 0.25);
    assert_true(json_real_value(json_object_get(metrics, "acc")) == 90);
    assert_true(json_is_null(json_object_get(metrics, "absent")));
    assert_string_equal(world_text(world, "experiment_ended", 1, "outcome"), "succeeded");
    assert_true(json_is_null(json_object_get(world_last(world, "experiment_ended", 1), "error")));
    assert_int_equal(number_of(world_last(world, "experiment_ended", 1), "retries"), 0);
    assert_int_equal(number_of(world_last(world, "job_exited", 1), "exit_code"), 0);
    assert_file(world_read(world, "repo_model_001/training.log"),
                "loss 0.5\nloss 0.25\nacc 90\nend");
    assert_true(world_has(world, "repo_model_001/training.times.csv"));
    assert_true(world_has(world, "repo_model_001/experiment.json"));
    assert_true(world_has(world, "summary.csv"));
    assert_false(world_has(world, "repo_model_001/attempt_1"));
    assert_string_equal(world_text(world, "session_ended", 0, "outcome"), "finished");
}

static void a_failing_job_is_tried_again_as_often_as_planned(void **state)
{
    struct world *world = *state;
    world_add(world, "echo try $TARE_ATTEMPT; exit 3")->max_retries = 2;
    world_add(world, "echo fine");
    world_run(world);
    assert_true(world->ok);
    assert_int_equal(world->summary.failed, 1);
    assert_int_equal(world->summary.succeeded, 1);
    assert_int_equal(world_count(world, "attempt_ended", 1), 3);
    assert_int_equal(world_count(world, "retry_pause", 1), 2);
    const json_t *end = world_last(world, "experiment_ended", 1);
    assert_int_equal(number_of(end, "retries"), 2);
    assert_string_equal(json_string_value(json_object_get(end, "error")),
                        "exit code 3; last log line: try 3");
    assert_file(world_read(world, "repo_model_001/attempt_1/training.log"), "try 1\n");
    assert_file(world_read(world, "repo_model_001/attempt_2/training.log"), "try 2\n");
    assert_file(world_read(world, "repo_model_001/training.log"), "try 3\n");
    assert_true(world_has(world, "repo_model_001/attempt_2/training.times.csv"));
}

static void a_retry_that_succeeds_makes_the_experiment_succeed(void **state)
{
    struct world *world = *state;
    world_add(world, "test $TARE_ATTEMPT = 2")->max_retries = 5;
    world_run(world);
    assert_int_equal(world->summary.succeeded, 1);
    assert_int_equal(world_count(world, "attempt_ended", 1), 2);
    assert_int_equal(number_of(world_last(world, "experiment_ended", 1), "retries"), 1);
}

static void a_timeout_ends_a_job_that_does_not_want_to(void **state)
{
    struct world *world = *state;
    struct plan_experiment *experiment = world_add(
        world, "trap '' TERM; exec 9>$1/lock; flock 9; echo up; while :; do sleep 1; done");
    experiment->timeout_s = 1;
    world->plan.timing.stop_grace_s = 0.2;
    world_run(world);
    assert_int_equal(world->summary.failed, 1);
    assert_string_equal(world_text(world, "attempt_stopping", 1, "reason"), "timeout");
    assert_string_equal(world_text(world, "attempt_ended", 1, "reason"), "timeout");
    assert_string_equal(world_text(world, "experiment_ended", 1, "error"),
                        "timed out after 1.0 s; last log line: up");
    double duration_s =
        json_real_value(json_object_get(world_last(world, "attempt_ended", 1), "duration_s"));
    assert_true(duration_s >= 1 && duration_s < 60);
    assert_true(world_lock_is_free(world, "lock"));
}

static void children_left_behind_are_ended_and_named(void **state)
{
    struct world *world = *state;
    /* The child has the log's pipe open, too. */
    world_add(world, "exec 9>$1/lock; flock 9; setsid sleep 1000 & echo main ends");
    world_run(world);
    assert_int_equal(world->summary.succeeded, 1);
    const json_t *leftovers = json_object_get(world_last(world, "job_proven", 1), "leftovers");
    assert_int_equal(json_array_size(leftovers), 1);
    assert_int_equal(
        json_array_size(json_object_get(world_last(world, "job_proven", 1), "survivors")), 0);
    assert_string_equal(world_text(world, "evidence", 1, "kind"), "leftover_processes");
    assert_non_null(strstr(world_text(world, "evidence", 1, "text"), "left 1 process,"));
    assert_true(world_lock_is_free(world, "lock"));
    assert_file(world_read(world, "repo_model_001/training.log"), "main ends\n");
}

static void a_log_over_its_cap_is_matched_but_not_kept(void **state)
{
    struct world *world = *state;
    struct plan_experiment *experiment = world_add(
        world, "i=0; while [ $i -lt 100 ]; do echo 123456789; i=$((i+1)); done; echo all good");
    strv_add(&experiment->foreground.success, "^all good$");
    world->plan.limits.log_bytes = 105;
    world_run(world);
    assert_int_equal(world->summary.succeeded, 1);
    const json_t *log = json_object_get(world_last(world, "attempt_ended", 1), "log");
    assert_int_equal(number_of(log, "bytes"), 100 * 10 + 9);
    assert_int_equal(number_of(log, "lines"), 101);
    assert_int_equal(number_of(log, "kept"), 105);
    assert_true(json_is_true(json_object_get(log, "capped")));
}

static void patterns_decide_together_with_the_exit_code(void **state)
{
    struct world *world = *state;
    struct plan_experiment *experiment = world_add(world, "echo Traceback: no; exit 0");
    strv_add(&experiment->foreground.errors, "^Traceback");
    experiment = world_add(world, "exit 0");
    strv_add(&experiment->foreground.success, "^saved$");
    experiment = world_add(world, "echo saved; exit 7");
    strv_add(&experiment->foreground.success, "^saved$");
    experiment->foreground.exit_code_required = false;
    world_run(world);
    assert_string_equal(world_text(world, "experiment_ended", 1, "error"),
                        "log line 1 matches the error pattern '^Traceback': Traceback: no");
    assert_string_equal(world_text(world, "experiment_ended", 2, "error"),
                        "no log line matches the success pattern '^saved$'; it printed nothing");
    assert_string_equal(world_text(world, "experiment_ended", 3, "outcome"), "succeeded");
}

static void a_command_that_is_not_there_is_said_so(void **state)
{
    struct world *world = *state;
    struct plan_experiment *experiment = world_add(world, "exit 0");
    free(experiment->foreground.argv.items[0]);
    experiment->foreground.argv.items[0] = mem_strdup("/no/such/python");
    experiment = world_add(world, "no-such-command-at-all");
    world_run(world);
    assert_int_equal(world->summary.failed, 2);
    assert_non_null(strstr(world_text(world, "experiment_ended", 1, "error"),
                           "cannot run /no/such/python: No such file or directory"));
    assert_non_null(strstr(world_text(world, "experiment_ended", 2, "error"),
                           "exit code 127: what a shell gives"));
}

static void a_job_sees_the_environment_of_its_plan(void **state)
{
    struct world *world = *state;
    struct plan_experiment *experiment =
        world_add(world, "echo $COLOUR; echo $PATH; echo $TARE_RUN_DIR; echo $TARE_EXPERIMENT; "
                         "echo $PYTHONUNBUFFERED; cat; pwd");
    strv_env_set(&world->environment, "COLOUR", "red");
    strv_add(&experiment->foreground.env, "COLOUR=blue");
    strv_add(&experiment->foreground.path_prepend, "/first");
    strv_add(&experiment->foreground.path_prepend, "/second");
    world_run(world);
    AUTO_FREE char *expected =
        mem_printf("blue\n/first:/second:/usr/local/bin:/usr/bin:/bin\n%s\nrepo_model_001\n1\n%s\n",
                   world->dir_path, world->root);
    assert_file(world_read(world, "repo_model_001/training.log"), expected);
}

static void pauses_come_between_experiments_and_are_scaled(void **state)
{
    struct world *world = *state;
    for (int i = 0; i < 3; i++)
        world_add(world, "exit 0");
    world->plan.experiments[2].entry = 1;
    world->plan.experiments[2].configuration = 1;
    world->plan.timing.between_runs_s = 100;
    world->plan.timing.between_configurations_s = 200;
    strv_env_set(&world->environment, "TARE_TIME_SCALE", "0.001");
    world_run(world);
    assert_int_equal(world->summary.succeeded, 3);
    AUTO_FREE char *way = world_way(world, 0);
    assert_int_equal(world_count(world, "pause", 0), 2);
    assert_string_equal(world_text(world, "pause", 0, "why"), "between_configurations");
    assert_true(json_real_value(json_object_get(world_last(world, "pause", 0), "seconds")) ==
                200 * 0.001);
    /* None before the first, none after the last. */
    assert_non_null(strstr(way, "session_started experiment_started"));
    assert_non_null(strstr(way, "experiment_ended session_ended"));
    assert_non_null(strstr(way, "experiment_ended pause experiment_started"));
}

static void a_time_scale_out_of_bounds_is_refused(void **state)
{
    struct world *world = *state;
    world_add(world, "exit 0");
    strv_env_set(&world->environment, "TARE_TIME_SCALE", "2");
    world_run(world);
    assert_false(world->ok);
    assert_int_equal(world->summary.outcome, RUN_BROKEN);
    assert_string_equal(world->err.text, "TARE_TIME_SCALE: '2' is no number from 0.001 to 1");
    assert_int_equal(world->summary.not_run, 1);
}

static void cpu_time_is_limited(void **state)
{
    struct world *world = *state;
    world_add(world, "while :; do :; done");
    world->plan.limits.job.cpu_time_s = 1;
    world_run(world);
    assert_int_equal(world->summary.failed, 1);
    assert_non_null(
        strstr(world_text(world, "experiment_ended", 1, "error"), "limit of 1 s of CPU time"));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
#define RUN_TEST(name) cmocka_unit_test_setup_teardown(name, world_make, world_remove)
        RUN_TEST(a_job_that_ends_well_goes_the_whole_way),
        RUN_TEST(a_failing_job_is_tried_again_as_often_as_planned),
        RUN_TEST(a_retry_that_succeeds_makes_the_experiment_succeed),
        RUN_TEST(a_timeout_ends_a_job_that_does_not_want_to),
        RUN_TEST(children_left_behind_are_ended_and_named),
        RUN_TEST(a_log_over_its_cap_is_matched_but_not_kept),
        RUN_TEST(patterns_decide_together_with_the_exit_code),
        RUN_TEST(a_command_that_is_not_there_is_said_so),
        RUN_TEST(a_job_sees_the_environment_of_its_plan),
        RUN_TEST(pauses_come_between_experiments_and_are_scaled),
        RUN_TEST(a_time_scale_out_of_bounds_is_refused),
        RUN_TEST(cpu_time_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
