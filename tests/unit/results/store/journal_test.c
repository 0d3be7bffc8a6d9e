/* The tables of run.db: the same facts as the events, by name. */
#include "fixture.h"
#include "results/store/results.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static void a_retried_experiment_stands_in_every_table(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    add(store, EVENT_SESSION_STARTED, 0, 0,
        "{'pid': 77, 'start_time': 5, 'host': 'h', 'boot_id': 'b', 'version': '0.1', "
        "'containment': 'pidns, sweep',"
        " 'kernel_backed': true, 'resumed': false}");
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, "{'id': 'demo_net_001'}");
    play_attempt(store, 1, 1, false);
    add(store, EVENT_RETRY_PAUSE, 1, 1, "{'seconds': 30}");
    play_attempt(store, 1, 2, true);
    add(store, EVENT_EXPERIMENT_ENDED, 1, 0,
        "{'outcome': 'succeeded', 'retries': 1, 'duration_s': 1.0, 'metrics': {'accuracy': 97.5, "
        "'loss': null}}");
    add(store, EVENT_PAUSE, 0, 0, "{'seconds': 60, 'why': 'between_runs'}");
    add(store, EVENT_SESSION_ENDED, 0, 0, "{'outcome': 'finished'}");
    fixture_close(store);

    assert_answer(&run,
                  "SELECT pid || ' ' || start_time || ' ' || host || ' ' || boot_id || ' ' || "
                  "version || ' ' || containment"
                  " || ' ' || kernel_backed || ' ' || resumed || ' ' || outcome || ' ' || "
                  "coalesce(error, '-')"
                  " FROM sessions",
                  "77 5 h b 0.1 pidns, sweep 1 0 finished -");
    assert_answer(
        &run,
        "SELECT state || ' ' || outcome || ' ' || attempts || ' ' || retries || ' ' || duration_s "
        "|| ' ' ||"
        " coalesce(error, '-') || ' ' || ended_realtime_ns FROM experiments WHERE number=1",
        "done succeeded 2 1 1.0 - 1763222059379192000");
    assert_answer(
        &run, "SELECT state || coalesce(outcome, '-') || attempts FROM experiments WHERE number=2",
        "planned-0");
    assert_answer(&run,
                  "SELECT outcome || ' ' || stop_reason || ' ' || duration_s || ' ' || exit_code "
                  "|| ' ' || error || ' ' ||"
                  " log_bytes || ' ' || log_lines || ' ' || session FROM attempts WHERE number=1",
                  "failed exited 2.5 1 exit code 1 10 1 1");
    assert_answer(
        &run, "SELECT outcome || ' ' || folder || ' ' || exit_code FROM attempts WHERE number=2",
        "succeeded f 0");
    assert_answer(&run,
                  "SELECT role || ' ' || number || ' ' || pid || ' ' || start_time || ' ' || "
                  "boot_id || ' ' || cgroup ||"
                  " ' ' || tag || ' ' || layers || ' ' || exit_code || ' ' || cpu_s || ' ' || "
                  "peak_memory_bytes || ' ' ||"
                  " processes || ' ' || leftovers || ' ' || survivors || ' ' || proof_s FROM jobs "
                  "WHERE attempt=2",
                  "foreground 1 4711 99 b-1 /cg/x t-1 [\"pidns\",\"sweep\"] 0 0.25 4096 2"
                  " [{\"pid\":5000,\"command\":\"worker\"}] [] 0.01");
    assert_answer(
        &run, "SELECT peak_memory_bytes IS NULL AND processes IS NULL FROM jobs WHERE attempt=1",
        "1");
    assert_answer(&run,
                  "SELECT group_concat(attempt || name || coalesce(value, 'null'), ' ') FROM"
                  " (SELECT * FROM attempt_metrics ORDER BY attempt, name)",
                  "2accuracy97.5 2lossnull");
    assert_answer(&run, "SELECT value FROM experiment_metrics WHERE name='accuracy'", "97.5");
    /* session + started + 7 + retry pause + 7 + ended + pause + session end */
    assert_answer(&run, "SELECT count(*) || ' ' || min(seq) || ' ' || max(seq) FROM events",
                  "20 1 20");
    assert_answer(&run, "SELECT data FROM events WHERE type='pause'",
                  "{\"seconds\":60,\"why\":\"between_runs\"}");
    assert_answer(&run, "SELECT count(*) FROM events WHERE experiment IS NULL AND attempt IS NULL",
                  "3");
    assert_answer(&run, "SELECT count(*) FROM pragma_foreign_key_check", "0");
    assert_answer(&run, "PRAGMA integrity_check", "ok");
    run_remove(&run);
}

static void doubles_stay_exactly_what_they_were(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    add(store, EVENT_SESSION_STARTED, 0, 0, NULL);
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, NULL);
    add(store, EVENT_ATTEMPT_PREPARED, 1, 1, NULL);
    add(store, EVENT_ATTEMPT_ENDED, 1, 1,
        "{'outcome': 'failed', 'metrics': {'loss': 0.1}, 'duration_s': 1e-7}");
    add(store, EVENT_EXPERIMENT_ENDED, 1, 0,
        "{'outcome': 'failed', 'duration_s': 8.728668451309204, 'metrics': {'loss': 0.1, "
        "'accuracy': 5e-324}}");
    fixture_close(store);
    struct results results;
    assert_true(results_read(run.path, &results, NULL));
    assert_true(results.items[0].duration_s == 8.728668451309204);
    assert_true(results.items[0].metrics[0].value == 0.1);
    assert_true(results.items[0].metrics[1].value == 5e-324);
    results_fini(&results);
    run_remove(&run);
}

static void a_background_job_that_starts_again_is_a_row_of_its_own(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    add(store, EVENT_SESSION_STARTED, 0, 0, NULL);
    add(store, EVENT_EXPERIMENT_STARTED, 3, 0, NULL);
    add(store, EVENT_ATTEMPT_PREPARED, 3, 1, NULL);
    add(store, EVENT_JOB_BORN, 3, 1, "{'role': 'foreground', 'pid': 10}");
    add(store, EVENT_JOB_BORN, 3, 1, "{'role': 'background', 'pid': 11}");
    add(store, EVENT_ATTEMPT_STARTED, 3, 1, NULL);
    add(store, EVENT_JOB_EXITED, 3, 1, "{'role': 'background', 'exit_code': 3}");
    add(store, EVENT_JOB_BORN, 3, 1, "{'role': 'background', 'pid': 12}");
    add(store, EVENT_JOB_EXITED, 3, 1, "{'role': 'background', 'signal': 9}");
    assert_int_equal(store_experiment(store, 3)->last.job.pid, 10);
    fixture_close(store);
    assert_answer(&run,
                  "SELECT group_concat(role || number || ':' || pid || ':' || coalesce(exit_code, "
                  "'') || ':' ||"
                  " coalesce(signal, ''), ' ') FROM (SELECT * FROM jobs ORDER BY role, number)",
                  "background1:11:3: background2:12::9 foreground1:10::");
    run_remove(&run);
}

static void an_experiment_done_again_forgets_its_interrupted_end_but_not_its_attempts(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    add(store, EVENT_SESSION_STARTED, 0, 0, NULL);
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, NULL);
    play_attempt(store, 1, 1, false);
    add(store, EVENT_EXPERIMENT_ENDED, 1, 0,
        "{'outcome': 'interrupted', 'retries': 0, 'duration_s': 2.5, 'error': 'stopped', "
        "'metrics': {'loss': 1}}");
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, NULL);
    fixture_close(store);
    assert_answer(
        &run,
        "SELECT state || ' ' || (outcome IS NULL) || (duration_s IS NULL) || (error IS NULL) ||"
        " (ended_realtime_ns IS NULL) || ' ' || attempts FROM experiments WHERE number=1",
        "preparing 1111 1");
    assert_answer(&run, "SELECT count(*) FROM experiment_metrics", "0");
    assert_answer(&run, "SELECT outcome FROM attempts", "failed");
    run_remove(&run);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_retried_experiment_stands_in_every_table),
        cmocka_unit_test(doubles_stay_exactly_what_they_were),
        cmocka_unit_test(a_background_job_that_starts_again_is_a_row_of_its_own),
        cmocka_unit_test(an_experiment_done_again_forgets_its_interrupted_end_but_not_its_attempts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
