#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/utf8.h"
#include "report/metrics.h"

#include <stdlib.h>
#include <string.h>

#include "metrics_fixture.h"

static char *text_of(const struct live_run *run)
{
    struct text out = {0};
    metrics_textfile(run, &out);
    return text_take(&out);
}

/* A whole line. */
static bool has_line(const char *text, const char *line)
{
    size_t length = strlen(line);
    for (const char *at = text; (at = strstr(at, line)); at++)
        if ((at == text || at[-1] == '\n') && at[length] == '\n')
            return true;
    return false;
}

static size_t lines_with(const char *text, const char *words)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, words)); at++)
        count++;
    return count;
}

static void assert_line(const char *text, const char *line)
{
    if (!has_line(text, line))
        fail_msg("there is no line '%s' in:\n%s", line, text);
}

static void a_run_is_told_by_outcome_verdict_and_energy(void **state)
{
    (void)state;
    struct live_run *run = fixture_run("run_1", 5, 2);
    fixture_put(&run->plan.name, "night");
    run->session_started_ns = INT64_C(1700000000500000000);
    fixture_end(run, 0, OUTCOME_SUCCEEDED, 100.25);
    fixture_end(run, 1, OUTCOME_FAILED, 50);
    fixture_put(&run->experiments[1].failure, "out_of_memory");
    fixture_end(run, 2, OUTCOME_SUCCEEDED, 10);
    run->experiments[2].verdict = VERDICT_CONTAMINATED;
    run->experiments[3].state = STATE_RUNNING;
    run->experiments[3].attempts = 2;
    /* It is being repeated: its result is none of those that ended, and what it used stays. */
    fixture_end(run, 4, OUTCOME_FAILED, 0.5);
    run->experiments[4].state = STATE_PREPARING;
    run->experiments[4].outcome = OUTCOME_NONE;
    char *text = text_of(run);
    assert_line(text, "# TYPE tare_run_info gauge");
    assert_line(text, "tare_run_info{run=\"run_1\",experiment_name=\"night\",outcome=\"\"} 1.0");
    assert_line(text, "tare_run_state{run=\"run_1\",state=\"under_way\"} 1.0");
    assert_line(text, "tare_run_state{run=\"run_1\",state=\"ended\"} 0.0");
    assert_line(text, "tare_run_session_start_timestamp_seconds{run=\"run_1\"} 1700000000.5");
    assert_line(text, "tare_run_experiments{run=\"run_1\",state=\"planned\"} 0.0");
    assert_line(text, "tare_run_experiments{run=\"run_1\",state=\"running\"} 2.0");
    assert_line(text, "tare_run_experiments{run=\"run_1\",state=\"succeeded\"} 2.0");
    assert_line(text, "tare_run_experiments{run=\"run_1\",state=\"failed\"} 1.0");
    assert_line(text, "tare_run_verdicts{run=\"run_1\",verdict=\"clean\"} 1.0");
    assert_line(text, "tare_run_verdicts{run=\"run_1\",verdict=\"contaminated\"} 1.0");
    assert_line(text, "tare_run_verdicts{run=\"run_1\",verdict=\"none\"} 1.0");
    assert_line(text, "tare_run_failures{run=\"run_1\",cause=\"out_of_memory\"} 1.0");
    assert_line(text, "# TYPE tare_run_attempts_total counter");
    assert_line(text, "tare_run_attempts_total{run=\"run_1\"} 6.0");
    assert_line(text, "# TYPE tare_run_energy_joules_total counter");
    assert_line(text, "tare_run_energy_joules_total{run=\"run_1\",component=\"gpu\"} 160.75");
    assert_line(text, "tare_run_measured_attempts_total{run=\"run_1\",component=\"gpu\"} 4.0");
    assert_line(text, "tare_model_energy_joules_total{run=\"run_1\",repository=\"repo\",model="
                      "\"model_0\",component=\"gpu\"} 110.75");
    assert_line(text, "tare_model_experiments{run=\"run_1\",repository=\"repo\",model=\"model_1\","
                      "outcome=\"failed\"} 1.0");
    free(text);
    fixture_free(run);
}

static void what_was_not_measured_has_no_sample_and_is_not_zero(void **state)
{
    (void)state;
    struct live_run *run = fixture_run("run_1", 1, 1);
    fixture_slot(run, 1, 1);
    char *text = text_of(run);
    assert_null(strstr(text, "tare_run_energy_joules_total{"));
    assert_null(strstr(text, "tare_model_energy_joules_total{"));
    assert_null(strstr(text, "tare_slot_temperature_celsius{"));
    assert_null(strstr(text, "tare_slot_pause_seconds{"));
    assert_null(strstr(text, "tare_run_session_start_timestamp_seconds{"));
    assert_line(text, "tare_run_measured_attempts_total{run=\"run_1\",component=\"gpu\"} 0.0");
    free(text);
    fixture_free(run);
}

static void a_slot_has_its_readings_in_base_units(void **state)
{
    (void)state;
    struct live_run *run = fixture_run("run_1", 3, 3);
    struct live_slot *slot = fixture_slot(run, 2, 3);
    slot->temperature_c = (struct reading){61, true};
    char *text = text_of(run);
    assert_line(text, "tare_slot_info{run=\"run_1\",slot=\"2\",gpus=\"GPU-1\"} 1.0");
    assert_line(text, "tare_slot_experiment_info{run=\"run_1\",slot=\"2\",experiment=\"repo_model_"
                      "2_3\",repository="
                      "\"repo\",model=\"model_2\"} 1.0");
    assert_line(text, "tare_slot_phase{run=\"run_1\",slot=\"2\",phase=\"running\"} 1.0");
    assert_line(text, "tare_slot_phase{run=\"run_1\",slot=\"2\",phase=\"pause\"} 0.0");
    assert_line(text, "tare_slot_power_watts{run=\"run_1\",slot=\"2\"} 250.5");
    assert_line(text, "tare_slot_utilisation_ratio{run=\"run_1\",slot=\"2\"} 0.5");
    assert_line(text, "tare_slot_memory_bytes{run=\"run_1\",slot=\"2\"} 1073741824.0");
    assert_line(text, "tare_slot_memory_size_bytes{run=\"run_1\",slot=\"2\"} 85899345920.0");
    assert_line(text, "tare_slot_temperature_celsius{run=\"run_1\",slot=\"2\"} 61.0");
    free(text);
    fixture_free(run);
}

static void readings_of_a_run_that_ended_or_fell_silent_are_left_out(void **state)
{
    (void)state;
    struct live_run *run = fixture_run("run_1", 1, 1);
    fixture_slot(run, 1, 1);
    char *text = text_of(run);
    assert_non_null(strstr(text, "tare_slot_power_watts{"));
    free(text);
    run->live_ns -= 2 * METRICS_FRESH_S * NS_PER_S;
    text = text_of(run);
    assert_null(strstr(text, "tare_slot_power_watts{"));
    assert_non_null(strstr(text, "tare_run_update_timestamp_seconds{"));
    free(text);
    run->live_ns = clock_realtime_ns();
    run->state = LIVE_ENDED;
    text = text_of(run);
    assert_null(strstr(text, "tare_slot_power_watts{"));
    assert_line(text, "tare_run_state{run=\"run_1\",state=\"ended\"} 1.0");
    free(text);
    fixture_free(run);
}

static void models_beyond_the_bound_are_summed_as_other(void **state)
{
    (void)state;
    struct live_run *run = fixture_run("run_1", 10000, 300);
    for (size_t i = 0; i < 10000; i++)
        fixture_end(run, i, OUTCOME_SUCCEEDED, 2);
    char *text = text_of(run);
    assert_int_equal(lines_with(text, "tare_model_energy_joules_total{"), METRICS_MODELS + 1);
    /* 10,000 = 33 * 300 + 100: models 0 to 99 are there 34 times, and 200 others 33 times. */
    assert_line(text, "tare_model_energy_joules_total{run=\"run_1\",repository=\"repo\",model="
                      "\"model_49\",component=\"gpu\"} 68.0");
    assert_line(text, "tare_model_energy_joules_total{run=\"run_1\",repository=\"other\",model="
                      "\"other\",component=\"gpu\"} 16600.0");
    assert_line(text, "tare_run_energy_joules_total{run=\"run_1\",component=\"gpu\"} 20000.0");
    free(text);
    fixture_free(run);
}

static void a_model_that_is_called_other_makes_no_second_series(void **state)
{
    (void)state;
    struct live_run *run = fixture_run("run_1", 60, 60);
    fixture_put(&run->plan.experiments[3].foreground.repo, "other");
    fixture_put(&run->plan.experiments[3].foreground.model, "other");
    for (size_t i = 0; i < 60; i++)
        fixture_end(run, i, OUTCOME_FAILED, 1);
    for (size_t i = 0; i < 40; i++)
        run->experiments[i].failure = i == 5 ? mem_strdup("other") : mem_printf("cause_%zu", i);
    char *text = text_of(run);
    assert_int_equal(lines_with(text, "model=\"other\",component=\"gpu\"}"), 1);
    assert_line(text, "tare_model_energy_joules_total{run=\"run_1\",repository=\"other\",model="
                      "\"other\",component=\"gpu\"} 10.0");
    assert_int_equal(lines_with(text, "cause=\"other\"}"), 1);
    assert_int_equal(lines_with(text, "tare_run_failures{"), METRICS_CAUSES + 1);
    free(text);
    fixture_free(run);
}

static void hostile_names_are_escaped_and_made_utf8(void **state)
{
    (void)state;
    struct live_run *run = fixture_run("a\"b\\c\nd\xff\xe2\x80\xae", 1, 1);
    fixture_put(&run->plan.name, "x\"} 1\ntare_run_info{run=\"forged");
    struct live_slot *slot = fixture_slot(run, 1, 1);
    json_array_append_new(slot->gpus, json_integer(7));
    char *text = text_of(run);
    /* Control characters, bytes that are no UTF-8 and the mark that turns the direction of writing
     * are U+FFFD. */
    assert_non_null(strstr(text, "{run=\"a\\\"b\\\\c\xef\xbf\xbd"
                                 "d\xef\xbf\xbd\xef\xbf\xbd\""));
    assert_int_equal(lines_with(text, "\ntare_run_info{"), 1);
    assert_true(utf8_is_valid(text, strlen(text)));
    free(text);
    fixture_free(run);
}

static void a_long_name_is_cut_and_what_then_is_equal_is_one_model(void **state)
{
    (void)state;
    struct live_run *run = fixture_run("run_1", 2, 1);
    for (size_t i = 0; i < 2; i++) {
        char *name = mem_alloc(100002);
        memset(name, 'm', 100000);
        name[100000] = (char)('a' + (char)i);
        free(run->plan.experiments[i].foreground.model);
        run->plan.experiments[i].foreground.model = name;
        fixture_end(run, i, OUTCOME_SUCCEEDED, 1);
    }
    char *text = text_of(run);
    assert_int_equal(lines_with(text, "tare_model_energy_joules_total{"), 1);
    assert_true(strlen(text) < 20000);
    free(text);
    fixture_free(run);
}

static void a_slot_number_that_is_there_twice_is_told_once(void **state)
{
    (void)state;
    struct live_run *run = fixture_run("run_1", 1, 1);
    fixture_slot(run, 1, 1);
    fixture_slot(run, 1, 0)->power_w.value = 9;
    fixture_slot(run, 2, 77); /* the plan has no such experiment */
    char *text = text_of(run);
    assert_int_equal(lines_with(text, "tare_slot_power_watts{"), 2);
    assert_line(text, "tare_slot_power_watts{run=\"run_1\",slot=\"1\"} 250.5");
    assert_int_equal(lines_with(text, "tare_slot_experiment_info{"), 1);
    free(text);
    fixture_free(run);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_told_by_outcome_verdict_and_energy),
        cmocka_unit_test(what_was_not_measured_has_no_sample_and_is_not_zero),
        cmocka_unit_test(a_slot_has_its_readings_in_base_units),
        cmocka_unit_test(readings_of_a_run_that_ended_or_fell_silent_are_left_out),
        cmocka_unit_test(models_beyond_the_bound_are_summed_as_other),
        cmocka_unit_test(a_model_that_is_called_other_makes_no_second_series),
        cmocka_unit_test(hostile_names_are_escaped_and_made_utf8),
        cmocka_unit_test(a_long_name_is_cut_and_what_then_is_equal_is_one_model),
        cmocka_unit_test(a_slot_number_that_is_there_twice_is_told_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
