/* Events, outcomes and the table of states. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "plan/event.h"

#include <string.h>

static void every_type_reads_back_from_its_name(void **state)
{
    (void)state;
    for (unsigned i = 0; i < EVENT_TYPES; i++) {
        enum event_type type = EVENT_TYPES;
        assert_true(event_type_parse(event_type_name((enum event_type)i), &type));
        assert_int_equal(type, i);
    }
    enum event_type type;
    assert_false(event_type_parse("attempt_startet", &type));
    assert_false(event_type_parse("", &type));
    assert_string_equal(event_type_name(EVENT_ATTEMPT_STARTED), "attempt_started");
    assert_string_equal(event_type_name(EVENT_JOB_PROVEN), "job_proven");
}

static void every_outcome_reads_back_from_its_name(void **state)
{
    (void)state;
    static const char *const names[] = {"none", "succeeded", "failed", "interrupted"};
    for (unsigned i = 0; i < 4; i++) {
        enum outcome outcome;
        assert_string_equal(outcome_name((enum outcome)i), names[i]);
        assert_true(outcome_parse(names[i], &outcome));
        assert_int_equal(outcome, i);
    }
    enum outcome outcome;
    assert_false(outcome_parse("success", &outcome));
}

static void metrics_and_notes_are_told_but_not_journaled(void **state)
{
    (void)state;
    for (unsigned i = 0; i < EVENT_TYPES; i++)
        assert_int_equal(event_is_journaled((enum event_type)i),
                         i != EVENT_METRIC && i != EVENT_NOTE);
}

static enum experiment_state walk(enum experiment_state from, const enum event_type *events,
                                  size_t count)
{
    enum experiment_state at = from;
    for (size_t i = 0; i < count; i++)
        if (!state_next(at, events[i], &at))
            fail_msg("no arrow from %s by %s", state_name(at), event_type_name(events[i]));
    return at;
}

#define WALK(from, ...)                                \
    walk(from, (const enum event_type[]){__VA_ARGS__}, \
         sizeof((const enum event_type[]){__VA_ARGS__}) / sizeof(enum event_type))

static void an_experiment_goes_its_way_step_by_step(void **state)
{
    (void)state;
    static const struct {
        enum event_type event;
        const char *after;
    } steps[] = {
        {EVENT_EXPERIMENT_STARTED, "preparing"}, {EVENT_ATTEMPT_PREPARED, "preparing"},
        {EVENT_JOB_BORN, "preparing"},           {EVENT_ATTEMPT_STARTED, "running"},
        {EVENT_ATTEMPT_STOPPING, "stopping"},    {EVENT_JOB_EXITED, "stopping"},
        {EVENT_JOB_PROVEN, "verifying"},         {EVENT_ATTEMPT_ENDED, "verifying"},
        {EVENT_RETRY_PAUSE, "verifying"},        {EVENT_ATTEMPT_PREPARED, "preparing"},
        {EVENT_JOB_BORN, "preparing"},           {EVENT_ATTEMPT_STARTED, "running"},
        {EVENT_ATTEMPT_STOPPING, "stopping"},    {EVENT_JOB_EXITED, "stopping"},
        {EVENT_JOB_PROVEN, "verifying"},         {EVENT_ATTEMPT_ENDED, "verifying"},
        {EVENT_EXPERIMENT_ENDED, "done"},
    };
    enum experiment_state at = STATE_PLANNED;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        assert_true(state_next(at, steps[i].event, &at));
        assert_string_equal(state_name(at), steps[i].after);
    }
}

static void other_ways_lead_to_done_too(void **state)
{
    (void)state;
    /* no process could be started */
    assert_int_equal(WALK(STATE_PLANNED, EVENT_EXPERIMENT_STARTED, EVENT_ATTEMPT_PREPARED,
                          EVENT_ATTEMPT_ENDED, EVENT_EXPERIMENT_ENDED),
                     STATE_DONE);
    /* two jobs of a parallel experiment */
    assert_int_equal(WALK(STATE_PREPARING, EVENT_JOB_BORN, EVENT_JOB_BORN, EVENT_ATTEMPT_STARTED,
                          EVENT_ATTEMPT_STOPPING, EVENT_JOB_EXITED, EVENT_JOB_PROVEN,
                          EVENT_JOB_EXITED, EVENT_JOB_PROVEN, EVENT_ATTEMPT_ENDED,
                          EVENT_EXPERIMENT_ENDED),
                     STATE_DONE);
    /* interrupted during the grace of a timeout */
    assert_int_equal(WALK(STATE_RUNNING, EVENT_ATTEMPT_STOPPING, EVENT_ATTEMPT_STOPPING,
                          EVENT_JOB_EXITED, EVENT_JOB_PROVEN, EVENT_ATTEMPT_ENDED,
                          EVENT_EXPERIMENT_ENDED),
                     STATE_DONE);
    /* a dead session's job is ended by the next, which tries again */
    assert_int_equal(
        WALK(STATE_RUNNING, EVENT_JOB_PROVEN, EVENT_ATTEMPT_ENDED, EVENT_EXPERIMENT_STARTED),
        STATE_PREPARING);
    assert_int_equal(WALK(STATE_DONE, EVENT_EXPERIMENT_STARTED), STATE_PREPARING);
}

static void what_skips_a_step_is_refused(void **state)
{
    (void)state;
    static const struct {
        enum experiment_state from;
        enum event_type event;
    } refused[] = {
        {STATE_PLANNED, EVENT_ATTEMPT_PREPARED}, {STATE_PLANNED, EVENT_EXPERIMENT_ENDED},
        {STATE_PLANNED, EVENT_JOB_BORN},         {STATE_RUNNING, EVENT_ATTEMPT_ENDED},
        {STATE_RUNNING, EVENT_EXPERIMENT_ENDED}, {STATE_RUNNING, EVENT_EXPERIMENT_STARTED},
        {STATE_STOPPING, EVENT_ATTEMPT_ENDED},   {STATE_STOPPING, EVENT_ATTEMPT_STARTED},
        {STATE_STOPPING, EVENT_JOB_BORN},        {STATE_VERIFYING, EVENT_ATTEMPT_STARTED},
        {STATE_DONE, EVENT_EXPERIMENT_ENDED},    {STATE_DONE, EVENT_ATTEMPT_ENDED},
        {STATE_DONE, EVENT_ATTEMPT_PREPARED},    {STATE_DONE, EVENT_METRIC},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        enum experiment_state after = STATE_COUNT;
        assert_false(state_next(refused[i].from, refused[i].event, &after));
        assert_int_equal(after, STATE_COUNT);
    }
}

static void marks_belong_to_an_attempt_that_runs_or_is_stopped(void **state)
{
    (void)state;
    for (unsigned from = 0; from < STATE_COUNT; from++) {
        enum experiment_state after = STATE_COUNT;
        bool fits = from == STATE_RUNNING || from == STATE_STOPPING;
        assert_int_equal(state_next((enum experiment_state)from, EVENT_MARK, &after), fits);
        assert_int_equal(after, fits ? from : STATE_COUNT);
    }
    assert_true(event_is_journaled(EVENT_MARK));
    assert_string_equal(event_type_name(EVENT_MARK), "mark");
}

static void pauses_evidence_and_notes_leave_every_state(void **state)
{
    (void)state;
    static const enum event_type still[] = {EVENT_PAUSE, EVENT_EVIDENCE, EVENT_NOTE,
                                            EVENT_SESSION_STARTED, EVENT_SESSION_ENDED};
    for (unsigned from = 0; from < STATE_COUNT; from++) {
        for (size_t i = 0; i < sizeof still / sizeof *still; i++) {
            enum experiment_state after;
            assert_true(state_next((enum experiment_state)from, still[i], &after));
            assert_int_equal(after, from);
        }
    }
}

static struct event sample(void)
{
    struct event event = {
        .type = EVENT_ATTEMPT_ENDED,
        .monotonic_ns = INT64_C(9007199254740993), /* 2^53 + 1: no double holds it */
        .realtime_ns = INT64_C(1763196859379192001),
        .session = 2,
        .experiment = 17,
        .attempt = 3,
        .data = json_object(),
    };
    json_object_set_new(event.data, "outcome", json_string("failed"));
    json_object_set_new(event.data, "duration_s", json_real(0.1));
    return event;
}

static void an_event_survives_the_way_through_json(void **state)
{
    (void)state;
    struct event event = sample();
    json_t *json = event_to_json(&event);
    assert_string_equal(json_string_value(json_object_get(json, "type")), "attempt_ended");
    assert_int_equal(strlen(json_string_value(json_object_get(json, "time"))),
                     strlen("2025-11-15T16:54:19.379192+01:00"));
    char *text = json_dumps(json, 0);
    json_decref(json);
    json = json_loads(text, 0, NULL);
    free(text);
    struct event back = {0};
    assert_true(event_from_json(json, &back));
    json_decref(json);
    assert_int_equal(back.type, event.type);
    assert_true(back.monotonic_ns == event.monotonic_ns);
    assert_true(back.realtime_ns == event.realtime_ns);
    assert_int_equal(back.session, 2);
    assert_int_equal(back.experiment, 17);
    assert_int_equal(back.attempt, 3);
    assert_true(json_equal(back.data, event.data));
    event_fini(&back);
    event_fini(&event);
}

static void json_that_is_no_event_is_refused(void **state)
{
    (void)state;
    static const char *const keys[] = {"type",       "realtime_ns", "monotonic_ns", "session",
                                       "experiment", "attempt",     "data"};
    struct event event = sample();
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *json = event_to_json(&event);
        struct event back;
        json_object_set_new(json, keys[i], json_string("wrong"));
        assert_false(event_from_json(json, &back));
        json_object_del(json, keys[i]);
        assert_false(event_from_json(json, &back));
        json_decref(json);
    }
    json_t *array = json_array();
    struct event back;
    assert_false(event_from_json(array, &back));
    json_decref(array);
    event_fini(&event);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_reads_back_from_its_name),
        cmocka_unit_test(every_outcome_reads_back_from_its_name),
        cmocka_unit_test(metrics_and_notes_are_told_but_not_journaled),
        cmocka_unit_test(an_experiment_goes_its_way_step_by_step),
        cmocka_unit_test(other_ways_lead_to_done_too),
        cmocka_unit_test(what_skips_a_step_is_refused),
        cmocka_unit_test(marks_belong_to_an_attempt_that_runs_or_is_stopped),
        cmocka_unit_test(pauses_evidence_and_notes_leave_every_state),
        cmocka_unit_test(an_event_survives_the_way_through_json),
        cmocka_unit_test(json_that_is_no_event_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
