#include "sharing/alone.h"
#include "sharing/choose.h"
#include "sharing/outcome.h"
#include "sharing/proof.h"
#include "sharing/written.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/json.h"

#include <string.h>

#include "measured.h"

static void a_background_that_ran_out_of_memory_fails_the_pair(void **state)
{
    (void)state;
    struct feasibility study;
    begin(&study);
    take_pair(
        &study,
        "{\"tare\": {\"outcome\": \"succeeded\", \"attempts\": [{\"duration_seconds\": 22}], "
        "\"parallel\": "
        "{\"background\": "
        "{\"succeeded\": 0, \"failed\": 1, \"loops\": [{\"outcome\": \"failed\", \"start_s\": -1, "
        "\"duration_s\": 2, \"error\": "
        "\"exit code 1; the log says: RuntimeError: CUDA out of memory. Tried to allocate 20.00 "
        "MiB\"}]}}}}");
    const struct pairs_outcome *out = &study.pairs[0].outcome;
    assert_true(out->finished && out->out_of_memory && !pairs_worked(out));
    assert_non_null(strstr(out->cause, "out of memory in b: exit code 1"));
    /* It says nothing of what there was, so it stands as it is. The larger one is a: 7892 - 1100 -
     * 100 MiB are left beside it. */
    assert_string_equal(
        out->proposal,
        "a smaller batch of a, with gradient accumulation for the same effective batch, "
        "or beside it a model of at most 6692 MiB");
    struct pairs_criterion criteria[PAIRS_CRITERIA];
    feasibility_criteria(&study, criteria);
    assert_true(criteria[0].met && criteria[1].met && criteria[2].met && !criteria[3].met &&
                !criteria[4].met);
    assert_false(criteria[5].known);
    feasibility_fini(&study);
}

static void one_that_failed_alone_takes_no_part(void **state)
{
    (void)state;
    struct feasibility study;
    begin(&study);
    json_t *json =
        parsed("{\"experiments\": [{\"tare\": {\"outcome\": \"failed\", \"failure\": {\"cause\": "
               "\"exit_code\"}, \"attempts\": "
               "[{\"error\": \"exit code 3\"}]}}," ALONE(419430400, "job", 4, 800) "]}");
    json_decref(take_runs(&study, json, 1));
    json_decref(json);
    assert_true(study.models[0].ran && !study.models[0].succeeded);
    assert_string_equal(study.models[0].error, "exit code 3");
    assert_non_null(strstr(study.models[0].proposal, "alone/"));
    feasibility_predict(&study, 0);
    assert_false(pairs_will_run(&study, &study.pairs[0]) || study.pairs[0].prediction.known);
    struct pairs_criterion criteria[PAIRS_CRITERIA];
    feasibility_criteria(&study, criteria);
    assert_true(criteria[0].known && !criteria[0].met && !criteria[1].known);
    assert_string_equal(criteria[0].detail, "1 of 2 models");
    feasibility_fini(&study);
}

static void rounds_are_added_until_the_overlap_is_there(void **state)
{
    (void)state;
    struct feasibility study;
    begin(&study);
    take_alone_seen(&study);
    take_round(&study, json_pack("[o]", beside("clean", "", 2)));
    const struct pairs_outcome *out = &study.pairs[0].outcome;
    assert_true(out->result == PAIRS_NOT_PROVEN && out->overlap_s == 2 && out->at_peaks == 2);
    assert_string_equal(
        out->why,
        "they trained at the same time for 2.0 s, less than the 5 s that are asked for, in 1 "
        "experiment of 10.0 s in all");
    assert_false(pairs_is_recommended(&study.pairs[0]));
    assert_true(out->startup_s[FOREGROUND].value == 2 && out->startup_s[BACKGROUND].value == 3);
    /* 3 of 5 s are missing, 2 come with each; b starts 1 s before a, as its start-up is so much
     * longer. */
    json_t *root = json_object(), *settings = feasibility_again_settings(&study, root);
    const json_t *entry = json_array_get(json_get(settings, "experiments"), 0);
    assert_true(json_number_value(json_object_get(entry, "start_after")) == 1);
    json_decref(settings);
    json_decref(root);
    take_round(&study, json_pack("[oo]", beside("clean", "", 2), beside("clean", "", 1)));
    assert_true(out->result == PAIRS_PROVEN && out->overlap_s == 5 &&
                out->verdict == VERDICT_CLEAN && !out->why);
    assert_true(out->experiments == 3 && out->clean == 3 && out->measured_s == 30);
    assert_true(out->together_bytes == 1400 * MIB && pairs_is_recommended(&study.pairs[0]));
    near(pairs_peaks_alone(&study, &study.pairs[0]), 1400 * MIB);
    assert_null(feasibility_again_settings(&study, NULL));
    struct pairs_counts counts = feasibility_counts(&study);
    assert_true(counts.of[PAIRS_PROVEN] == 1 && counts.recommended == 1);
    feasibility_fini(&study);
}

static void what_is_contaminated_proves_nothing_and_says_so(void **state)
{
    (void)state;
    static const char evidence[] =
        "{\"kind\": \"foreign_process\", \"weight\": \"contaminated\", \"text\": \"pid "
        "7\"}, {\"kind\": \"governor_not_set\"}";
    struct feasibility study;
    begin(&study);
    take_alone_seen(&study);
    take_round(&study, json_pack("[o]", beside("contaminated", evidence, 6)));
    const struct pairs_outcome *out = &study.pairs[0].outcome;
    assert_true(out->result == PAIRS_NOT_PROVEN && out->overlap_s == 0 &&
                out->verdict == VERDICT_CONTAMINATED);
    assert_string_equal(out->why,
                        "no experiment of 1 was clean, the worst is contaminated: foreign_process");
    assert_true(out->kind_count == 1 && out->kinds[0].experiments == 1);
    assert_string_equal(out->kinds[0].text, "pid 7");
    /* A second round without any gain is the last. */
    take_round(&study, json_pack("[o]", beside("contaminated", evidence, 6)));
    assert_null(feasibility_again_settings(&study, NULL));
    struct pairs_criterion criteria[PAIRS_CRITERIA];
    feasibility_criteria(&study, criteria);
    assert_true(criteria[6].known && !criteria[6].met && criteria[4].met);
    feasibility_fini(&study);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_background_that_ran_out_of_memory_fails_the_pair),
        cmocka_unit_test(one_that_failed_alone_takes_no_part),
        cmocka_unit_test(rounds_are_added_until_the_overlap_is_there),
        cmocka_unit_test(what_is_contaminated_proves_nothing_and_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
