/* A run under way as whoever watches it reads it, and what a watcher asks of the runner. */
#include "fixture.h"

#include "results/store/live.h"

#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "watched.h"

static void append(const struct run *run, const char *bytes)
{
    char path[512];
    run_path(run, "events.jsonl", path);
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    assert_true(fputs(bytes, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void what_happens_after_a_watcher_came_is_seen_as_it_happens(void **state)
{
    (void)state;
    struct run run;
    struct live_run live;
    struct store *store = begin(&run);
    open_run(&run, &live);
    assert_int_equal(live.state, LIVE_UNDER_WAY);
    assert_int_equal(live.plan.count, 3);
    assert_int_equal(live_run_counts(&live).planned, 3);
    assert_string_equal(live_verdict_text(&live.experiments[0]), "");
    assert_false(updated(&live));

    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, "{'id': 'demo_net_001'}");
    add(store, EVENT_ATTEMPT_PREPARED, 1, 1, "{'folder': 'demo_net_001'}");
    assert_true(store_flush(store, NULL));
    assert_true(updated(&live));
    assert_int_equal(live.experiments[0].state, STATE_PREPARING);
    assert_int_equal(live.experiments[0].attempts, 1);
    assert_int_equal(live_run_counts(&live).running, 1);
    /* and never "clean" */
    assert_string_equal(live_verdict_text(&live.experiments[0]), "no evidence");

    add(store, EVENT_EVIDENCE, 1, 1,
        "{'kind': 'foreign_process', 'text': 'process 7 was on the GPU'}");
    assert_true(store_flush(store, NULL));
    assert_true(updated(&live));
    assert_string_equal(live_verdict_text(&live.experiments[0]), "contaminated");
    assert_string_equal(live.experiments[0].evidence, "process 7 was on the GPU");
    live_run_close(&live);
    fixture_close(store);
    run_remove(&run);
}

static void evidence_from_before_a_watcher_came_is_not_forgotten(void **state)
{
    (void)state;
    struct run run;
    struct live_run live;
    struct store *store = begin(&run);
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, "{'id': 'demo_net_001'}");
    add(store, EVENT_ATTEMPT_PREPARED, 1, 1, "{'folder': 'demo_net_001'}");
    add(store, EVENT_EVIDENCE, 1, 1,
        "{'kind': 'foreign_process', 'text': 'process 7 was on the GPU'}");
    assert_true(store_flush(store, NULL));
    open_run(&run, &live);
    assert_string_equal(live_verdict_text(&live.experiments[0]), "contaminated");
    assert_int_equal(live.experiments[0].attempts, 1);
    live_run_close(&live);
    fixture_close(store);
    run_remove(&run);
}

static void a_run_that_ended_says_how(void **state)
{
    (void)state;
    struct run run;
    struct live_run live;
    struct store *store = begin(&run);
    open_run(&run, &live);
    assert_null(live.outcome);
    add(store, EVENT_EXPERIMENT_STARTED, 2, 0, "{'id': 'other_default_002'}");
    play_attempt(store, 2, 1, true);
    add(store, EVENT_EXPERIMENT_ENDED, 2, 0,
        "{'outcome': 'succeeded', 'retries': 0, 'duration_s': 1.0}");
    add(store, EVENT_SESSION_ENDED, 0, 0, "{'outcome': 'interrupted'}");
    fixture_close(store);
    assert_true(updated(&live));
    assert_int_equal(live.state, LIVE_ENDED);
    assert_string_equal(live.outcome, "interrupted");
    assert_int_equal(live.experiments[1].outcome, OUTCOME_SUCCEEDED);
    assert_int_equal(live_run_counts(&live).succeeded, 1);
    assert_int_equal(live_run_counts(&live).planned, 2);
    assert_false(updated(&live));
    live_run_close(&live);
    run_remove(&run);
}

/* With what its GPU used, and what its CPU did where that is known. */
static void measured_attempt(struct store *store, int64_t number, const char *energy)
{
    char data[512];
    snprintf(
        data, sizeof data,
        "{'outcome': 'failed', 'duration_s': 1.0, 'reason': 'exited', 'metrics': {}, 'energy': %s}",
        energy);
    add(store, EVENT_ATTEMPT_PREPARED, 1, number, "{'folder': 'demo_net_001'}");
    add(store, EVENT_ATTEMPT_ENDED, 1, number, data);
    assert_true(store_flush(store, NULL));
}

static void what_all_attempts_used_is_the_same_for_who_watched_and_who_came_later(void **state)
{
    (void)state;
    struct run run;
    struct live_run watched, later;
    struct store *store = begin(&run);
    open_run(&run, &watched);
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, "{'id': 'demo_net_001'}");
    measured_attempt(store, 1, "{'gpu': {'joules': 100.5}, 'cpu_package': {'joules': 8}}");
    assert_true(updated(&watched));
    assert_true(watched.experiments[0].used.gpu_j == 100.5 &&
                watched.experiments[0].used.cpu_j == 8);
    measured_attempt(store, 2,
                     "{'gpu': {'joules': 50}, 'cpu_package': {'joules': 90}, 'cpu_package_share': "
                     "{'attributed_mj': 2000}}");
    measured_attempt(store, 3, "null");
    assert_true(updated(&watched));
    open_run(&run, &later);
    const struct live_run *both[] = {&watched, &later};
    for (size_t i = 0; i < 2; i++) {
        const struct result_used *used = &both[i]->experiments[0].used;
        assert_true(used->gpu_j == 150.5 && used->cpu_j == 10);
        assert_int_equal(used->gpu_attempts, 2);
        assert_int_equal(used->cpu_attempts, 2);
        assert_int_equal(used->ended, 3);
        assert_int_equal(both[i]->experiments[0].attempts, 3);
        /* of the last one nothing is known */
        assert_false(both[i]->experiments[0].energy.gpu_j.valid);
    }
    live_run_close(&watched);
    live_run_close(&later);
    fixture_close(store);
    run_remove(&run);
}

static void a_run_whose_runner_is_gone_has_died(void **state)
{
    (void)state;
    struct run run;
    struct live_run live;
    fixture_close(begin(&run)); /* the lock is free, and no session_ended */
    open_run(&run, &live);
    assert_int_equal(live.state, LIVE_DIED);
    live_run_close(&live);
    run_remove(&run);
}

static void lines_that_are_no_events_are_counted_and_left_out(void **state)
{
    (void)state;
    struct run run;
    struct live_run live;
    struct store *store = begin(&run);
    open_run(&run, &live);
    append(&run, "nonsense\n{}\n[1]\n{\"type\":\"evidence\",\"realtime_ns\":1,\"monotonic_ns\":1,"
                 "\"session\":1,"
                 "\"experiment\":99999999,"
                 "\"attempt\":1,\"data\":{}}\n{\"type\": \"evid");
    updated(&live);
    assert_int_equal(live.skipped_lines, 3);
    assert_int_equal(live.experiments[0].state, STATE_PLANNED);
    live_run_close(&live);
    store_close(store, NULL);
    run_remove(&run);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_happens_after_a_watcher_came_is_seen_as_it_happens),
        cmocka_unit_test(evidence_from_before_a_watcher_came_is_not_forgotten),
        cmocka_unit_test(a_run_that_ended_says_how),
        cmocka_unit_test(what_all_attempts_used_is_the_same_for_who_watched_and_who_came_later),
        cmocka_unit_test(a_run_whose_runner_is_gone_has_died),
        cmocka_unit_test(lines_that_are_no_events_are_counted_and_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
