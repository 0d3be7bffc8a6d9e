/* What the guard wrote into the journal, in experiment.json. */
#include "fixture.h"

#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static void energy_net_of_the_bare_idle_comes_to_the_attempt_that_it_is_of(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    add(store, EVENT_SESSION_STARTED, 0, 0, NULL);
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, NULL);
    for (int64_t attempt = 1; attempt <= 2; attempt++) {
        add(store, EVENT_GUARD, 1, attempt,
            "{'phase': 'preflight', 'clear': true, 'text': 'for people'}");
        add(store, EVENT_ATTEMPT_PREPARED, 1, attempt, NULL);
        add(store, EVENT_JOB_BORN, 1, attempt, "{'pid': 1, 'layers': {}}");
        add(store, EVENT_ATTEMPT_STARTED, 1, attempt, "{'start_ns': 1}");
        add(store, EVENT_ATTEMPT_STOPPING, 1, attempt, "{'reason': 'exited'}");
        add(store, EVENT_JOB_PROVEN, 1, attempt, "{'leftovers': [], 'survivors': []}");
        add(store, EVENT_ATTEMPT_ENDED, 1, attempt,
            "{'outcome': 'failed', 'duration_s': 10, 'energy': {'gpu': {'joules': 5000, "
            "'net_of_bare_idle_j': null},"
            " 'devices': [{'device': 'GPU 0', 'joules': 3000, 'net_of_bare_idle_j': null},"
            " {'device': 'GPU 1', 'joules': 2000, 'net_of_bare_idle_j': null}]}}");
    }
    add(store, EVENT_GUARD, 1, 1,
        "{'phase': 'net', 'net_of_bare_idle_j': 3500.5, 'half_width_j': 5, 'devices': ["
        "{'device': 'GPU 1', 'net_of_bare_idle_j': 1250.5, 'half_width_j': 3},"
        "{'device': 'GPU 0', 'net_of_bare_idle_j': 2250, 'half_width_j': 4}]}");
    add(store, EVENT_EXPERIMENT_ENDED, 1, 0, "{'outcome': 'failed'}");
    store_write_results(store, 1, NULL, NULL);
    fixture_close(store);
    char *text = run_read(&run, "demo_net_001/experiment.json");
    json_t *json = json_loads(text, 0, NULL), *tare = json_object_get(json, "tare");
    json_t *first = json_object_get(json_array_get(json_object_get(tare, "attempts"), 0), "energy");
    json_t *second =
        json_object_get(json_array_get(json_object_get(tare, "attempts"), 1), "energy");
    assert_json(first, "{'gpu': {'joules': 5000, 'net_of_bare_idle_j': 3500.5, 'net_half_width_j': "
                       "5, 'net_combined': 'independent'},"
                       " 'devices': [{'device': 'GPU 0', 'joules': 3000, 'net_of_bare_idle_j': "
                       "2250, 'net_half_width_j': 4, "
                       "'net_combined': 'independent'},"
                       " {'device': 'GPU 1', 'joules': 2000, 'net_of_bare_idle_j': 1250.5, "
                       "'net_half_width_j': 3, 'net_combined': "
                       "'independent'}]}");
    /* The last attempt, which the experiment's energy is of, has no baseline after it. */
    assert_true(
        json_is_null(json_object_get(json_object_get(second, "gpu"), "net_of_bare_idle_j")));
    char *summary = run_read(&run, "summary.csv");
    assert_non_null(strstr(summary,
                           ",energy_gpu_net_joules,energy_gpu_net_half_width_joules,utc_offset,"
                           "energy_gpu_half_width_joules,gpu_mem_peak_how,verdict_time,verdict_"
                           "energy,verdict_metric,checks,"
                           "gpu_mem_peak_of,gpu_mem_pair_peak_mib\n"));
    assert_non_null(strstr(summary, ",,,,,,,,not_recorded,,\n"));
    free(summary);
    assert_true(json_equal(second, json_object_get(tare, "energy")));
    json_t *guard = json_object_get(tare, "guard");
    assert_int_equal(json_array_size(guard), 3);
    assert_json(json_array_get(guard, 0), "{'attempt': 1, 'phase': 'preflight', 'clear': true}");
    assert_json(json_array_get(guard, 1), "{'attempt': 2, 'phase': 'preflight', 'clear': true}");
    assert_string_equal(json_get_text(json_array_get(guard, 2), "phase"), "net");
    json_decref(json);
    free(text);
    run_remove(&run);
}

static void the_summarys_net_energy_comes_when_the_idle_draw_after_it_is_known(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    add(store, EVENT_SESSION_STARTED, 0, 0, NULL);
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, NULL);
    add(store, EVENT_ATTEMPT_PREPARED, 1, 1, NULL);
    add(store, EVENT_JOB_BORN, 1, 1, "{'pid': 1, 'layers': {}}");
    add(store, EVENT_ATTEMPT_STARTED, 1, 1, "{'start_ns': 1}");
    add(store, EVENT_ATTEMPT_STOPPING, 1, 1, "{'reason': 'exited'}");
    add(store, EVENT_JOB_PROVEN, 1, 1, "{'leftovers': [], 'survivors': []}");
    add(store, EVENT_ATTEMPT_ENDED, 1, 1,
        "{'outcome': 'succeeded', 'duration_s': 10, 'energy': {'gpu': {'joules': 5000, "
        "'net_of_bare_idle_j': null},"
        " 'devices': []}}");
    add(store, EVENT_EXPERIMENT_ENDED, 1, 0, "{'outcome': 'succeeded'}");
    store_write_results(store, 1, NULL, NULL);
    assert_true(store_flush(store, NULL));
    char *before = run_read(&run, "summary.csv");
    assert_non_null(strstr(before, ",,,,,,not_recorded,,\n"));
    add(store, EVENT_GUARD, 1, 1,
        "{'phase': 'net', 'net_of_bare_idle_j': 4250.5, 'half_width_j': 2.5, 'devices': []}");
    store_write_results(store, 1, NULL, NULL);
    fixture_close(store);
    char *after = run_read(&run, "summary.csv");
    assert_non_null(strstr(after, ",5000"));
    assert_non_null(strstr(after, ",4250.5,2.5,,,,,,,not_recorded,,\n"));
    /* As the query of those who read run.db themselves. */
    assert_answer(&run, "SELECT json_extract(energy, '$.gpu.net_of_bare_idle_j') FROM attempts",
                  "4250.5");
    free(before);
    free(after);
    run_remove(&run);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_summarys_net_energy_comes_when_the_idle_draw_after_it_is_known),
        cmocka_unit_test(energy_net_of_the_bare_idle_comes_to_the_attempt_that_it_is_of),
    };
    return cmocka_run_group_tests_name("store guard", tests, NULL, NULL);
}
