/* Runs that are stopped, that die, and that go on. */
#include "fixture.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

/* What the listener does when the job prints "now N": the job is then known to be in the middle of
 * its work. */
struct trigger {
    int signals[2]; /* the first for "now 1", the second for "now 2"; 0: none */
    int notes;
    bool detached;
    int ticks;
};

static void on_event(void *context, const struct event *event)
{
    struct trigger *trigger = context;
    if (event->type == EVENT_NOTE) {
        const char *text = json_string_value(json_object_get(event->data, "text"));
        trigger->notes++;
        trigger->detached = trigger->detached || (text && strcmp(text, "detached") == 0);
    }
    if (event->type != EVENT_METRIC)
        return;
    double value = json_real_value(json_object_get(event->data, "value"));
    int number = value == 1 ? trigger->signals[0] : value == 2 ? trigger->signals[1] : 0;
    if (number != 0)
        kill(getpid(), number);
}

static bool on_tick(void *context)
{
    struct trigger *trigger = context;
    trigger->ticks++;
    return true;
}

static void listen(struct world *world, struct trigger *trigger)
{
    world->listener = (struct run_listener){.event = on_event, .tick = on_tick, .context = trigger};
}

static struct plan_experiment *add_talking(struct world *world, const char *script)
{
    struct plan_experiment *experiment = world_add(world, script);
    world_add_metric(experiment, "now", "^now ([0-9])");
    return experiment;
}

static size_t lines_of(const struct world *world, const char *name)
{
    AUTO_FREE char *text = world_read_root(world, name);
    size_t count = 0;
    for (const char *at = text; *at; at++)
        count += *at == '\n';
    return count;
}

/* The first try waits to be stopped, a later one ends. */
static const char first_try_waits[] = "echo $TARE_EXPERIMENT $TARE_ATTEMPT >>$1/done; "
                                      "if [ $TARE_ATTEMPT = 1 ]; then exec 9>$1/lock; flock 9; "
                                      "echo now 1; sleep 1000; fi; echo again";

static void an_interrupt_stops_the_job_and_a_resume_finishes(void **state)
{
    struct world *world = *state;
    struct trigger trigger = {.signals = {SIGINT}};
    world_add(world, "echo $TARE_EXPERIMENT $TARE_ATTEMPT >>$1/done");
    add_talking(world, first_try_waits);
    world_add(world, "echo $TARE_EXPERIMENT $TARE_ATTEMPT >>$1/done");
    listen(world, &trigger);
    world_run(world);
    assert_true(world->ok);
    assert_int_equal(world->summary.outcome, RUN_INTERRUPTED);
    assert_int_equal(world->summary.signal_number, SIGINT);
    assert_int_equal(world->summary.succeeded, 1);
    assert_int_equal(world->summary.interrupted, 1);
    assert_int_equal(world->summary.not_run, 1);
    assert_string_equal(world_text(world, "experiment_ended", 2, "outcome"), "interrupted");
    assert_string_equal(world_text(world, "attempt_ended", 2, "reason"), "interrupted");
    assert_string_equal(world_text(world, "session_ended", 0, "outcome"), "interrupted");
    assert_true(world_lock_is_free(world, "lock"));

    world->listener = (struct run_listener){0};
    world_run(world);
    assert_int_equal(world->summary.outcome, RUN_FINISHED);
    assert_int_equal(world->summary.succeeded, 3);
    AUTO_FREE char *done = world_read_root(world, "done");
    assert_string_equal(done,
                        "repo_model_001 1\nrepo_model_002 1\nrepo_model_002 2\nrepo_model_003 1\n");
    AUTO_FREE char *first = world_read(world, "repo_model_002/attempt_1/training.log");
    AUTO_FREE char *last = world_read(world, "repo_model_002/training.log");
    assert_string_equal(first, "now 1\n");
    assert_string_equal(last, "again\n");
    assert_int_equal(world_count(world, "session_started", 0), 2);
    assert_int_equal(
        json_integer_value(json_object_get(world_last(world, "experiment_ended", 2), "retries")),
        0);
}

static void a_second_interrupt_does_not_wait_for_the_grace(void **state)
{
    struct world *world = *state;
    struct trigger trigger = {.signals = {SIGTERM, SIGINT}};
    /* Answers the first signal's TERM with the line that sends the second. */
    add_talking(world, "trap 'echo now 2' TERM; echo now 1; while :; do sleep 0.1; done");
    world->plan.timing.stop_grace_s = 3600;
    listen(world, &trigger);
    world_run(world);
    assert_int_equal(world->summary.outcome, RUN_INTERRUPTED);
    assert_int_equal(world->summary.signal_number, SIGTERM);
    assert_string_equal(world_text(world, "experiment_ended", 1, "outcome"), "interrupted");
    assert_int_equal(
        json_integer_value(json_object_get(world_last(world, "job_exited", 1), "signal")), SIGKILL);
}

static void an_interrupt_ends_a_pause(void **state)
{
    struct world *world = *state;
    struct trigger trigger = {.signals = {SIGINT}};
    world_add(world, "exit 0");
    struct plan_experiment *experiment = add_talking(world, "echo now 1; exit 1");
    experiment->max_retries = 3;
    experiment = world_add(world, "exit 0");
    world->plan.timing.before_retry_s = 3600;
    listen(world, &trigger);
    world_run(world);
    assert_int_equal(world->summary.outcome, RUN_INTERRUPTED);
    assert_int_equal(world->summary.succeeded, 1);
    assert_int_equal(world->summary.interrupted, 1);
    assert_int_equal(world->summary.not_run, 1);
}

static void a_hangup_only_detaches(void **state)
{
    struct world *world = *state;
    struct trigger trigger = {.signals = {SIGHUP}};
    add_talking(world, "echo now 1; sleep 2.5; echo now 3");
    listen(world, &trigger);
    world_run(world);
    assert_int_equal(world->summary.outcome, RUN_FINISHED);
    assert_int_equal(world->summary.succeeded, 1);
    assert_true(trigger.detached);
    assert_true(trigger.ticks >= 1);
}

static void failed_tries_count_across_sessions_and_interrupted_ones_do_not(void **state)
{
    struct world *world = *state;
    struct trigger trigger = {.signals = {SIGINT}};
    /* Tries: 1 fails, 2 is interrupted, 3 and 4 fail: with 2 retries there is no fifth. */
    add_talking(world, "if [ $TARE_ATTEMPT = 2 ]; then echo now 1; sleep 1000; fi; exit 5")
        ->max_retries = 2;
    listen(world, &trigger);
    world_run(world);
    assert_int_equal(world->summary.interrupted, 1);
    world_run(world);
    assert_int_equal(world->summary.failed, 1);
    assert_int_equal(world_count(world, "attempt_ended", 1), 4);
    assert_int_equal(
        json_integer_value(json_object_get(world_last(world, "experiment_ended", 1), "retries")),
        2);
    assert_true(world_has(world, "repo_model_001/attempt_3/training.log"));
    assert_false(world_has(world, "repo_model_001/attempt_4"));
}

/* Runs in a child process, which is killed by SIGKILL at its first metric. */
static void run_and_die(struct world *world)
{
    struct trigger trigger = {.signals = {SIGKILL}};
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        listen(world, &trigger);
        world_run(world);
        _exit(1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void a_run_that_was_killed_goes_on_where_it_was(void **state)
{
    struct world *world = *state;
    world_add(world, "echo $TARE_EXPERIMENT >>$1/finished");
    add_talking(world, first_try_waits);
    world_add(world, "echo $TARE_EXPERIMENT >>$1/finished");
    run_and_die(world);
    world_run(world);
    assert_true(world->ok);
    assert_int_equal(world->summary.succeeded, 3);
    assert_true(world_lock_is_free(world, "lock"));
    assert_int_equal(lines_of(world, "finished"), 2);
    assert_int_equal(world_count(world, "experiment_ended", 0), 3);
    AUTO_FREE char *way = world_way(world, 2);
    assert_string_equal(
        way,
        "experiment_started attempt_prepared job_born attempt_started job_proven attempt_ended "
        "experiment_started attempt_prepared job_born attempt_started attempt_stopping "
        "job_exited job_proven attempt_ended experiment_ended");
    AUTO_FREE char *first = world_read(world, "repo_model_002/attempt_1/training.log");
    assert_string_equal(first, "now 1\n");
}

static void nothing_is_run_again_when_all_is_done(void **state)
{
    struct world *world = *state;
    world_add(world, "echo ran >>$1/finished");
    world_add(world, "echo ran >>$1/finished; exit 1");
    world_run(world);
    world_run(world);
    assert_int_equal(world->summary.outcome, RUN_FINISHED);
    assert_int_equal(world->summary.succeeded, 1);
    assert_int_equal(world->summary.failed, 1);
    assert_int_equal(lines_of(world, "finished"), 2);
}

/* A disk that is full for files over 400 kB, which the journal of one experiment does not reach: in
 * a child, whose limits are its own. */
static void a_log_that_cannot_be_written_breaks_the_run_with_a_way_to_go_on(void **state)
{
    struct world *world = *state;
    add_talking(
        world,
        "if [ $TARE_ATTEMPT = 1 ]; then head -c 2000000 /dev/zero; sleep 1000; fi; echo small");
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit limit = {400000, RLIM_INFINITY};
        setrlimit(RLIMIT_FSIZE, &limit);
        world_run(world);
        bool said = !world->ok && world->summary.outcome == RUN_BROKEN &&
                    strstr(world->err.text, "training.log") && strstr(world->err.text, "--resume");
        if (!said)
            print_message("# broken with: %s\n", world->err.text);
        _exit(said ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    world_run(world);
    assert_int_equal(world->summary.succeeded, 1);
    AUTO_FREE char *log = world_read(world, "repo_model_001/training.log");
    assert_string_equal(log, "small\n");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
#define RUN_TEST(name) cmocka_unit_test_setup_teardown(name, world_make, world_remove)
        RUN_TEST(an_interrupt_stops_the_job_and_a_resume_finishes),
        RUN_TEST(a_second_interrupt_does_not_wait_for_the_grace),
        RUN_TEST(an_interrupt_ends_a_pause),
        RUN_TEST(a_hangup_only_detaches),
        RUN_TEST(failed_tries_count_across_sessions_and_interrupted_ones_do_not),
        RUN_TEST(a_run_that_was_killed_goes_on_where_it_was),
        RUN_TEST(nothing_is_run_again_when_all_is_done),
        RUN_TEST(a_log_that_cannot_be_written_breaks_the_run_with_a_way_to_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
