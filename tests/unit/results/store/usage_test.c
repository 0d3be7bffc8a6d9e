/* How the lanes spent a run's time, by events at times that are chosen here: every figure below is
 * added up by hand. */
#include "fixture.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static struct store *store;

/* At so many seconds behind START_NS; the monotonic clock of session n began n thousand seconds
 * before. data: ' for ". */
static void tell(int64_t session, enum event_type type, int64_t experiment, double at_s,
                 const char *data)
{
    char *text = mem_strdup(data ? data : "{}");
    for (char *c = text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    int64_t at_ns = (int64_t)(at_s * 1e9);
    struct event event = {.type = type,
                          .monotonic_ns = session * 1000 * NS_PER_S + at_ns,
                          .realtime_ns = START_NS + at_ns,
                          .session = session,
                          .experiment = experiment,
                          .attempt = experiment && type != EVENT_EXPERIMENT_STARTED &&
                                     type != EVENT_EXPERIMENT_ENDED,
                          .data = json_loads(text, 0, NULL)};
    assert_non_null(event.data);
    store_add(store, &event, NULL, NULL);
    json_decref(event.data);
    free(text);
}

static void tell_session(int64_t session, double at_s, const char *host)
{
    AUTO_FREE char *data =
        mem_printf("{'pid': 1, 'host': '%s', 'boot_id': 'b', 'version': '1'}", host);
    tell(session, EVENT_SESSION_STARTED, 0, at_s, data);
}

struct
try {
    double prepared_s, start_s, end_s, ended_s;
    const char *label, *uuid;
    double joules;
    int pid;
};

static void tell_try(int64_t session, int64_t experiment, struct try it)
{
    int64_t zero_ns = session * 1000 * NS_PER_S;
    AUTO_FREE char *born = mem_printf("{'role': 'foreground', 'pid': %d, 'start_time': 9}", it.pid);
    AUTO_FREE char *began =
        mem_printf("{'start_ns': %lld}", (long long)(zero_ns + (int64_t)(it.start_s * 1e9)));
    AUTO_FREE char *ended =
        mem_printf("{'outcome': 'succeeded', 'duration_s': %g, 'end_ns': %lld, 'energy': {'gpu': "
                   "{'joules': %g}, 'devices':"
                   " [{'device': '%s', 'uuid': '%s', 'scope': 'GPU board', 'joules': %g}]}}",
                   it.end_s - it.start_s, (long long)(zero_ns + (int64_t)(it.end_s * 1e9)),
                   it.joules, it.label, it.uuid, it.joules);
    tell(session, EVENT_ATTEMPT_PREPARED, experiment, it.prepared_s, "{'folder': 'f'}");
    tell(session, EVENT_JOB_BORN, experiment, it.prepared_s, born);
    tell(session, EVENT_ATTEMPT_STARTED, experiment, it.start_s + 0.25, began);
    tell(session, EVENT_ATTEMPT_STOPPING, experiment, it.end_s, "{'reason': 'exited'}");
    tell(session, EVENT_JOB_EXITED, experiment, it.end_s, "{'role': 'foreground', 'exit_code': 0}");
    tell(session, EVENT_JOB_PROVEN, experiment, it.end_s,
         "{'role': 'foreground', 'leftovers': [], 'survivors': []}");
    tell(session, EVENT_ATTEMPT_ENDED, experiment, it.ended_s, ended);
}

static void tell_end(int64_t session, int64_t experiment, double at_s)
{
    tell(session, EVENT_EXPERIMENT_ENDED, experiment, at_s,
         "{'outcome': 'succeeded', 'duration_s': 1, 'metrics': {}}");
}

/* What the run's page is told; the caller frees. */
static json_t *finish(struct run *run)
{
    struct err err = {0};
    json_t *page = results_json_from_store(store, &err);
    if (!page)
        fail_msg("%s", err.text);
    json_t *usage = json_incref(json_object_get(page, "lanes"));
    json_decref(page);
    fixture_close(store);
    run_remove(run);
    return usage;
}

static void assert_number(const json_t *json, const char *key, double expected)
{
    double got = -1;
    json_get_number(json, key, &got);
    if (got < expected - 1e-6 || got > expected + 1e-6)
        fail_msg("%s is %.9g, not %.9g", key, got, expected);
}

static void assert_times(const json_t *lane, double busy, double overhead, double waiting,
                         double nothing)
{
    assert_number(lane, "busy_s", busy);
    assert_number(lane, "overhead_s", overhead);
    assert_number(lane, "waiting_s", waiting);
    assert_number(lane, "nothing_s", nothing);
}

static const json_t *lane_at(const json_t *usage, size_t at)
{
    return json_array_get(json_object_get(usage, "lanes"), at);
}

/* Two lanes for 100 s: what they did is drawn in the comments, in seconds. */
static void play_two_lanes(void)
{
    static const char first[] = "{'id': 'x', 'lane': 1, 'gpus': ['GPU 0']}";
    static const char second[] = "{'id': 'x', 'lane': 2, 'gpus': ['GPU 1']}";
    tell_session(1, 0, "n1");
    /* Lane 1: 0-1 starts, 1-4 its GPU is not free, 4-6 idle draw and job, 6-30 trains, 30-32 proof,
     * 32-42 cools. */
    tell(1, EVENT_EXPERIMENT_STARTED, 1, 1, first);
    tell(1, EVENT_GUARD, 1, 5,
         "{'phase': 'preflight', 'waited_s': 3.0, 'devices': [{'device': 'GPU 0', 'idle': "
         "{'seconds': 1.0}}]}");
    tell_try(1, 1, (struct try){5, 6, 30, 31, "GPU 0", "GPU-a", 120.5, 4711});
    tell_end(1, 1, 32);
    tell(1, EVENT_PAUSE, 0, 32,
         "{'seconds': 10, 'why': 'between_runs', 'lane': 1, 'gpus': ['GPU 0']}");
    /* Lane 2: 0-1 starts, 1-21 waits for the other, 21-22 looks, 22-72 trains, 72-75 proof, then
     * nothing. */
    tell(1, EVENT_EXPERIMENT_STARTED, 2, 21, second);
    tell_try(1, 2, (struct try){21, 22, 72, 73, "GPU 1", "GPU-b", 400, 4800});
    /* Lane 1: 42-44 looks, 44-50 trains, 50-52 proof, then nothing. */
    tell(1, EVENT_EXPERIMENT_STARTED, 3, 42, first);
    tell_try(1, 3, (struct try){42, 44, 50, 51, "GPU 0", "GPU-a", 30, 4900});
    tell_end(1, 3, 52);
    tell_end(1, 2, 75);
}

static void each_second_of_a_lane_is_counted_once(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    store = fixture_create(&run);
    play_two_lanes();
    tell(1, EVENT_EVIDENCE, 1, 75, "{'kind': 'foreign_process', 'text': 'x'}");
    tell(1, EVENT_EVIDENCE, 2, 75, "{'kind': 'sampling_gap', 'text': 'x'}");
    tell(1, EVENT_SESSION_ENDED, 0, 100,
         "{'outcome': 'finished', 'pool': {'seconds': 100, 'lanes': [{'lane': 1, 'gpus': ['GPU "
         "0'], 'lost': null},"
         " {'lane': 2, 'gpus': ['GPU 1'], 'lost': 'GPU 1 is lost'}, {'lane': 3, 'gpus': ['GPU 2'], "
         "'lost': null}]}}");
    json_t *usage = finish(&run);
    assert_int_equal(json_array_size(json_object_get(usage, "lanes")), 3);
    assert_number(usage, "seconds", 100);
    assert_times(lane_at(usage, 0), 24 + 6, 1 + 2 + 2 + 10 + 2 + 2, 3, 100 - 52);
    assert_times(lane_at(usage, 1), 50, 1 + 1 + 3, 20, 100 - 75);
    assert_times(lane_at(usage, 2), 0, 0, 0, 100);
    assert_number(lane_at(usage, 0), "utilisation", 0.30);
    assert_number(lane_at(usage, 1), "gpu_energy_j", 400);
    assert_number(lane_at(usage, 0), "gpu_energy_j", 150.5);
    assert_number(lane_at(usage, 0), "contaminated", 1);
    assert_number(lane_at(usage, 0), "clean", 1);
    assert_number(lane_at(usage, 1), "suspect", 1);
    assert_string_equal(json_get_text(lane_at(usage, 1), "lost"), "GPU 1 is lost");
    assert_null(json_get_text(lane_at(usage, 0), "lost"));
    assert_string_equal(json_get_text(lane_at(usage, 2), "name"), "GPU 2");
    const json_t *total = json_object_get(usage, "total");
    assert_times(total, 80, 24, 23, 300 - 127);
    assert_number(total, "utilisation", 80.0 / 300);
    assert_number(total, "experiments", 3);
    assert_number(total, "gpu_energy_j", 550.5);
    json_decref(usage);
}

static void tasks_on_several_nodes_are_lanes_by_node_and_uuid(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    store = fixture_create(&run);
    /* Each task sees its GPU as the first. 0-40 on n1, 20-60 on n2, and 100-130 on another GPU of
     * n1. */
    tell_session(1, 0, "n1");
    tell(1, EVENT_EXPERIMENT_STARTED, 1, 0, NULL);
    tell_try(1, 1, (struct try){1, 5, 35, 36, "GPU 0", "GPU-aaaaaaaa-1", 1, 7});
    tell_end(1, 1, 37);
    tell(1, EVENT_SESSION_ENDED, 0, 40, "{'outcome': 'finished'}");
    tell_session(2, 20, "n2");
    tell(2, EVENT_EXPERIMENT_STARTED, 2, 20, NULL);
    tell_try(2, 2, (struct try){21, 25, 45, 46, "GPU 0", "GPU-bbbbbbbb-1", 2, 7});
    tell_end(2, 2, 47);
    tell(2, EVENT_SESSION_ENDED, 0, 60, "{'outcome': 'finished'}");
    tell_session(3, 100, "n1");
    tell(3, EVENT_EXPERIMENT_STARTED, 3, 100, NULL);
    tell_try(3, 3, (struct try){101, 110, 125, 126, "GPU 0", "GPU-cccccccc-1", 4, 7});
    /* It died: the last that was heard of it was at 130. */
    tell(3, EVENT_EVIDENCE, 3, 130, "{'kind': 'cpu_shared', 'text': 'others used 9 %'}");
    json_t *usage = finish(&run);
    assert_int_equal(json_array_size(json_object_get(usage, "lanes")), 3);
    assert_number(usage, "seconds", 60 + 30);
    assert_string_equal(json_get_text(lane_at(usage, 0), "name"), "GPU 0 (GPU-aaaaaaaa)");
    assert_string_equal(json_get_text(lane_at(usage, 1), "name"), "GPU 0 (GPU-cccccccc)");
    assert_string_equal(json_get_text(lane_at(usage, 2), "name"), "GPU 0");
    assert_string_equal(json_get_text(lane_at(usage, 2), "node"), "n2");
    assert_times(lane_at(usage, 0), 30, 5 + 2, 0, 90 - 37);
    assert_times(lane_at(usage, 1), 15, 10 + 5, 0, 90 - 30);
    assert_times(lane_at(usage, 2), 20, 5 + 2, 0, 90 - 27);
    /* Only what has ended is a result. */
    assert_number(json_object_get(usage, "total"), "experiments", 2);
    assert_number(json_object_get(usage, "total"), "gpu_energy_j", 3);
    json_decref(usage);
}

static void of_one_lane_nothing_is_told(void **state)
{
    (void)state;
    struct run run;
    run_make(&run);
    store = fixture_create(&run);
    tell_session(1, 0, "n1");
    tell(1, EVENT_EXPERIMENT_STARTED, 1, 0, NULL);
    tell_try(1, 1, (struct try){1, 5, 35, 36, "GPU 0", "GPU-a", 1, 7});
    tell_end(1, 1, 37);
    /* A resume on the same GPU, a week later. */
    tell_session(2, 600000, "n1");
    tell(2, EVENT_EXPERIMENT_STARTED, 2, 600001, NULL);
    tell_try(2, 2, (struct try){600002, 600005, 600035, 600036, "GPU 0", "GPU-a", 1, 7});
    json_t *usage = finish(&run);
    assert_true(json_is_null(usage));
    json_decref(usage);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_second_of_a_lane_is_counted_once),
        cmocka_unit_test(tasks_on_several_nodes_are_lanes_by_node_and_uuid),
        cmocka_unit_test(of_one_lane_nothing_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
