/* What another machine recorded becomes part of a run: lines that are whole, lines that are not,
 * and what is made of the rest. */
#include "fixture.h"
#include "results/store/import.h"

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/mem.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static const char fields[] =
    "\"realtime_ns\":5,\"monotonic_ns\":6,\"attempt\":0,\"data\":{\"outcome\":\"finished\"}";

/* A line about the run, or about an experiment. */
static char *line_of(int seq, int session, int experiment)
{
    return mem_printf("{\"seq\":%d,\"type\":\"%s\",\"session\":%d,\"experiment\":%d,%s}", seq,
                      experiment ? "experiment_started" : "session_ended", session, experiment,
                      fields);
}

static bool take(struct import_lines *lines, const char *line, int64_t *missing,
                 struct event *event, struct err *err)
{
    bool usable = import_line_take(lines, line, strlen(line), event, missing, err);
    if (usable)
        event_fini(event);
    return usable;
}

static void a_line_is_placed_behind_the_sessions_and_at_the_number_here(void **state)
{
    (void)state;
    struct err err;
    struct event event;
    int64_t missing;
    struct import_lines lines = {.experiment = 7, .session_shift = 3};
    AUTO_FREE char *one = line_of(1, 1, 1);
    AUTO_FREE char *two = line_of(2, 2, 0);
    assert_true(import_line_take(&lines, one, strlen(one), &event, &missing, &err));
    assert_int_equal(event.experiment, 7);
    assert_int_equal(event.session, 4);
    assert_int_equal(missing, 0);
    event_fini(&event);
    assert_true(import_line_take(&lines, two, strlen(two), &event, &missing, &err));
    assert_int_equal(event.experiment, 0);
    assert_int_equal(event.session, 5);
    event_fini(&event);
}

static void what_is_missing_is_counted_and_a_second_copy_refused(void **state)
{
    (void)state;
    struct err err;
    struct event event;
    int64_t missing;
    struct import_lines lines = {.experiment = 1};
    AUTO_FREE char *first = line_of(1, 1, 0);
    AUTO_FREE char *fifth = line_of(5, 1, 0);
    AUTO_FREE char *seventh = line_of(7, 1, 0);
    assert_true(take(&lines, first, &missing, &event, &err));
    assert_int_equal(missing, 0);
    assert_false(take(&lines, first, &missing, &event, &err));
    assert_string_equal(err.text, "is event 1 a second time");
    assert_true(take(&lines, fifth, &missing, &event, &err));
    assert_int_equal(missing, 3);
    /* One that cannot be read stands for the sixth. */
    assert_false(take(&lines, "\x01\x02", &missing, &event, &err));
    assert_int_equal(missing, 0);
    assert_true(take(&lines, seventh, &missing, &event, &err));
    assert_int_equal(missing, 0);
}

static void assert_refused(const char *line, const char *why)
{
    struct err err;
    struct event event;
    int64_t missing;
    struct import_lines lines = {.experiment = 1};
    assert_false(take(&lines, line, &missing, &event, &err));
    assert_string_equal(err.text, why);
}

#define MARK                                                                            \
    "\"type\":\"mark\",\"session\":1,\"experiment\":1,\"attempt\":1,\"realtime_ns\":5," \
    "\"monotonic_ns\":6,"

static void a_line_that_no_table_can_hold_is_refused(void **state)
{
    (void)state;
    assert_refused("{}", "is no event");
    assert_refused("{\"type\":\"nonsense\"}", "is no event");
    assert_refused("{\"seq\":0," MARK "\"data\":{}}", "has no number that can be");
    assert_refused("{\"seq\":9223372036854775807," MARK "\"data\":{}}",
                   "has no number that can be");
    assert_refused("{\"seq\":1," MARK
                   "\"data\":{\"name\":\"epoch\",\"at\":\"start\",\"source\":\"log\"}}",
                   "is a mark without 't_ns'");
    assert_refused("{\"seq\":1," MARK "\"data\":{\"name\":\"epoch\",\"at\":\"start\",\"t_ns\":3}}",
                   "is a mark without 'source'");
    AUTO_FREE char *other = line_of(1, 1, 2);
    assert_refused(other, "is about experiment 2, where there is but one");
    AUTO_FREE char *early = line_of(1, 0, 0);
    assert_refused(early, "is of no session");
    AUTO_FREE char *late = line_of(1, 2147483647, 0);
    struct event event;
    int64_t missing;
    struct import_lines lines = {.experiment = 1, .session_shift = 1};
    assert_true(take(&lines, late, &missing, &event, NULL));
}

/* A run of one experiment that succeeded at its second attempt, as another machine left it: 3 + 2 x
 * an attempt's + 2 lines. */
static char *make_source(struct run *run)
{
    run_make(run);
    struct store *store = fixture_create(run);
    add(store, EVENT_SESSION_STARTED, 0, 0, "{'host': 'other'}");
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, "{'id': 'demo_net_001'}");
    play_attempt(store, 1, 1, false);
    play_attempt(store, 1, 2, true);
    add(store, EVENT_EXPERIMENT_ENDED, 1, 0,
        "{'outcome': 'succeeded', 'retries': 1, 'duration_s': 1.0, 'metrics': {'loss': 0.5}, "
        "'error': null}");
    add(store, EVENT_SESSION_ENDED, 0, 0, "{'outcome': 'finished', 'error': null}");
    fixture_close(store);
    return run_read(run, "events.jsonl");
}

static void write_events(const struct run *run, const char *text)
{
    struct err err = {0};
    if (!fs_write_atomic(run->dir, "events.jsonl", text, strlen(text), &err))
        fail_msg("%s", err.text);
}

/* Takes source as experiment 2 of a new run, which is closed then. */
static struct import_loss import(const struct run *source, struct run *target)
{
    struct err err = {0};
    struct import_loss loss;
    run_make(target);
    struct store *store = fixture_create(target);
    const struct import_source from = {.dir = source->dir, .name = "tasks/0002/1", .experiment = 2};
    if (!store_import(store, &from, &loss, &err))
        fail_msg("%s", err.text);
    fixture_close(store);
    return loss;
}

/* Without the lines whose number is in numbers (up to a 0). */
static char *without(const char *text, const int *numbers)
{
    struct text out = {0};
    int number = 1;
    for (const char *line = text; *line; number++) {
        size_t length = strcspn(line, "\n") + 1;
        bool left = false;
        for (const int *one = numbers; *one; one++)
            left = left || *one == number;
        if (!left)
            text_add_bytes(&out, line, length);
        line += length;
    }
    return text_take(&out);
}

static void whole_records_are_taken_whole(void **state)
{
    (void)state;
    struct run source, target;
    free(make_source(&source));
    struct import_loss loss = import(&source, &target);
    assert_int_equal(loss.events, 0);
    assert_answer(&target, "SELECT outcome || ' ' || retries FROM experiments WHERE number = 2",
                  "succeeded 1");
    assert_answer(&target, "SELECT verdict FROM experiments WHERE number = 2", "clean");
    assert_answer(&target, "SELECT count(*) FROM attempts WHERE experiment = 2", "2");
    assert_answer(&target, "SELECT host FROM sessions WHERE number = 1", "other");
    assert_answer(&target, "SELECT count(*) FROM evidence", "0");
    run_remove(&source);
    run_remove(&target);
}

static void beginnings_that_are_lost_are_implied_and_the_result_is_suspect(void **state)
{
    (void)state;
    struct run source, target;
    AUTO_FREE char *text = make_source(&source);
    /* The session's, the experiment's and the first attempt's. */
    AUTO_FREE char *rest = without(text, (const int[]){1, 2, 3, 0});
    write_events(&source, rest);
    struct import_loss loss = import(&source, &target);
    assert_int_equal(loss.events, 3);
    assert_string_equal(loss.first.text, "events.jsonl:1: 3 events are missing before it");
    assert_answer(&target, "SELECT outcome FROM experiments WHERE number = 2", "succeeded");
    assert_answer(&target, "SELECT verdict FROM experiments WHERE number = 2", "suspect");
    assert_answer(&target,
                  "SELECT text FROM evidence WHERE kind = 'records_lost' AND experiment = 2",
                  "tasks/0002/1: events.jsonl:1: 3 events are missing before it; 3 events are "
                  "lost, the rest was read");
    run_remove(&source);
    run_remove(&target);
}

static void a_proof_that_is_lost_is_not_made_up(void **state)
{
    (void)state;
    struct run source, target;
    AUTO_FREE char *text = make_source(&source);
    struct text kept = {0};
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        size_t length = strcspn(line, "\n") + 1;
        AUTO_FREE char *copy = mem_strndup(line, length);
        if (!strstr(copy, "job_proven"))
            text_add_bytes(&kept, line, length);
    }
    write_events(&source, text_get(&kept));
    text_fini(&kept);
    struct import_loss loss = import(&source, &target);
    assert_true(loss.events >= 2);
    assert_answer(&target, "SELECT outcome IS NULL FROM experiments WHERE number = 2", "1");
    assert_answer(&target, "SELECT count(*) FROM events WHERE type = 'job_proven'", "0");
    run_remove(&source);
    run_remove(&target);
}

static void what_is_no_file_of_events_is_said(void **state)
{
    (void)state;
    struct err err = {0};
    struct import_loss loss;
    struct run source, target;
    run_make(&source);
    run_make(&target);
    struct store *store = fixture_create(&target);
    const struct import_source from = {.dir = source.dir, .name = "x", .experiment = 1};
    assert_false(store_import(store, &from, &loss, &err));
    assert_string_equal(err.text, "open events.jsonl: No such file or directory");
    assert_int_equal(symlinkat("/etc/passwd", source.dir, "events.jsonl"), 0);
    assert_false(store_import(store, &from, &loss, &err));
    assert_string_equal(err.text, "open events.jsonl: Too many levels of symbolic links");
    fixture_close(store);
    run_remove(&source);
    run_remove(&target);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_placed_behind_the_sessions_and_at_the_number_here),
        cmocka_unit_test(what_is_missing_is_counted_and_a_second_copy_refused),
        cmocka_unit_test(a_line_that_no_table_can_hold_is_refused),
        cmocka_unit_test(whole_records_are_taken_whole),
        cmocka_unit_test(beginnings_that_are_lost_are_implied_and_the_result_is_suspect),
        cmocka_unit_test(a_proof_that_is_lost_is_not_made_up),
        cmocka_unit_test(what_is_no_file_of_events_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
