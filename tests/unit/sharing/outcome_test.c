/* What results mean, by hand: two models alone, then their pair. */
#include "sharing/alone.h"
#include "sharing/choose.h"
#include "sharing/outcome.h"
#include "sharing/written.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/json.h"
#include "base/mem.h"

#include <string.h>

#include "measured.h"

static void a_pair_that_worked_is_set_against_both_alone(void **state)
{
    (void)state;
    struct feasibility study;
    begin(&study);
    /* The first loop of b ended before a began; two of 5 and 7 s beside it; the last was
     * stopped. */
    take_pair(
        &study,
        "{\"tare\": {\"outcome\": \"succeeded\", \"energy\": {\"gpu\": {\"joules\": 3000, "
        "\"memory_peak_bytes\": "
        "1677721600}},"
        "\"guard\": [{\"phase\": \"preflight\", \"devices\": [{\"memory_bytes\": 104857600}]}],"
        "\"attempts\": [{\"duration_seconds\": 22}], \"parallel\": {\"background\": "
        "{\"succeeded\": 3, "
        "\"failed\": 0, \"loops\": ["
        "{\"outcome\": \"succeeded\", \"start_s\": -5, \"duration_s\": 4},"
        "{\"outcome\": \"succeeded\", \"start_s\": -1, \"duration_s\": 5},"
        "{\"outcome\": \"succeeded\", \"start_s\": 4, \"duration_s\": 7},"
        "{\"outcome\": \"stopped\", \"start_s\": 11, \"duration_s\": 11}]},"
        "\"sm_share\": {\"foreground_mj\": 1500000, \"background_mj\": 1000000, "
        "\"unattributed_mj\": 500000}}}}");
    const struct pairs_outcome *out = &study.pairs[0].outcome;
    assert_true(out->ran && out->started && out->finished && !out->out_of_memory &&
                pairs_worked(out) && !out->cause);
    assert_int_equal(out->loops, 3);
    near(out->slowdown, 2);
    near(out->background_seconds, 6);
    near(out->background_slowdown, 1.5);
    near(out->peak_bytes, 1500 * MIB);
    /* 3000 J as 3 to 2; a's 22 s held 22 / 6 loops of b. */
    near(out->joules, 1800);
    near(out->background_joules, 1200 * 6 / 22.0);
    near(out->serial_joules, 2100 + 800 * 22 / 6.0);
    near(out->joules_ratio, 1800 / 2100.0);
    near(out->background_joules_ratio, 1200 * 6 / 22.0 / 800);
    feasibility_fini(&study);
}

static void what_the_background_missed_is_read_from_its_message(void **state)
{
    (void)state;
    struct feasibility study;
    begin(&study);
    /* As PyTorch 2.11 said it in a pair on a H200; the line is cut where a loop's error is. */
    take_pair(&study, "{\"tare\": {\"outcome\": \"succeeded\", \"attempts\": "
                      "[{\"duration_seconds\": 22}], \"parallel\": "
                      "{\"background\": {\"succeeded\": 0, \"failed\": 1, \"loops\": "
                      "[{\"outcome\": \"failed\", \"start_s\": "
                      "-1, \"duration_s\": 2, \"error\": \"exit code 1; traceback at log line 1: "
                      "torch.OutOfMemoryError: CUDA "
                      "out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of "
                      "139.80 GiB of which 11.94 MiB is "
                      "free. Including non-PyTorch memory, this process has 3.81 GiB memory in "
                      "use. Of the allocated memory 3.08 "
                      "GiB is alloca\"}]}}}}");
    /* 20.00 - 11.94. */
    assert_string_equal(
        study.pairs[0].outcome.cause,
        "out of memory in b: 20.00 MiB was asked for, and the GPU had 11.94 MiB free: 8.06 MiB was "
        "missing.");
    feasibility_fini(&study);
}

static void a_foreground_that_failed_otherwise_says_why(void **state)
{
    (void)state;
    struct feasibility study;
    begin(&study);
    take_pair(
        &study,
        "{\"tare\": {\"outcome\": \"failed\", \"failure\": {\"cause\": \"timeout\"}, \"attempts\": "
        "[{\"duration_seconds\": 60, "
        "\"error\": \"it took longer than 60 s\"}]}}");
    const struct pairs_outcome *out = &study.pairs[0].outcome;
    assert_true(out->ran && !out->finished && !out->out_of_memory && !out->slowdown.valid);
    assert_string_equal(out->cause, "it took longer than 60 s");
    assert_non_null(strstr(out->proposal, "timeout"));
    feasibility_fini(&study);
}

static void the_diagnosis_of_the_run_is_the_cause(void **state)
{
    (void)state;
    struct feasibility study;
    begin(&study);
    take_pair(&study, "{\"tare\": {\"outcome\": \"failed\", \"failure\": {\"cause\": "
                      "\"out_of_memory\"}, \"attempts\": "
                      "[{\"duration_seconds\": 6, "
                      "\"error\": \"exit code 1\", \"oom\": {\"reasons\": [\"2.00 GiB was asked "
                      "for\"], \"remedies\": "
                      "[{\"name\": \"stop_holder\", "
                      "\"what\": \"stop it\"}, {\"name\": \"expandable_segments\", \"what\": \"set "
                      "expandable_segments:True\"}]}}]}}");
    const struct pairs_outcome *out = &study.pairs[0].outcome;
    assert_string_equal(out->cause, "out of memory in a: 2.00 GiB was asked for");
    /* To stop the other one is no remedy here. */
    assert_null(strstr(out->proposal, "stop it"));
    assert_non_null(strstr(out->proposal, "set expandable_segments:True"));
    feasibility_fini(&study);
}

static void results_belong_to_whom_the_settings_that_were_run_name(void **state)
{
    (void)state;
    struct feasibility study;
    begin(&study);
    json_t *settings = settings_of(&study, 1), *entries = json_object_get(settings, "experiments");
    /* An earlier session ran b first, and a model that is not asked for any more before it. */
    json_t *first = json_incref(json_array_get(entries, 0)), *other = json_deep_copy(first);
    json_object_set_new(other, "model", json_string("c"));
    json_object_set_new(other, "runs_per_config", json_integer(2));
    json_array_remove(entries, 0);
    json_array_insert_new(entries, 0, other);
    json_array_append_new(entries, first);
    json_t *json =
        parsed("{\"experiments\": [" ALONE(1, "job", 1, 1) "," ALONE(1, "job", 1, 1) "," ALONE(
            419430400, "job", 4, 800) "," ALONE(1048576000, "job", 10, 2000) "]}");
    json_decref(feasibility_take_alone(&study, json, settings));
    json_decref(json);
    json_decref(settings);
    near(study.models[0].seconds, 10);
    near(study.models[1].seconds, 4);
    feasibility_fini(&study);
}

static void known_runs_count_with_those_that_ran_now(void **state)
{
    (void)state;
    struct feasibility study;
    begin(&study);
    /* a's first run is known, b's both are; only a's second ran now. */
    study.models[0].known = parsed("[" ALONE(1048576000, "job", 10, 2000) "]");
    study.models[1].known =
        parsed("[" ALONE(419430400, "job", 4, 800) "," ALONE(419430400, "job", 6, 800) "]");
    json_t *json = parsed("{\"experiments\": [" ALONE(1153433600, "job", 12, 2200) "]}");
    json_t *measured = take_runs(&study, json, 2);
    json_decref(json);
    near(study.models[0].seconds, 11);
    near(study.models[1].seconds, 5);
    assert_true(study.models[0].margin_bytes == 100 * MIB && study.models[1].succeeded);
    assert_int_equal(json_array_size(json_get(json_array_get(measured, 0), "runs")), 2);
    assert_int_equal(json_array_size(json_get(json_array_get(measured, 1), "runs")), 2);
    json_decref(measured);
    feasibility_fini(&study);
}

static void a_pair_takes_no_more_than_its_time(void **state)
{
    (void)state;
    struct feasibility study;
    begin(&study);
    take_alone_seen(&study);
    /* 10 s each: after the first there is time for two more, not for the three that it would
     * take. */
    study.pair_s = 39;
    study.overlap_s = 4;
    take_round(&study, json_pack("[o]", beside("clean", "", 1)));
    take_round(&study, json_pack("[oo]", beside("clean", "", 0), beside("clean", "", 0)));
    assert_null(feasibility_again_settings(&study, NULL));
    assert_string_equal(study.pairs[0].outcome.why,
                        "they trained at the same time for 1.0 s, less than the 4 s that are "
                        "asked for, in 3 experiments of 30.0 s in all");
    feasibility_fini(&study);
}

static void energy_that_cannot_be_attributed_is_not(void **state)
{
    (void)state;
    const struct {
        const char *share, *marginal;
        bool possible;
        const char *by;
        double joules;
    } cases[] = {
        /* As on an H200: 19 J, 295 J more or less, and more than half of it nobody's. */
        {"{\"foreground_mj\": 20, \"background_mj\": 28, \"unattributed_mj\": 52}",
         "{\"joules\": 19, \"half_width_j\": 295}", false, "sm_share", 0},
        {"{\"foreground_mj\": 20, \"background_mj\": 30, \"unattributed_mj\": 50}",
         "{\"joules\": 19, \"half_width_j\": 295}", true, "sm_share", 1200},
        {"{\"foreground_mj\": 20, \"background_mj\": 28, \"unattributed_mj\": 52}",
         "{\"joules\": 900, \"half_width_j\": 180}", true, "foreground_marginal", 900},
        {"{\"foreground_mj\": 20, \"background_mj\": 28, \"unattributed_mj\": 52}",
         "{\"joules\": 900, \"half_width_j\": 181}", false, "sm_share", 0},
        {"null", "{\"joules\": null, \"half_width_j\": null, \"interval_j\": [0, 7011]}", false,
         "foreground_marginal", 0},
        {"null", "{\"joules\": 295, \"half_width_j\": 295}", false, "foreground_marginal", 0},
        {"null", "null", false, NULL, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct feasibility study;
        begin(&study);
        AUTO_FREE char *text =
            mem_printf("{\"tare\": {\"outcome\": \"succeeded\", \"energy\": {\"gpu\": {\"joules\": "
                       "3000}}, \"attempts\": [{\"duration_seconds\": 22}], \"parallel\": "
                       "{\"sm_share\": %s, \"foreground_marginal\": %s}}}",
                       cases[i].share, cases[i].marginal);
        take_pair(&study, text);
        const struct pairs_outcome *out = &study.pairs[0].outcome;
        assert_true(out->attribution.possible == cases[i].possible &&
                    out->joules.valid == cases[i].possible);
        assert_true(!cases[i].by == !out->attribution.by);
        if (cases[i].by)
            assert_string_equal(out->attribution.by, cases[i].by);
        if (cases[i].possible)
            near(out->joules, cases[i].joules);
        feasibility_fini(&study);
    }
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pair_that_worked_is_set_against_both_alone),
        cmocka_unit_test(what_the_background_missed_is_read_from_its_message),
        cmocka_unit_test(a_foreground_that_failed_otherwise_says_why),
        cmocka_unit_test(the_diagnosis_of_the_run_is_the_cause),
        cmocka_unit_test(results_belong_to_whom_the_settings_that_were_run_name),
        cmocka_unit_test(known_runs_count_with_those_that_ran_now),
        cmocka_unit_test(a_pair_takes_no_more_than_its_time),
        cmocka_unit_test(energy_that_cannot_be_attributed_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
