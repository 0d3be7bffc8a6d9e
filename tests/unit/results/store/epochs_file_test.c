/* Marks in the journal, and the epochs that are made of them. */
#include "fixture.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static void begin(struct store *store, int64_t attempt, const char *started)
{
    add(store, EVENT_ATTEMPT_PREPARED, 1, attempt, NULL);
    add(store, EVENT_JOB_BORN, 1, attempt, "{'pid': 1}");
    add(store, EVENT_ATTEMPT_STARTED, 1, attempt, started);
}

static void end(struct store *store, int64_t attempt, const char *ended)
{
    add(store, EVENT_ATTEMPT_STOPPING, 1, attempt, "{'reason': 'exited'}");
    add(store, EVENT_JOB_PROVEN, 1, attempt, "{'survivors': []}");
    add(store, EVENT_ATTEMPT_ENDED, 1, attempt, ended);
}

static void mark(struct store *store, int64_t attempt, const char *name, const char *label,
                 const char *at, int64_t t_ns, const char *source)
{
    AUTO_FREE char *text = mem_printf(
        "{'name': '%s', 'label': %s%s%s, 'at': '%s', 't_ns': %lld, 'source': '%s'}", name,
        label ? "'" : "", label ? label : "null", label ? "'" : "", at, (long long)t_ns, source);
    add(store, EVENT_MARK, 1, attempt, text);
}

static json_t *epochs_of(const struct run *run)
{
    AUTO_FREE char *text = run_read(run, "demo_net_001/experiment.json");
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    json_t *epochs = json_incref(json_object_get(json_object_get(json, "tare"), "epochs"));
    json_decref(json);
    return epochs;
}

static void assert_epochs(const struct run *run, const char *expected)
{
    json_t *epochs = epochs_of(run);
    assert_json(epochs, expected);
    json_decref(epochs);
}

static void assert_file(const struct run *run, const char *name, const char *expected)
{
    AUTO_FREE char *text = run_read(run, name);
    assert_string_equal(text, expected);
}

#define HEADER                                                                                   \
    "name,part,label,start_s,end_s,duration_s,source,gpu_energy_j,gpu_half_width_j,gpu_power_w," \
    "gpu_mem_peak_mib,"                                                                          \
    "cpu_energy_j,cpu_half_width_j,dram_energy_j,dram_half_width_j,host_mem_peak_mib\n"
/* Nothing was measured. */
#define NO_ENERGY                                                                               \
    "'gpu_energy_j': null, 'gpu_half_width_j': null, 'gpu_power_w': null, 'gpu_mem_peak_mib': " \
    "null,"                                                                                     \
    " 'cpu_energy_j': null, 'cpu_half_width_j': null, 'dram_energy_j': null, "                  \
    "'dram_half_width_j': null,"                                                                \
    " 'host_mem_peak_mib': null"

/* The attempt goes from 5 s to 15 s of the monotonic clock. */
static void marks_cut_the_last_attempt_into_epochs(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    add(store, EVENT_SESSION_STARTED, 0, 0, NULL);
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, NULL);
    begin(store, 1, "{'start_ns': 5000000000}");
    mark(store, 1, "epoch", "1", "start", 7000000000, "log");
    mark(store, 1, "note", "a, \\\"b\\\"", "end", 9500000000, "fifo");
    mark(store, 1, "epoch", "2", "start", 11000000001, "log");
    end(store, 1,
        "{'outcome': 'succeeded', 'duration_s': 10.0, 'end_ns': 15000000000,"
        " 'marks': {'taken': 3, 'repeated': 4, 'limited': 5, 'refused': 6}}");
    add(store, EVENT_EXPERIMENT_ENDED, 1, 0, "{'outcome': 'succeeded'}");
    store_write_results(store, 1, NULL, NULL);
    fixture_close(store);
    assert_file(&run, "demo_net_001/energy/marks.csv",
                HEADER
                "epoch,startup,,0.000000000,2.000000000,2.000000000,,,,,,,,,,\n"
                "epoch,epoch,1,2.000000000,6.000000001,4.000000001,log,,,,,,,,,\n"
                "epoch,epoch,2,6.000000001,10.000000000,3.999999999,log,,,,,,,,,\n"
                "note,epoch,\"a, \"\"b\"\"\",0.000000000,4.500000000,4.500000000,fifo,,,,,,,,,\n"
                "note,final,,4.500000000,10.000000000,5.500000000,,,,,,,,,,\n");
    json_t *epochs = epochs_of(&run);
    assert_int_equal(json_array_size(epochs), 5);
    assert_json(json_array_get(epochs, 0), "{'name': 'epoch', 'part': 'startup', 'label': null, "
                                           "'start_s': 0.0, 'end_s': 2.0, 'duration_s': 2.0,"
                                           " 'source': null, " NO_ENERGY "}");
    assert_json(
        json_array_get(epochs, 2),
        "{'name': 'epoch', 'part': 'epoch', 'label': '2', 'start_s': 6.000000001, 'end_s': 10.0,"
        " 'duration_s': 3.999999999, 'source': 'log', " NO_ENERGY "}");
    json_decref(epochs);
    assert_answer(&run,
                  "SELECT group_concat(number || name || coalesce(label, '-') || at || t_ns || "
                  "source, ' ') FROM"
                  " (SELECT * FROM marks WHERE name='epoch' ORDER BY number)",
                  "1epoch1start7000000000log 3epoch2start11000000001log");
    assert_answer(
        &run,
        "SELECT job_start_ns || ' ' || job_end_ns || ' ' || marks_taken || marks_repeated ||"
        " marks_limited || marks_refused FROM attempts",
        "5000000000 15000000000 3456");
    run_remove(&run);
}

static void attempts_that_were_tried_again_keep_their_own(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    add(store, EVENT_SESSION_STARTED, 0, 0, NULL);
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, NULL);
    begin(store, 1, "{'start_ns': 1000000000}");
    mark(store, 1, "epoch", "1", "end", 3000000000, "log");
    end(store, 1, "{'outcome': 'failed', 'end_ns': 4000000000}");
    begin(store, 2, "{'start_ns': 9000000000}"); /* no mark came */
    end(store, 2, "{'outcome': 'failed', 'end_ns': 9500000000}");
    begin(store, 3, "{'start_ns': 20000000000}");
    mark(store, 3, "epoch", NULL, "start", 20000000000, "fifo");
    end(store, 3, "{'outcome': 'succeeded', 'end_ns': 21000000000}");
    add(store, EVENT_EXPERIMENT_ENDED, 1, 0, "{'outcome': 'succeeded'}");
    store_write_results(store, 1, NULL, NULL);
    fixture_close(store);
    assert_file(&run, "demo_net_001/attempt_1/energy/marks.csv",
                HEADER "epoch,epoch,1,0.000000000,2.000000000,2.000000000,log,,,,,,,,,\n"
                       "epoch,final,,2.000000000,3.000000000,1.000000000,,,,,,,,,,\n");
    assert_false(run_has(&run, "demo_net_001/attempt_2"));
    assert_file(&run, "demo_net_001/energy/marks.csv",
                HEADER "epoch,epoch,,0.000000000,1.000000000,1.000000000,fifo,,,,,,,,,\n");
    assert_epochs(&run,
                  "[{'name': 'epoch', 'part': 'epoch', 'label': null, 'start_s': 0.0, 'end_s': 1.0,"
                  " 'duration_s': 1.0, 'source': 'fifo', " NO_ENERGY "}]");
    run_remove(&run);
}

static void an_attempt_whose_session_died_has_an_open_end(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    add(store, EVENT_SESSION_STARTED, 0, 0, NULL);
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, NULL);
    begin(store, 1, "{'start_ns': 1000000000}");
    mark(store, 1, "epoch", "1", "start", 1500000000, "fifo");
    fixture_close(store);
    store = fixture_open(&run);
    add_as(store, 2, EVENT_SESSION_STARTED, 0, 0, 1, NULL, NULL, NULL);
    add_as(store, 2, EVENT_JOB_PROVEN, 1, 1, 1, "{'survivors': []}", NULL, NULL);
    add_as(store, 2, EVENT_ATTEMPT_ENDED, 1, 1, 1, "{'outcome': 'interrupted', 'end_ns': null}",
           NULL, NULL);
    store_write_results(store, 1, NULL, NULL);
    fixture_close(store);
    assert_file(&run, "demo_net_001/energy/marks.csv",
                HEADER "epoch,startup,,0.000000000,0.500000000,0.500000000,,,,,,,,,,\n"
                       "epoch,epoch,1,0.500000000,,,fifo,,,,,,,,,\n");
    json_t *epochs = epochs_of(&run);
    assert_json(json_array_get(epochs, 1), "{'name': 'epoch', 'part': 'epoch', 'label': '1', "
                                           "'start_s': 0.5, 'end_s': null, 'duration_s': null,"
                                           " 'source': 'fifo', " NO_ENERGY "}");
    json_decref(epochs);
    run_remove(&run);
}

static void without_marks_there_is_no_file(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    add(store, EVENT_SESSION_STARTED, 0, 0, NULL);
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, NULL);
    begin(store, 1, "{'start_ns': 1}");
    end(store, 1, "{'outcome': 'succeeded', 'end_ns': 2}");
    add(store, EVENT_EXPERIMENT_ENDED, 1, 0, "{'outcome': 'succeeded'}");
    store_write_results(store, 1, NULL, NULL);
    fixture_close(store);
    assert_false(run_has(&run, "demo_net_001/energy"));
    assert_epochs(&run, "[]");
    run_remove(&run);
}

static void a_mark_of_another_attempt_is_refused(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    struct store *store = fixture_create(&run);
    add(store, EVENT_SESSION_STARTED, 0, 0, NULL);
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, NULL);
    begin(store, 1, "{'start_ns': 1}");
    struct outcome_seen seen = {0};
    add_as(store, 1, EVENT_MARK, 1, 2, 1,
           "{'name': 'e', 'at': 'start', 't_ns': 1, 'source': 'log'}", outcome_done, &seen);
    assert_false(store_flush(store, NULL));
    assert_false(seen.ok);
    assert_non_null(strstr(seen.err.text, "mark: attempt 2 of experiment 1, expected 1"));
    fixture_close(store);
    run_remove(&run);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_cut_the_last_attempt_into_epochs),
        cmocka_unit_test(attempts_that_were_tried_again_keep_their_own),
        cmocka_unit_test(an_attempt_whose_session_died_has_an_open_end),
        cmocka_unit_test(without_marks_there_is_no_file),
        cmocka_unit_test(a_mark_of_another_attempt_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
