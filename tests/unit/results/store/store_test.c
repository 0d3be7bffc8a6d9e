/* The run's folder, its lock, what is refused, and what the store knows without asking the disk. */
#include "fixture.h"
#include "results/store/results.h"

#include "base/clock.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static void a_new_run_holds_plan_settings_and_registry(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    const struct plan *plan = store_plan(store);
    assert_int_equal(plan->count, 3);
    assert_int_equal(plan->seed, 42);
    assert_string_equal(plan->experiments[1].id, "other_default_002");
    assert_string_equal(plan->experiments[0].foreground.argv.items[2], "1e-7");
    assert_true(plan->experiments[2].parallel);
    assert_string_equal(plan->experiments[2].background->repo, "other");
    assert_int_equal(store_next_session(store), 1);
    fixture_close(store);
    char *settings = run_read(&run, "settings.json");
    assert_string_equal(settings, "{\"a\": 1}\n");
    free(settings);
    char *registry = run_read(&run, "registry.json");
    assert_string_equal(registry, "{}");
    free(registry);
    assert_answer(&run, "SELECT group_concat(id, ' ') FROM (SELECT id FROM plan ORDER BY number)",
                  "demo_net_001 other_default_002 demo_net_003_parallel");
    assert_answer(&run, "PRAGMA user_version", "1");
    assert_answer(&run, "PRAGMA journal_mode", "wal");
    run_remove(&run);
}

static void a_closed_run_has_no_wal(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    assert_true(run_has(&run, "run.db-wal"));
    fixture_close(store);
    assert_true(run_has(&run, "run.db"));
    assert_false(run_has(&run, "run.db-wal"));
    assert_false(run_has(&run, "run.db-shm"));
    run_remove(&run);
}

static void a_folder_that_is_not_empty_is_refused_and_left_alone(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    int fd = openat(run.dir, "mine.txt", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    struct plan plan;
    struct err err = {0};
    plan_fill(&plan);
    struct store_head head = {&plan, "", 0, "", 0, false};
    assert_null(store_create(run.dir, run.path, &head, &err));
    assert_non_null(strstr(err.text, "is not empty"));
    assert_false(run_has(&run, "run.lock"));
    assert_false(run_has(&run, "run.db"));
    plan_fini(&plan);
    run_remove(&run);
}

static void a_folder_without_a_run_is_refused(void **state)
{
    (void)state;
    struct run run;
    struct err err = {0};
    run_make(&run);
    assert_null(store_open(run.dir, run.path, &err));
    assert_non_null(strstr(err.text, "holds no run"));
    assert_false(run_has(&run, "run.lock"));
    /* as a crash at the very start leaves it */
    int fd = openat(run.dir, "run.db", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_null(store_open(run.dir, run.path, &err));
    assert_non_null(
        strstr(err.text,
               "ended before the plan was written, so nothing of it has started; run its settings "
               "anew, and remove this folder"));
    assert_int_equal(unlinkat(run.dir, "run.db", 0), 0); /* killed earlier still */
    assert_true(run_has(&run, "run.lock"));
    assert_null(store_open(run.dir, run.path, &err));
    assert_non_null(strstr(err.text, "ended before the plan was written"));
    run_remove(&run);
}

static void a_second_opener_is_refused_by_pid_and_host_of_the_first(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    char expected[400];
    snprintf(expected, sizeof expected, "%s is in use by process %d on host %s", run.path,
             (int)getpid(), host);
    struct err err = {0};
    assert_null(store_open(run.dir, run.path, &err));
    assert_non_null(strstr(err.text, expected));
    /* The holder is not harmed by the refusal. */
    add(store, EVENT_SESSION_STARTED, 0, 0, NULL);
    fixture_close(store);
    fixture_close(fixture_open(&run));
    run_remove(&run);
}

static void links_in_place_of_the_runs_files_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"run.db", "run.db-wal", "run.db-shm", "events.jsonl",
                                        "run.lock"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct run run, elsewhere;
        run_make(&run);
        run_make(&elsewhere);
        fixture_close(fixture_create(&run));
        fixture_close(fixture_create(&elsewhere));
        char target[512];
        run_path(&elsewhere, "run.db", target);
        unlinkat(run.dir, names[i], 0);
        assert_int_equal(symlinkat(target, run.dir, names[i]), 0);
        struct err err = {0};
        assert_null(store_open(run.dir, run.path, &err));
        assert_non_null(strstr(err.text, names[i]));
        run_remove(&elsewhere);
        run_remove(&run);
    }
}

static void a_run_in_a_folder_reached_through_a_link_opens(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    fixture_close(fixture_create(&run));
    char link[600];
    snprintf(link, sizeof link, "%s-link", run.path);
    assert_int_equal(symlink(run.path, link), 0);
    int dir = open(link, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct err err = {0};
    struct store *store = store_open(dir, link, &err);
    close(dir); /* the store does not need it any more */
    assert_non_null(store);
    add(store, EVENT_SESSION_STARTED, 0, 0, NULL);
    fixture_close(store);
    unlink(link);
    run_remove(&run);
}

static void a_run_of_another_format_is_refused_and_left_as_it_is(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    fixture_close(fixture_create(&run));
    free(ask(&run, "PRAGMA user_version=2"));
    struct err err = {0};
    assert_null(store_open(run.dir, run.path, &err));
    assert_non_null(strstr(err.text, "has format 2"));
    assert_non_null(strstr(err.text, "reads format 1"));
    struct results results;
    assert_false(results_read(run.path, &results, &err));
    assert_non_null(strstr(err.text, "has format 2"));
    assert_answer(&run, "PRAGMA user_version", "2");
    run_remove(&run);
}

static void expect_refusal(struct store *store, int64_t session, enum event_type type,
                           int64_t experiment, int64_t attempt, const char *data, const char *why)
{
    struct outcome_seen seen = {0};
    struct err err = {0};
    add_as(store, session, type, experiment, attempt, 0, data, outcome_done, &seen);
    assert_int_equal(seen.calls, 0); /* never from inside store_add */
    assert_false(store_flush(store, &err));
    assert_int_equal(seen.calls, 1);
    assert_false(seen.ok);
    if (!strstr(seen.err.text, why))
        fail_msg("'%s' does not say '%s'", seen.err.text, why);
    assert_string_equal(err.text, seen.err.text);
    assert_true(store_flush(store, &err)); /* told once: the journal itself is well */
}

static void an_event_that_does_not_fit_is_refused_and_nothing_is_written(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    expect_refusal(store, 1, EVENT_EXPERIMENT_STARTED, 1, 0, NULL, "session 1 has not started");
    expect_refusal(store, 2, EVENT_SESSION_STARTED, 0, 0, NULL, "session 2 does not follow");
    add(store, EVENT_SESSION_STARTED, 0, 0, NULL);
    expect_refusal(store, 1, EVENT_METRIC, 1, 1, NULL, "not journaled");
    expect_refusal(store, 1, EVENT_NOTE, 0, 0, NULL, "not journaled");
    expect_refusal(store, 1, EVENT_EXPERIMENT_STARTED, 0, 0, NULL, "names no experiment");
    expect_refusal(store, 1, EVENT_EXPERIMENT_STARTED, 4, 0, NULL, "no experiment 4");
    expect_refusal(store, 1, EVENT_ATTEMPT_STARTED, 1, 1, NULL, "experiment 1 is planned");
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, NULL);
    expect_refusal(store, 1, EVENT_ATTEMPT_PREPARED, 1, 2, NULL, "expected 1");
    expect_refusal(store, 1, EVENT_JOB_BORN, 1, 1, NULL, "expected 0");
    play_attempt(store, 1, 1, true);
    expect_refusal(store, 1, EVENT_ATTEMPT_ENDED, 1, 1, "{'outcome': 'failed'}", "has ended");
    expect_refusal(store, 1, EVENT_EXPERIMENT_ENDED, 1, 0, "{}", "says no outcome");
    add(store, EVENT_EXPERIMENT_ENDED, 1, 0, "{'outcome': 'succeeded'}");
    expect_refusal(store, 1, EVENT_EXPERIMENT_STARTED, 1, 0, NULL, "experiment 1 is done");
    fixture_close(store);
    /* session, started, seven of the attempt, ended: by hand 1 + 1 + 7 + 1 */
    assert_answer(&run, "SELECT count(*) || ' ' || max(seq) FROM events", "10 10");
    run_remove(&run);
}

static void the_view_follows_the_events_at_once_and_after_reopening(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    assert_null(store_experiment(store, 0));
    assert_null(store_experiment(store, 4));
    add(store, EVENT_SESSION_STARTED, 0, 0, NULL);
    add(store, EVENT_EXPERIMENT_STARTED, 2, 0, NULL);
    play_attempt(store, 2, 1, false);
    add(store, EVENT_RETRY_PAUSE, 2, 1, "{'seconds': 30}");
    add(store, EVENT_ATTEMPT_PREPARED, 2, 2, NULL);
    add(store, EVENT_JOB_BORN, 2, 2,
        "{'pid': 321, 'start_time': 18446744, 'boot_id': 'b-2', 'cgroup': null, 'tag': 't-2'}");
    for (int round = 0; round < 2; round++) {
        const struct store_experiment *two = store_experiment(store, 2);
        assert_int_equal(two->state, STATE_PREPARING);
        assert_int_equal(two->outcome, OUTCOME_NONE);
        assert_int_equal(two->attempts, 2);
        assert_int_equal(two->last.number, 2);
        assert_int_equal(two->last.outcome, OUTCOME_NONE);
        assert_true(two->last.job.born);
        assert_false(two->last.job.proven);
        assert_int_equal(two->last.job.pid, 321);
        assert_int_equal(two->last.job.start_time, 18446744);
        assert_string_equal(two->last.job.boot_id, "b-2");
        assert_null(two->last.job.cgroup);
        assert_string_equal(two->last.job.tag, "t-2");
        assert_int_equal(store_experiment(store, 1)->state, STATE_PLANNED);
        assert_int_equal(store_experiment(store, 1)->last.number, 0);
        assert_int_equal(store_next_session(store), 2);
        fixture_close(store);
        store = fixture_open(&run);
    }
    fixture_close(store);
    run_remove(&run);
}

static void proven_means_that_nothing_survived(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    add(store, EVENT_SESSION_STARTED, 0, 0, NULL);
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, NULL);
    play_attempt(store, 1, 1, true);
    assert_true(store_experiment(store, 1)->last.job.proven);
    assert_int_equal(store_experiment(store, 1)->last.outcome, OUTCOME_SUCCEEDED);
    add(store, EVENT_JOB_PROVEN, 1, 1, "{'survivors': [{'pid': 9, 'state': 'D', 'wchan': 'x'}]}");
    assert_false(store_experiment(store, 1)->last.job.proven);
    add(store, EVENT_JOB_PROVEN, 1, 1, "{'survivors': []}");
    assert_true(store_experiment(store, 1)->last.job.proven);
    assert_non_null(store_experiment(store, 1)->last.job.boot_id);
    /* By what it would be found is not kept for each of many experiments. */
    add(store, EVENT_EXPERIMENT_ENDED, 1, 0, "{'outcome': 'succeeded', 'retries': 0}");
    assert_true(store_experiment(store, 1)->last.job.proven);
    assert_null(store_experiment(store, 1)->last.job.boot_id);
    fixture_close(store);
    run_remove(&run);
}

static void an_experiment_that_was_not_begun_stays_planned(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    add(store, EVENT_SESSION_STARTED, 0, 0, NULL);
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, NULL);
    add(store, EVENT_EXPERIMENT_ENDED, 1, 0, "{'outcome': 'interrupted', 'begun': false}");
    assert_int_equal(store_experiment(store, 1)->state, STATE_PLANNED);
    assert_int_equal(store_experiment(store, 1)->attempts, 0);
    fixture_close(store);
    assert_answer(&run,
                  "SELECT state || ' ' || coalesce(outcome, '-') FROM experiments WHERE number=1",
                  "planned -");
    store = fixture_open(&run);
    add_as(store, 2, EVENT_SESSION_STARTED, 0, 0, 0, NULL, NULL, NULL);
    add_as(store, 2, EVENT_EXPERIMENT_STARTED, 1, 0, 0, NULL, NULL, NULL);
    assert_int_equal(store_experiment(store, 1)->state, STATE_PREPARING);
    fixture_close(store);
    run_remove(&run);
}

static void an_interrupted_experiment_may_start_again(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    add(store, EVENT_SESSION_STARTED, 0, 0, NULL);
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, NULL);
    add(store, EVENT_EXPERIMENT_ENDED, 1, 0, "{'outcome': 'interrupted'}");
    assert_int_equal(store_experiment(store, 1)->state, STATE_DONE);
    assert_int_equal(store_experiment(store, 1)->outcome, OUTCOME_INTERRUPTED);
    fixture_close(store);
    store = fixture_open(&run);
    add_as(store, 2, EVENT_SESSION_STARTED, 0, 0, 0, NULL, NULL, NULL);
    add_as(store, 2, EVENT_EXPERIMENT_STARTED, 1, 0, 0, NULL, NULL, NULL);
    assert_int_equal(store_experiment(store, 1)->state, STATE_PREPARING);
    assert_int_equal(store_experiment(store, 1)->outcome, OUTCOME_NONE);
    fixture_close(store);
    assert_answer(&run,
                  "SELECT state || ' ' || coalesce(outcome, '-') FROM experiments WHERE number=1",
                  "preparing -");
    run_remove(&run);
}

static void done_comes_from_dispatch_when_the_descriptor_is_readable(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    struct outcome_seen seen = {0};
    add_as(store, 1, EVENT_SESSION_STARTED, 0, 0, 0, NULL, outcome_done, &seen);
    struct pollfd poll_fd = {.fd = store_fd(store), .events = POLLIN};
    assert_int_equal(poll(&poll_fd, 1, 60000), 1);
    assert_int_equal(seen.calls, 0);
    store_dispatch(store);
    assert_int_equal(seen.calls, 1);
    assert_true(seen.ok);
    assert_int_equal(poll(&poll_fd, 1, 0), 0);
    fixture_close(store);
    run_remove(&run);
}

struct chain {
    struct store *store;
    int left;
    int order[8], count;
};

static void add_next(void *context, bool ok, const struct err *err)
{
    struct chain *chain = context;
    (void)err;
    assert_true(ok);
    chain->order[chain->count++] = chain->left;
    if (chain->left-- > 0)
        add_as(chain->store, 1, EVENT_EVIDENCE, 0, 0, 0, NULL, add_next, chain);
}

static void flush_also_waits_for_what_the_callbacks_add(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    struct chain chain = {.store = store, .left = 4};
    add_as(store, 1, EVENT_SESSION_STARTED, 0, 0, 0, NULL, add_next, &chain);
    assert_true(store_flush(store, NULL));
    assert_int_equal(chain.count, 5);
    assert_int_equal(chain.order[0], 4);
    assert_int_equal(chain.order[4], 0);
    fixture_close(store);
    assert_answer(&run, "SELECT count(*) FROM events", "5");
    run_remove(&run);
}

static void the_events_data_is_copied(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    struct event event = {.type = EVENT_SESSION_STARTED,
                          .session = 1,
                          .realtime_ns = START_NS,
                          .data = json_object()};
    json_object_set_new(event.data, "host", json_string("before"));
    store_add(store, &event, NULL, NULL);
    json_object_set_new(event.data, "host", json_string("after"));
    event_fini(&event);
    fixture_close(store);
    assert_answer(&run, "SELECT host FROM sessions", "before");
    run_remove(&run);
}

static void a_commit_that_waits_never_blocks_adding(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    add(store, EVENT_SESSION_STARTED, 0, 0, NULL);
    assert_true(store_flush(store, NULL));
    char path[512];
    sqlite3 *other = NULL;
    run_path(&run, "run.db", path);
    assert_int_equal(sqlite3_open_v2(path, &other, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    /* The lock is let go by this very thread further down: an add that waited for it would wait for
     * the busy timeout (60 s). */
    struct outcome_seen seen = {0};
    int64_t started = clock_monotonic_ns();
    for (int i = 0; i < 200; i++) {
        add_as(store, 1, EVENT_EVIDENCE, 0, 0, 0, NULL, outcome_done, &seen);
        store_dispatch(store);
        usleep(5000);
    }
    assert_true(clock_monotonic_ns() - started < 40 * NS_PER_S);
    assert_int_equal(seen.calls, 0); /* nothing could be durable */
    assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    assert_true(store_flush(store, NULL));
    assert_int_equal(seen.calls, 200);
    assert_true(seen.ok);
    fixture_close(store);
    run_remove(&run);
}

static void a_forked_child_does_not_keep_the_lock_when_it_closes_its_files(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    int gate[2];
    assert_int_equal(pipe(gate), 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        close(gate[1]);
        for (int fd = 3; fd < 256; fd++)
            if (fd != gate[0])
                close(fd);
        _exit(read(gate[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(gate[0]);
    fixture_close(store);
    int status = -1;
    struct store *again = NULL;
    int64_t deadline = clock_monotonic_ns() + 60 * NS_PER_S;
    while (!again && clock_monotonic_ns() < deadline) {
        again = store_open(run.dir, run.path, NULL);
        if (!again)
            usleep(20000); /* the child has not come to closing yet */
    }
    close(gate[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_non_null(again);
    fixture_close(again);
    run_remove(&run);
}

/* A runner that is killed between a fork and what the child closes first: the lock is in the
 * child's hands for a moment. */
static void the_last_moment_of_a_dead_runner_s_child_is_waited_for(void **state)
{
    (void)state;
    struct run run;
    int status = -1;
    run_make(&run);
    pid_t runner = fork();
    if (runner == 0) {
        fixture_create(&run);
        pid_t child = fork();
        if (child == 0)
            usleep(300000);
        _exit(child < 0 ? 1 : 0);
    }
    assert_int_equal(waitpid(runner, &status, 0), runner);
    assert_int_equal(status, 0);
    struct store *store = store_open(run.dir, run.path, NULL);
    assert_non_null(store);
    fixture_close(store);
    run_remove(&run);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_run_holds_plan_settings_and_registry),
        cmocka_unit_test(a_closed_run_has_no_wal),
        cmocka_unit_test(a_folder_that_is_not_empty_is_refused_and_left_alone),
        cmocka_unit_test(a_folder_without_a_run_is_refused),
        cmocka_unit_test(a_second_opener_is_refused_by_pid_and_host_of_the_first),
        cmocka_unit_test(links_in_place_of_the_runs_files_are_refused),
        cmocka_unit_test(a_run_in_a_folder_reached_through_a_link_opens),
        cmocka_unit_test(a_run_of_another_format_is_refused_and_left_as_it_is),
        cmocka_unit_test(an_event_that_does_not_fit_is_refused_and_nothing_is_written),
        cmocka_unit_test(the_view_follows_the_events_at_once_and_after_reopening),
        cmocka_unit_test(proven_means_that_nothing_survived),
        cmocka_unit_test(an_experiment_that_was_not_begun_stays_planned),
        cmocka_unit_test(an_interrupted_experiment_may_start_again),
        cmocka_unit_test(done_comes_from_dispatch_when_the_descriptor_is_readable),
        cmocka_unit_test(flush_also_waits_for_what_the_callbacks_add),
        cmocka_unit_test(the_events_data_is_copied),
        cmocka_unit_test(a_commit_that_waits_never_blocks_adding),
        cmocka_unit_test(a_forked_child_does_not_keep_the_lock_when_it_closes_its_files),
        cmocka_unit_test(the_last_moment_of_a_dead_runner_s_child_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
