/* Parallel experiments: a background that is looped beside the foreground, and nothing left of
 * either. */
#include "fixture.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

enum { DEADLINE_S = 60 };

/* A script's wait for what another script, or the journal, says; a test that waits in vain ends by
 * the timeout. */
#define UNTIL(condition) "until " condition "; do sleep 0.02; done; "
#define IN_JOURNAL(text) UNTIL("grep -q '" text "' $TARE_RUN_DIR/events.jsonl")

static struct plan_experiment *add(struct world *world, const char *foreground,
                                   const char *background)
{
    struct plan_experiment *experiment = world_add(world, foreground);
    world_add_background(world, experiment, background);
    experiment->timeout_s = DEADLINE_S;
    return experiment;
}

/* The data of the n-th (from 1) such event about a job of that role, or NULL. */
static const json_t *of_role(const struct world *world, const char *type, const char *role,
                             size_t n)
{
    for (size_t i = 0; i < json_array_size(world->events); i++) {
        const json_t *event = json_array_get(world->events, i),
                     *data = json_object_get(event, "data");
        const char *its = json_string_value(json_object_get(data, "role"));
        if (strcmp(json_string_value(json_object_get(event, "type")), type) == 0 && its &&
            strcmp(its, role) == 0 && --n == 0)
            return data;
    }
    return NULL;
}

static size_t count_role(const struct world *world, const char *type, const char *role)
{
    size_t count = 0;
    while (of_role(world, type, role, count + 1))
        count++;
    return count;
}

static const char *text_of(const json_t *data, const char *key)
{
    const char *text = json_string_value(json_object_get(data, key));
    return text ? text : "";
}

static bool has_evidence(const struct world *world, const char *kind)
{
    for (size_t i = 0; i < json_array_size(world->events); i++) {
        const json_t *event = json_array_get(world->events, i);
        if (strcmp(json_string_value(json_object_get(event, "type")), "evidence") == 0 &&
            strcmp(text_of(json_object_get(event, "data"), "kind"), kind) == 0)
            return true;
    }
    return false;
}

/* Ends once three loops have begun. */
static const char waits_for_three[] = UNTIL("[ -e $1/loop3 ]") "echo finished";

/* Each loop writes its number, in the log and as a file. */
static const char counts_loops[] = "n=1; while [ -e $1/loop$n ]; do n=$((n + 1)); done; echo "
                                   "\"loop $n\"; touch $1/loop$n; [ $n -ge 3 ] && "
                                   "exec sleep 1000; exit 0";

static void a_background_is_looped_until_the_foreground_has_ended(void **state)
{
    struct world *world = *state;
    add(world, waits_for_three, counts_loops);
    world_run(world);
    assert_int_equal(world->summary.succeeded, 1);
    assert_int_equal(count_role(world, "job_born", "background"), 3);
    assert_int_equal(count_role(world, "job_exited", "background"), 3);
    assert_int_equal(count_role(world, "job_proven", "background"), 1);
    assert_int_equal(count_role(world, "job_proven", "foreground"), 1);
    assert_string_equal(text_of(of_role(world, "job_exited", "background", 1), "outcome"),
                        "succeeded");
    assert_string_equal(text_of(of_role(world, "job_exited", "background", 2), "outcome"),
                        "succeeded");
    assert_string_equal(text_of(of_role(world, "job_exited", "background", 3), "outcome"),
                        "stopped");
    AUTO_FREE char *first = world_read(world, "repo_model_001/background_logs/training_1.log");
    AUTO_FREE char *third = world_read(world, "repo_model_001/background_logs/training_3.log");
    AUTO_FREE char *foreground = world_read(world, "repo_model_001/training.log");
    assert_string_equal(first, "loop 1\n");
    assert_string_equal(third, "loop 3\n");
    assert_string_equal(foreground, "finished\n");
    assert_false(world_has(world, "repo_model_001/background_logs/training_4.log"));
    assert_int_equal(world_count(world, "evidence", 1), 0);
}

static void the_background_is_born_first_and_known_before_it_runs(void **state)
{
    struct world *world = *state;
    add(world, "exit 0",
        IN_JOURNAL("\"role\":\"background\",\"number\":1") "echo seen; exec sleep 1000");
    world->plan.parallel.wait_s = 1;
    world_run(world);
    AUTO_FREE char *way = world_way(world, 1);
    assert_string_equal(
        way,
        "experiment_started attempt_prepared job_born job_born attempt_started attempt_stopping "
        "job_exited job_proven job_exited job_proven attempt_ended experiment_ended");
    assert_int_equal(
        json_integer_value(json_object_get(of_role(world, "job_born", "background", 1), "number")),
        1);
    AUTO_FREE char *log = world_read(world, "repo_model_001/background_logs/training_1.log");
    assert_string_equal(log, "seen\n");
    const json_t *parallel = json_object_get(world_last(world, "attempt_ended", 1), "parallel");
    const json_t *background = json_object_get(parallel, "background");
    assert_true(json_real_value(json_object_get(json_object_get(background, "load"), "alone_s")) >=
                1);
    const json_t *loop = json_array_get(json_object_get(background, "loops"), 0);
    assert_true(json_real_value(json_object_get(loop, "start_s")) <= -1);
    assert_string_equal(text_of(loop, "outcome"), "stopped");
}

static void a_background_that_ignores_term_is_killed_and_proven_gone(void **state)
{
    struct world *world = *state;
    add(world, UNTIL("[ -e $1/ready ]") "exit 0",
        "trap '' TERM; exec 9>$1/lock; flock 9; touch $1/ready; while :; do sleep 1; done");
    world->plan.timing.stop_grace_s = 0.2;
    world_run(world);
    assert_int_equal(world->summary.succeeded, 1);
    assert_int_equal(json_integer_value(
                         json_object_get(of_role(world, "job_exited", "background", 1), "signal")),
                     SIGKILL);
    assert_true(world_lock_is_free(world, "lock"));
}

static void what_a_loop_leaves_is_ended_before_the_next_one_begins(void **state)
{
    struct world *world = *state;
    /* Each loop leaves a process that holds the lock, in a session of its own. A loop that finds it
     * held says so. */
    add(world, UNTIL("[ $(wc -l <$1/loops) -ge 3 ]") "exit 0",
        "exec 9>$1/lock; flock -n 9 || touch $1/held; echo x >>$1/loops; [ $(wc -l <$1/loops) -ge "
        "3 ] && sleep 1000;"
        "setsid sleep 1000 & exit 0");
    world_run(world);
    assert_int_equal(world->summary.succeeded, 1);
    AUTO_FREE char *held = mem_printf("%s/held", world->root);
    assert_int_equal(access(held, F_OK), -1);
    assert_true(world_lock_is_free(world, "lock"));
    assert_true(has_evidence(world, "leftover_processes"));
    const json_t *leftovers =
        json_object_get(of_role(world, "job_exited", "background", 1), "leftovers");
    assert_int_equal(json_array_size(leftovers), 1);
}

static void a_background_that_crashes_at_start_fails_the_attempt_after_three_tries(void **state)
{
    struct world *world = *state;
    struct plan_experiment *experiment = add(world, "touch $1/ran", "echo oh no >&2; exit 7");
    experiment->max_retries = 1;
    world->plan.parallel.wait_s = 3600;
    world_run(world);
    assert_int_equal(world->summary.failed, 1);
    AUTO_FREE char *ran = mem_printf("%s/ran", world->root);
    assert_int_equal(access(ran, F_OK), -1);
    assert_string_equal(world_text(world, "experiment_ended", 1, "error"),
                        "the background training does not run: it failed 3 times in a row: exit "
                        "code 7; last log line: "
                        "oh no");
    assert_int_equal(world_count(world, "attempt_ended", 1), 2);
    assert_int_equal(count_role(world, "job_born", "background"), 6);
    assert_int_equal(count_role(world, "job_born", "foreground"), 0);
    assert_true(world_has(world, "repo_model_001/attempt_1/background_logs/training_3.log"));
    assert_true(world_has(world, "repo_model_001/background_logs/training_3.log"));
    assert_false(world_has(world, "repo_model_001/background_logs/training_4.log"));
}

static void a_background_that_is_not_there_is_named(void **state)
{
    struct world *world = *state;
    struct plan_experiment *experiment = add(world, "exit 0", "exit 0");
    strv_fini(&experiment->background->argv);
    strv_add(&experiment->background->argv, "/nowhere/train.sh");
    world->plan.parallel.wait_s = 3600;
    world_run(world);
    assert_int_equal(world->summary.failed, 1);
    assert_non_null(
        strstr(world_text(world, "experiment_ended", 1, "error"), "cannot run /nowhere/train.sh"));
}

static void a_background_that_dies_again_and_again_beside_the_foreground_is_evidence(void **state)
{
    struct world *world = *state;
    add(world, "touch $1/foreground; " IN_JOURNAL("background_stopped_early") "echo finished",
        UNTIL("[ -e $1/foreground ]") "exit 3");
    world_run(world);
    assert_int_equal(world->summary.succeeded, 1);
    assert_true(has_evidence(world, "background_died"));
    assert_true(has_evidence(world, "background_stopped_early"));
    assert_int_equal(count_role(world, "job_exited", "background"), 5);
    assert_int_equal(count_role(world, "job_proven", "background"), 1);
    const json_t *parallel = json_object_get(world_last(world, "attempt_ended", 1), "parallel");
    const json_t *background = json_object_get(parallel, "background");
    assert_true(json_is_true(json_object_get(background, "gave_up")));
    assert_int_equal(json_integer_value(json_object_get(background, "failed_beside_foreground")),
                     5);
}

static void one_death_beside_the_foreground_is_told_and_no_evidence(void **state)
{
    struct world *world = *state;
    add(world, "touch $1/foreground; " UNTIL("[ -e $1/second ]") "exit 0",
        UNTIL("[ -e $1/foreground ]") "[ -e $1/first ] || { touch $1/first; exit 3; }; touch "
                                      "$1/second; sleep 1000");
    world_run(world);
    assert_int_equal(world->summary.succeeded, 1);
    assert_int_equal(world_count(world, "evidence", 1), 0);
    assert_string_equal(text_of(of_role(world, "job_exited", "background", 1), "error"),
                        "exit code 3; it printed nothing");
}

static void every_attempt_has_a_fresh_background(void **state)
{
    struct world *world = *state;
    struct plan_experiment *experiment =
        add(world, UNTIL("[ -e $1/background$TARE_ATTEMPT ]") "[ $TARE_ATTEMPT = 2 ]",
            "exec 9>$1/lock; flock -n 9 || touch $1/held; touch $1/background$TARE_ATTEMPT; sleep "
            "1000");
    experiment->max_retries = 1;
    world_run(world);
    assert_int_equal(world->summary.succeeded, 1);
    assert_int_equal(count_role(world, "job_born", "background"), 2);
    assert_int_equal(
        json_integer_value(json_object_get(of_role(world, "job_born", "background", 2), "number")),
        1);
    AUTO_FREE char *held = mem_printf("%s/held", world->root);
    assert_int_equal(access(held, F_OK), -1);
}

static void a_foreground_that_takes_too_long_takes_the_background_with_it(void **state)
{
    struct world *world = *state;
    struct plan_experiment *experiment =
        add(world, "sleep 1000", "exec 9>$1/lock; flock 9; touch $1/held; sleep 1000");
    experiment->timeout_s = 1;
    world_run(world);
    assert_int_equal(world->summary.failed, 1);
    assert_string_equal(world_text(world, "attempt_ended", 1, "reason"), "timeout");
    assert_string_equal(text_of(of_role(world, "job_exited", "background", 1), "outcome"),
                        "stopped");
    assert_true(world_lock_is_free(world, "lock"));
}

static void a_background_does_not_mark_epochs_of_the_foreground(void **state)
{
    struct world *world = *state;
    strv_env_set(&world->environment, "TARE_MARKS", "/run/of/somebody/else");
    add(world, UNTIL("[ -e $1/said ]") "[ -p \"$TARE_MARKS\" ]",
        "echo \"marks=[$TARE_MARKS]\"; touch $1/said; sleep 1000");
    world_run(world);
    assert_int_equal(world->summary.succeeded, 1);
    AUTO_FREE char *log = world_read(world, "repo_model_001/background_logs/training_1.log");
    assert_string_equal(log, "marks=[]\n");
}

static void the_limit_of_cpu_time_holds_for_the_background_too(void **state)
{
    struct world *world = *state;
    add(world, IN_JOURNAL("limit of 1 s of CPU time") "exit 0", "while :; do :; done");
    world->plan.limits.job.cpu_time_s = 1;
    world_run(world);
    assert_int_equal(world->summary.succeeded, 1);
    assert_non_null(
        strstr(text_of(of_role(world, "job_exited", "background", 1), "error"), "limit of 1 s"));
}

/* Interrupts when the background is born: its foreground waits for hours yet. */
static void interrupt_at_birth(void *context, const struct event *event)
{
    (void)context;
    if (event->type == EVENT_JOB_BORN)
        kill(getpid(), SIGINT);
}

static void an_interrupt_while_the_background_is_alone_ends_it_and_a_resume_runs_both(void **state)
{
    struct world *world = *state;
    add(world, "echo $TARE_ATTEMPT >>$1/done", "exec 9>$1/lock; flock 9; sleep 1000");
    world->plan.parallel.wait_s = 600;
    world->listener = (struct run_listener){.event = interrupt_at_birth};
    world_run(world);
    assert_int_equal(world->summary.outcome, RUN_INTERRUPTED);
    assert_int_equal(world->summary.interrupted, 1);
    assert_int_equal(count_role(world, "job_born", "foreground"), 0);
    assert_int_equal(count_role(world, "job_proven", "background"), 1);
    AUTO_FREE char *way = world_way(world, 1);
    assert_string_equal(
        way, "experiment_started attempt_prepared job_born attempt_stopping job_exited job_proven "
             "attempt_ended experiment_ended");

    world->listener = (struct run_listener){0};
    strv_env_set(&world->environment, "TARE_TIME_SCALE", "0.001");
    world_run(world);
    assert_int_equal(world->summary.succeeded, 1);
    AUTO_FREE char *done = world_read_root(world, "done");
    assert_string_equal(done, "2\n");
    assert_true(world_lock_is_free(world, "lock"));
}

static void a_runner_that_is_killed_while_the_background_is_alone_leaves_nothing(void **state)
{
    struct world *world = *state;
    add(world, "echo $TARE_ATTEMPT >>$1/done",
        "exec 9>$1/lock; flock 9; touch $1/alone; setsid sh -c 'trap \"\" TERM; sleep 1000; :' & "
        "sleep 1000");
    world->plan.parallel.wait_s = 600;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        world_run(world);
        _exit(1);
    }
    AUTO_FREE char *alone = mem_printf("%s/alone", world->root);
    int64_t deadline_ns = clock_monotonic_ns() + DEADLINE_S * NS_PER_S;
    while (access(alone, F_OK) != 0 && clock_monotonic_ns() < deadline_ns)
        poll(NULL, 0, 10);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(access(alone, F_OK), 0);

    strv_env_set(&world->environment, "TARE_TIME_SCALE", "0.001");
    world_run(world);
    assert_int_equal(world->summary.succeeded, 1);
    AUTO_FREE char *done = world_read_root(world, "done");
    assert_string_equal(done, "2\n");
    assert_int_equal(count_role(world, "job_born", "foreground"), 1);
    assert_int_equal(count_role(world, "job_proven", "background"), 2);
    assert_non_null(json_object_get(of_role(world, "job_proven", "background", 1), "recovered"));
    assert_true(world_lock_is_free(world, "lock"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_make, world_remove)

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_background_is_looped_until_the_foreground_has_ended),
        TEST(the_background_is_born_first_and_known_before_it_runs),
        TEST(a_background_that_ignores_term_is_killed_and_proven_gone),
        TEST(what_a_loop_leaves_is_ended_before_the_next_one_begins),
        TEST(a_background_that_crashes_at_start_fails_the_attempt_after_three_tries),
        TEST(a_background_that_is_not_there_is_named),
        TEST(a_background_that_dies_again_and_again_beside_the_foreground_is_evidence),
        TEST(one_death_beside_the_foreground_is_told_and_no_evidence),
        TEST(every_attempt_has_a_fresh_background),
        TEST(a_foreground_that_takes_too_long_takes_the_background_with_it),
        TEST(a_background_does_not_mark_epochs_of_the_foreground),
        TEST(the_limit_of_cpu_time_holds_for_the_background_too),
        TEST(an_interrupt_while_the_background_is_alone_ends_it_and_a_resume_runs_both),
        TEST(a_runner_that_is_killed_while_the_background_is_alone_leaves_nothing),
    };
    return cmocka_run_group_tests_name("parallel", tests, NULL, NULL);
}
