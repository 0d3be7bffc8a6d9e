/* Evidence, the verdicts that follow from it, and experiments that are done again because of
 * one. */
#include "fixture.h"
#include "results/store/results.h"
#include "results/store/results_json.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static struct run run;

static int make(void **state)
{
    (void)state;
    run_make(&run);
    return 0;
}

static int unmake(void **state)
{
    (void)state;
    run_remove(&run);
    return 0;
}

static struct store *begin(void)
{
    struct store *store = fixture_create(&run);
    add(store, EVENT_SESSION_STARTED, 0, 0, NULL);
    return store;
}

static void evidence(struct store *store, int64_t experiment, int64_t attempt, const char *kind)
{
    char data[200];
    snprintf(data, sizeof data,
             "{'kind': '%s', 'text': 'seen', 'from_s': 1.5, 'to_s': 3, 'device': 'GPU 0'}", kind);
    add(store, EVENT_EVIDENCE, experiment, attempt, data);
}

static void end(struct store *store, int64_t experiment, const char *outcome, double duration_s)
{
    char data[200];
    snprintf(data, sizeof data,
             "{'outcome': '%s', 'retries': 0, 'duration_s': %g, 'metrics': {'accuracy': %g}}",
             outcome, duration_s, duration_s);
    add(store, EVENT_EXPERIMENT_ENDED, experiment, 0, data);
    store_write_results(store, (size_t)experiment, NULL, NULL);
}

/* One attempt, during which this was seen (NULL: nothing). */
static void play(struct store *store, int64_t experiment, const char *kind)
{
    add(store, EVENT_EXPERIMENT_STARTED, experiment, 0, NULL);
    if (kind) {
        add(store, EVENT_ATTEMPT_PREPARED, experiment, 1, NULL);
        evidence(store, experiment, 1, kind);
        add(store, EVENT_ATTEMPT_ENDED, experiment, 1, "{'outcome': 'succeeded'}");
    } else {
        play_attempt(store, experiment, 1, true);
    }
    end(store, experiment, "succeeded", 1);
}

/* Ends the cell that begins here. The next one, or NULL. A quoted cell may hold commas; none here
 * holds a quote. */
static char *cut_cell(char *cell)
{
    char *from = *cell == '"' ? strchr(cell + 1, '"') : cell;
    char *comma = strchr(from, ',');
    if (comma)
        *comma++ = '\0';
    return comma;
}

/* Column `name` of the rows of a CSV file, joined by blanks. */
static char *column(const char *file, const char *name)
{
    static char joined[1000];
    char *text = run_read(&run, file), *lines = NULL;
    int at = -1, rows = 0;
    joined[0] = '\0';
    for (char *line = strtok_r(text, "\n", &lines); line; line = strtok_r(NULL, "\n", &lines)) {
        int number = 0;
        for (char *cell = line, *next; cell; cell = next, number++) {
            next = cut_cell(cell);
            if (line == text && strcmp(cell, name) == 0)
                at = number;
            else if (line != text && number == at)
                snprintf(joined + strlen(joined), sizeof joined - strlen(joined), "%s%s",
                         rows++ ? " " : "", cell);
        }
    }
    free(text);
    return joined;
}

static void the_heaviest_evidence_makes_the_verdict(void **state)
{
    (void)state;
    struct store *store = begin();
    play(store, 1, "governor_not_set");
    play(store, 2, "sw_thermal");
    play(store, 3, "foreign_process");
    struct results results;
    assert_true(results_from_store(store, &results, NULL));
    assert_int_equal(results.items[0].verdict, VERDICT_CLEAN);
    assert_int_equal(results.items[1].verdict, VERDICT_SUSPECT);
    assert_int_equal(results.items[2].verdict, VERDICT_CONTAMINATED);
    assert_int_equal(results.items[2].evidence_count, 1);
    assert_string_equal(results.items[2].evidence[0].kind, "foreign_process");
    assert_string_equal(results.items[2].evidence[0].text, "seen");
    assert_int_equal(results.items[2].evidence[0].weight, EVIDENCE_CONTAMINATED);
    results_fini(&results);
    fixture_close(store);
    assert_answer(
        &run,
        "SELECT group_concat(verdict, ' ') FROM (SELECT verdict FROM experiments ORDER BY number)",
        "clean suspect contaminated");
    assert_answer(
        &run,
        "SELECT group_concat(verdict, ' ') FROM (SELECT verdict FROM attempts ORDER BY experiment)",
        "clean suspect contaminated");
    assert_answer(&run,
                  "SELECT experiment || kind || weight || text || from_s || '-' || to_s || device "
                  "|| attempt FROM"
                  " evidence WHERE experiment=3",
                  "3foreign_processcontaminatedseen1.5-3.0GPU 01");
}

/* The header as far as the study's columns go, with what follows, and the verdict moved there. */
static void expect_header(const char *file, const char *next)
{
    char *all = run_read(&run, "summary.csv"), *text = run_read(&run, file);
    static const char last_of_study[] = "energy_gpu_util_max_percent";
    char *end = strstr(all, last_of_study);
    assert_non_null(end);
    size_t length = (size_t)(end - all) + strlen(last_of_study);
    assert_memory_equal(text, all, length);
    assert_memory_equal(text + length, next, strlen(next));
    char *verdict = strstr(end, ",verdict,"), *rest = text + length + strlen(next);
    assert_non_null(verdict);
    size_t before = (size_t)(verdict - end) - strlen(last_of_study);
    assert_memory_equal(rest, all + length, before);
    assert_memory_equal(rest + before, verdict + 8, strcspn(verdict + 8, "\n") + 1);
    free(all);
    free(text);
}

static void rows_are_safe_or_affected_in_the_columns_of_the_study(void **state)
{
    (void)state;
    struct store *store = begin();
    play(store, 1, "xid");
    play(store, 2, "value_missing");
    play(store, 3, "not_known_to_this_version");
    fixture_close(store);
    assert_string_equal(column("summary.csv", "verdict"), "contaminated unverified suspect");
    assert_string_equal(column("summary_safe.csv", "experiment_id"), "other_default_002");
    assert_string_equal(column("summary_safe.csv", "verdict"), "unverified");
    assert_string_equal(column("summary_affected.csv", "verdict"), "contaminated suspect");
    assert_string_equal(column("summary_affected.csv", "reason"),
                        "xid: seen not_known_to_this_version: seen");
    expect_header("summary_safe.csv", ",verdict,consistency");
    expect_header("summary_affected.csv", ",verdict,reason");
}

static void a_failed_training_is_not_judged_and_its_row_is_safe(void **state)
{
    (void)state;
    struct store *store = begin();
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, NULL);
    add(store, EVENT_ATTEMPT_PREPARED, 1, 1, NULL);
    add(store, EVENT_ATTEMPT_ENDED, 1, 1,
        "{'outcome': 'failed', 'failure': {'cause': 'out_of_memory', 'line': 7, 'text': 'CUDA out "
        "of memory'}}");
    end(store, 1, "failed", 1);
    fixture_close(store);
    assert_string_equal(column("summary.csv", "verdict"), "");
    assert_string_equal(column("summary.csv", "failure"), "out_of_memory");
    assert_string_equal(column("summary_safe.csv", "experiment_id"), "demo_net_001");
    assert_string_equal(column("summary_safe.csv", "training_success"), "False");
    assert_answer(
        &run, "SELECT count(*) FROM experiments WHERE outcome='failed' AND verdict IS NULL", "1");
    assert_answer(&run, "SELECT count(*) FROM attempts WHERE outcome='failed' AND verdict IS NULL",
                  "1");
    char *text = run_read(&run, "demo_net_001/experiment.json");
    json_t *json = json_loads(text, 0, NULL), *own = json_object_get(json, "tare");
    const json_t *failure = json_object_get(own, "failure");
    assert_true(json_is_null(json_object_get(own, "verdict")));
    assert_int_equal(json_integer_value(json_object_get(failure, "line")), 7);
    assert_true(json_equal(
        failure, json_object_get(json_array_get(json_object_get(own, "attempts"), 0), "failure")));
    json_decref(json);
    free(text);
}

static void what_speaks_against_the_machine_of_a_failed_training_is_told(void **state)
{
    (void)state;
    struct store *store = begin();
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, NULL);
    add(store, EVENT_ATTEMPT_PREPARED, 1, 1, NULL);
    evidence(store, 1, 1, "foreign_process");
    add(store, EVENT_ATTEMPT_ENDED, 1, 1, "{'outcome': 'failed'}");
    end(store, 1, "failed", 1);
    fixture_close(store);
    assert_string_equal(column("summary.csv", "verdict"), "contaminated");
    assert_string_equal(column("summary_safe.csv", "experiment_id"), "");
}

/* Versions before called every failure on a quiet machine clean. */
static void a_failure_that_an_older_version_called_clean_is_read_as_not_judged(void **state)
{
    (void)state;
    struct store *store = begin();
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, NULL);
    add(store, EVENT_ATTEMPT_PREPARED, 1, 1, NULL);
    add(store, EVENT_ATTEMPT_ENDED, 1, 1, "{'outcome': 'failed'}");
    end(store, 1, "failed", 1);
    fixture_close(store);
    free(ask(&run, "UPDATE experiments SET verdict='clean'"));
    free(ask(&run, "UPDATE attempts SET verdict='clean'"));
    struct results results;
    assert_true(results_read(run.path, &results, NULL));
    assert_int_equal(results.items[0].verdict, VERDICT_NONE);
    results_fini(&results);
    json_t *json = results_read_json(run.path, NULL);
    json_t *own = json_object_get(json_array_get(json_object_get(json, "experiments"), 0), "tare");
    assert_true(json_is_null(json_object_get(own, "verdict")));
    assert_true(json_is_null(
        json_object_get(json_array_get(json_object_get(own, "attempts"), 0), "verdict")));
    json_decref(json);
}

static void evidence_of_an_attempt_before_stays_with_it(void **state)
{
    (void)state;
    struct store *store = begin();
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, NULL);
    add(store, EVENT_ATTEMPT_PREPARED, 1, 1, NULL);
    evidence(store, 1, 1, "foreign_process");
    add(store, EVENT_ATTEMPT_ENDED, 1, 1, "{'outcome': 'failed'}");
    play_attempt(store, 1, 2, true);
    end(store, 1, "succeeded", 1);
    add(store, EVENT_EXPERIMENT_STARTED, 2, 0, NULL);
    evidence(store, 2, 0, "processes_unseen"); /* of the experiment as a whole */
    play_attempt(store, 2, 1, true);
    end(store, 2, "succeeded", 1);
    fixture_close(store);
    assert_answer(
        &run,
        "SELECT group_concat(verdict, ' ') FROM (SELECT verdict FROM attempts ORDER BY experiment)",
        "contaminated clean clean");
    assert_string_equal(column("summary.csv", "verdict"), "clean unverified");
}

static void evidence_that_comes_after_the_end_changes_verdict_and_files(void **state)
{
    (void)state;
    struct store *store = begin();
    play(store, 1, NULL);
    assert_true(store_flush(store, NULL));
    assert_string_equal(column("summary_safe.csv", "experiment_id"), "demo_net_001");
    evidence(store, 1, 1, "memory_leaked");
    fixture_close(store);
    assert_string_equal(column("summary.csv", "verdict"), "suspect");
    assert_string_equal(column("summary_safe.csv", "experiment_id"), "");
    assert_string_equal(column("summary_affected.csv", "experiment_id"), "demo_net_001");
    char *text = run_read(&run, "demo_net_001/experiment.json");
    assert_non_null(strstr(text, "memory_leaked"));
    free(text);
    assert_answer(&run, "SELECT files_written FROM experiments WHERE number=1", "1");
}

static void evidence_about_no_experiment_is_kept_and_accuses_none(void **state)
{
    (void)state;
    struct store *store = begin();
    evidence(store, 0, 0, "suspend");
    play(store, 1, NULL);
    fixture_close(store);
    assert_answer(&run, "SELECT count(*) FROM evidence WHERE experiment IS NULL AND kind='suspend'",
                  "1");
    assert_string_equal(column("summary.csv", "verdict"), "clean");
}

static void again(struct store *store, int64_t experiment)
{
    add(store, EVENT_EXPERIMENT_AGAIN, experiment, 0, "{'verdict': 'contaminated'}");
}

static void the_old_row_stands_until_the_new_one_has_come(void **state)
{
    (void)state;
    struct store *store = begin();
    play(store, 1, "foreign_process");
    assert_false(store_experiment(store, 1)->again);
    again(store, 1);
    assert_true(store_experiment(store, 1)->again);
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, NULL);
    add(store, EVENT_ATTEMPT_PREPARED, 1, 2, NULL);
    play(store, 2, NULL); /* writes summary.csv */
    assert_true(store_flush(store, NULL));
    assert_string_equal(column("summary.csv", "experiment_id"), "demo_net_001 other_default_002");
    assert_string_equal(column("summary.csv", "verdict"), "contaminated clean");
    add(store, EVENT_ATTEMPT_ENDED, 1, 2, "{'outcome': 'interrupted'}");
    end(store, 1, "interrupted", 9);
    assert_true(store_flush(store, NULL));
    assert_true(store_experiment(store, 1)->again);
    assert_string_equal(column("summary.csv", "verdict"), "contaminated clean");
    assert_string_equal(column("summary.csv", "outcome"), "succeeded succeeded");
    assert_string_equal(column("summary.csv", "duration_seconds"), "1.0 1.0");
    assert_string_equal(column("summary.csv", "perf_accuracy"), "1.0 ");
    assert_string_equal(column("summary.csv", "attempt"), "1 1");
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, NULL);
    play_attempt(store, 1, 3, true);
    end(store, 1, "succeeded", 2);
    fixture_close(store);
    assert_string_equal(column("summary.csv", "verdict"), "clean clean");
    assert_string_equal(column("summary.csv", "duration_seconds"), "2.0 1.0");
    assert_string_equal(column("summary.csv", "perf_accuracy"), "2.0 ");
    assert_string_equal(column("summary.csv", "attempt"), "3 1");
    assert_answer(&run, "SELECT group_concat(outcome, ' ') FROM attempts WHERE experiment=1",
                  "succeeded interrupted succeeded");
    assert_answer(&run, "SELECT verdict FROM attempts WHERE experiment=1 AND number=1",
                  "contaminated");
}

static void evidence_of_the_result_before_does_not_accuse_the_new_one(void **state)
{
    (void)state;
    struct store *store = begin();
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, NULL);
    evidence(store, 1, 0, "gpu_busy_before");
    play_attempt(store, 1, 1, true);
    end(store, 1, "succeeded", 1);
    again(store, 1);
    struct results results;
    assert_true(results_from_store(store, &results, NULL));
    assert_true(results.items[0].again);
    assert_int_equal(results.items[0].verdict, VERDICT_CONTAMINATED);
    assert_int_equal(results.items[0].evidence_count, 1); /* of the result that stands */
    results_fini(&results);
    add(store, EVENT_EXPERIMENT_STARTED, 1, 0, NULL);
    evidence(store, 1, 0, "xid_program");
    play_attempt(store, 1, 2, true);
    end(store, 1, "succeeded", 1);
    assert_true(results_from_store(store, &results, NULL));
    assert_false(results.items[0].again);
    assert_int_equal(results.items[0].verdict, VERDICT_CLEAN);
    assert_int_equal(results.items[0].evidence_count, 1);
    assert_string_equal(results.items[0].evidence[0].kind, "xid_program");
    results_fini(&results);
    fixture_close(store);
    assert_answer(&run, "SELECT group_concat(pass || kind, ' ') FROM evidence",
                  "1gpu_busy_before 2xid_program");
}

/* Adds an event that the store must refuse. */
static void assert_refused(struct store *store, enum event_type type, int64_t experiment)
{
    struct outcome_seen seen = {0};
    add_as(store, 1, type, experiment, 0, 1, NULL, outcome_done, &seen);
    store_flush(store, NULL);
    assert_int_equal(seen.calls, 1);
    assert_false(seen.ok);
}

static void only_what_has_a_result_is_planned_again_and_only_once(void **state)
{
    (void)state;
    struct store *store = begin();
    assert_refused(store, EVENT_EXPERIMENT_AGAIN, 1);
    play(store, 1, "xid");
    assert_refused(store, EVENT_EXPERIMENT_STARTED, 1);
    again(store, 1);
    assert_true(store_flush(store, NULL));
    assert_refused(store, EVENT_EXPERIMENT_AGAIN, 1);
    fixture_close(store);
    assert_answer(&run, "SELECT pass || again FROM experiments WHERE number=1", "21");
    store = fixture_open(&run); /* read back, it is still planned so */
    assert_true(store_experiment(store, 1)->again);
    assert_false(store_experiment(store, 2)->again);
    fixture_close(store);
}

UNIT_TESTS(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)
    const struct CMUnitTest tests[] = {
        TEST(the_heaviest_evidence_makes_the_verdict),
        TEST(rows_are_safe_or_affected_in_the_columns_of_the_study),
        TEST(a_failed_training_is_not_judged_and_its_row_is_safe),
        TEST(what_speaks_against_the_machine_of_a_failed_training_is_told),
        TEST(a_failure_that_an_older_version_called_clean_is_read_as_not_judged),
        TEST(evidence_of_an_attempt_before_stays_with_it),
        TEST(evidence_that_comes_after_the_end_changes_verdict_and_files),
        TEST(evidence_about_no_experiment_is_kept_and_accuses_none),
        TEST(the_old_row_stands_until_the_new_one_has_come),
        TEST(evidence_of_the_result_before_does_not_accuse_the_new_one),
        TEST(only_what_has_a_result_is_planned_again_and_only_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
