/* A run under way as whoever watches it reads it, and what a watcher asks of the runner. */
#include "fixture.h"

#include "results/store/live.h"

#include "base/json.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static void put(const struct run *run, const char *name, const char *bytes)
{
    char path[512];
    run_path(run, name, path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(bytes, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void append(const struct run *run, const char *bytes)
{
    char path[512];
    run_path(run, "events.jsonl", path);
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    assert_true(fputs(bytes, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static struct store *begin(struct run *run)
{
    run_make(run);
    struct store *store = fixture_create(run);
    add(store, EVENT_SESSION_STARTED, 0, 0, "{'pid': 1}");
    assert_true(store_flush(store, NULL));
    return store;
}

static void open_run(const struct run *run, struct live_run *live)
{
    struct err err = {0};
    if (!live_run_open(run->path, live, &err))
        fail_msg("%s", err.text);
}

static bool updated(struct live_run *live)
{
    struct err err = {0};
    bool changed = false;
    if (!live_run_update(live, &changed, &err))
        fail_msg("%s", err.text);
    return changed;
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

static const char slots_text[] =
    "{\"format\": 1, \"written_ns\": 5000000000, \"paused\": true, \"slots\": [{\"gpus\": "
    "[\"GPU 0\"], \"phase\": \"running\", \"experiment\": 3,"
    " \"attempt\": 1, \"started_ns\": 4000000000, \"power_w\": 301.5, \"points\": "
    "{\"power_w\": [[1, 2]], \"metrics\": {}}},"
    " {\"gpus\": 7, \"phase\": 5, \"experiment\": 4000000000, \"power_w\": \"x\"}]}";

static void readings_of_slots_are_those_of_live_json_and_absent_is_not_zero(void **state)
{
    (void)state;
    struct run run;
    struct live_run live;
    struct store *store = begin(&run);
    put(&run, LIVE_FILE, slots_text);
    open_run(&run, &live);
    assert_int_equal(live.slot_count, 2);
    assert_true(live.paused);
    assert_int_equal(live.live_ns, 5000000000);
    assert_int_equal(live.slots[0].experiment, 3);
    assert_int_equal(live.experiments[2].slot, 1);
    assert_true(live.slots[0].power_w.valid && live.slots[0].power_w.value == 301.5);
    assert_false(live.slots[0].temperature_c.valid);
    assert_int_equal(live.slots[1].experiment, 0); /* the plan has no such one */
    assert_false(live.slots[1].power_w.valid);
    json_t *json = live_run_json(&live, 0);
    assert_true(json_is_null(
        json_object_get(json_array_get(json_object_get(json, "slots"), 0), "temperature_c")));
    assert_int_equal(json_array_size(json_object_get(json, "experiments")), 3);
    json_decref(json);
    json = live_run_json(&live, live.version);
    assert_int_equal(json_array_size(json_object_get(json, "experiments")), 0);
    json_decref(json);
    char path[512];
    run_path(&run, LIVE_FILE, path);
    assert_int_equal(unlink(path), 0);
    assert_true(updated(&live));
    assert_int_equal(live.slot_count, 0);
    assert_int_equal(live.experiments[2].slot, 0);
    live_run_close(&live);
    fixture_close(store);
    run_remove(&run);
}

static void a_request_is_taken_once(void **state)
{
    (void)state;
    struct run run;
    struct live_run live;
    struct err err = {0};
    enum live_request request = LIVE_REQUESTS;
    size_t experiment = 7;
    struct store *store = begin(&run);
    open_run(&run, &live);
    assert_int_equal(live_take_request(run.dir, &request, &experiment, &err), 0);
    assert_true(live_ask(&live, LIVE_PAUSE, 0, &err));
    assert_false(live_ask(&live, LIVE_STOP, 0, &err)); /* the one before waits */
    assert_non_null(strstr(err.text, "not been taken yet"));
    assert_int_equal(live_take_request(run.dir, &request, &experiment, &err), 1);
    assert_int_equal(request, LIVE_PAUSE);
    assert_int_equal(live_take_request(run.dir, &request, &experiment, &err), 0);
    assert_false(live_ask(&live, LIVE_SKIP, 1, &err)); /* it has not begun */
    assert_non_null(strstr(err.text, "experiment 1 is not under way"));
    fixture_close(store);
    updated(&live);
    assert_false(live_ask(&live, LIVE_STOP, 0, &err));
    assert_non_null(strstr(err.text, "not under way"));
    live_run_close(&live);
    run_remove(&run);
}

static void what_is_no_request_is_removed_and_links_are_not_followed(void **state)
{
    (void)state;
    struct run run;
    struct err err = {0};
    enum live_request request;
    size_t experiment;
    static const char *const bad[] = {"", "{}", "{\"request\": \"dance\"}",
                                      "{\"request\": \"skip\", \"experiment\": -1}", "[]"};
    struct store *store = begin(&run);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put(&run, LIVE_CONTROL_FILE, bad[i]);
        assert_int_equal(live_take_request(run.dir, &request, &experiment, &err), -1);
        assert_false(run_has(&run, LIVE_CONTROL_FILE));
    }
    put(&run, "elsewhere", "{\"request\": \"stop\"}");
    assert_int_equal(symlinkat("elsewhere", run.dir, LIVE_CONTROL_FILE), 0);
    assert_int_equal(live_take_request(run.dir, &request, &experiment, &err), -1);
    assert_true(run_has(&run, "elsewhere"));
    if (geteuid() == 0) {
        char path[512];
        put(&run, LIVE_CONTROL_FILE, "{\"request\": \"stop\"}");
        run_path(&run, LIVE_CONTROL_FILE, path);
        assert_int_equal(chown(path, 12345, 12345), 0);
        assert_int_equal(live_take_request(run.dir, &request, &experiment, &err), -1);
        assert_non_null(strstr(err.text, "another user"));
    }
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
        cmocka_unit_test(readings_of_slots_are_those_of_live_json_and_absent_is_not_zero),
        cmocka_unit_test(a_request_is_taken_once),
        cmocka_unit_test(what_is_no_request_is_removed_and_links_are_not_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
