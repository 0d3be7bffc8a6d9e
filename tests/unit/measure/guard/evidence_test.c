#include "measure/guard/evidence.h"

#include "base/text.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

/* Of an attempt that was measured: clean without evidence. */
static enum verdict verdict_of(const char *const *found, size_t count)
{
    enum verdict verdict = VERDICT_CLEAN;
    for (size_t i = 0; i < count; i++)
        verdict = verdict_with(verdict, found[i]);
    return verdict;
}

static void the_weights_are_those_of_the_documentation(void **state)
{
    (void)state;
    static const char *const contaminated[] = {"foreign_process",
                                               "gpu_busy_before",
                                               "memory_not_empty",
                                               "hot_start",
                                               "hw_thermal",
                                               "hw_power_brake",
                                               "ecc",
                                               "xid",
                                               "suspend",
                                               "background_died",
                                               "background_no_load",
                                               "background_stopped_early"};
    static const char *const suspect[] = {
        "sw_thermal",       "went_on_after_wait", "sampling_gap",      "cpu_shared",
        "energy_disagrees", "memory_leaked",      "possibly_delegated"};
    static const char *const unverified[] = {"processes_unseen", "gpu_lock_untrusted"};
    static const char *const recorded[] = {"gpu_lock_unshared", "governor_not_set",
                                           "leftover_processes", "xid_program"};
    for (size_t i = 0; i < sizeof contaminated / sizeof *contaminated; i++)
        assert_int_equal(verdict_of(&contaminated[i], 1), VERDICT_CONTAMINATED);
    for (size_t i = 0; i < sizeof suspect / sizeof *suspect; i++)
        assert_int_equal(verdict_of(&suspect[i], 1), VERDICT_SUSPECT);
    for (size_t i = 0; i < sizeof unverified / sizeof *unverified; i++)
        assert_int_equal(verdict_of(&unverified[i], 1), VERDICT_UNVERIFIED);
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++)
        assert_int_equal(verdict_of(&recorded[i], 1), VERDICT_CLEAN);
}

static void without_evidence_a_measurement_is_clean(void **state)
{
    (void)state;
    assert_int_equal(verdict_of(NULL, 0), VERDICT_CLEAN);
}

static void the_heaviest_decides_in_any_order(void **state)
{
    (void)state;
    const char *const ends_light[] = {"governor_not_set", "hw_thermal", "sampling_gap"};
    const char *const ends_heavy[] = {"sampling_gap", "governor_not_set", "hw_thermal"};
    const char *const middle[] = {"governor_not_set", "sampling_gap", "processes_unseen"};
    const char *const light[] = {"processes_unseen", "xid_program"};
    assert_int_equal(verdict_of(ends_light, 3), VERDICT_CONTAMINATED);
    assert_int_equal(verdict_of(ends_heavy, 3), VERDICT_CONTAMINATED);
    assert_int_equal(verdict_of(middle, 3), VERDICT_SUSPECT);
    assert_int_equal(verdict_of(light, 2), VERDICT_UNVERIFIED);
}

static void what_is_not_known_is_suspect(void **state)
{
    (void)state;
    const char *const strange[] = {"of_a_newer_version"};
    const char *const none[] = {NULL};
    assert_null(evidence_find(strange[0]));
    assert_null(evidence_find(NULL));
    assert_int_equal(verdict_of(strange, 1), VERDICT_SUSPECT);
    assert_int_equal(verdict_of(none, 1), VERDICT_SUSPECT);
    assert_int_equal(verdict_with(VERDICT_NONE, "governor_not_set"), VERDICT_CLEAN);
}

static void every_kind_is_told_in_whole_sentences_and_stands_once(void **state)
{
    (void)state;
    size_t count;
    const struct evidence_kind *kinds = evidence_kinds(&count);
    assert_true(count > 40);
    for (size_t i = 0; i < count; i++) {
        assert_ptr_equal(evidence_find(kinds[i].name), &kinds[i]);
        assert_int_equal(strspn(kinds[i].name, "abcdefghijklmnopqrstuvwxyz_"),
                         strlen(kinds[i].name));
        const char *const texts[] = {kinds[i].meaning, kinds[i].remedy};
        for (size_t k = 0; k < 2; k++) {
            assert_true(isupper((unsigned char)texts[k][0]));
            assert_int_equal(texts[k][strlen(texts[k]) - 1], '.');
        }
    }
}

static void the_name_of_a_check_is_read_as_it_is_written(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CHECKS; i++)
        assert_int_equal(check_parse(check_kind((enum check)i)->name), i);
    assert_int_equal(check_parse("of_a_newer_version"), CHECK_NONE);
}

static void verdicts_are_read_as_they_are_written(void **state)
{
    (void)state;
    static const char *const names[] = {"none", "clean", "unverified", "suspect", "contaminated"};
    enum verdict verdict;
    for (unsigned i = 0; i < VERDICTS; i++) {
        assert_true(verdict_parse(names[i], &verdict));
        assert_string_equal(verdict_name(verdict), names[i]);
    }
    assert_int_equal(verdict, VERDICT_CONTAMINATED);
    assert_false(verdict_parse("Clean", &verdict));
    assert_false(verdict_parse(NULL, &verdict));
    assert_string_equal(evidence_weight_name(evidence_weight("hw_thermal")), "contaminated");
}

static void only_a_success_is_clean_and_a_row_is_safe_unless_suspect_or_contaminated(void **state)
{
    (void)state;
    assert_int_equal(verdict_of_end(VERDICT_CLEAN, true), VERDICT_CLEAN);
    assert_int_equal(verdict_of_end(VERDICT_CLEAN, false), VERDICT_NONE);
    assert_int_equal(verdict_of_end(VERDICT_CONTAMINATED, false), VERDICT_CONTAMINATED);
    for (enum verdict verdict = VERDICT_NONE; verdict < VERDICTS; verdict++) {
        assert_false(verdict_is_clean_success(verdict, false));
        assert_int_equal(verdict_is_clean_success(verdict, true), verdict == VERDICT_CLEAN);
        assert_int_equal(verdict_is_safe(verdict),
                         verdict != VERDICT_SUSPECT && verdict != VERDICT_CONTAMINATED);
    }
}

static void a_reason_is_one_line_of_what_speaks_against_a_row(void **state)
{
    (void)state;
    AUTO_TEXT struct text reason = {0}, failed = {0}, none = {0};
    evidence_add_reason(&reason, "governor_not_set", "worth knowing only");
    evidence_add_reason(&reason, "value_missing", "unverified only");
    assert_int_equal(reason.length, 0);
    evidence_add_reason(&reason, "foreign_process", "pid 7\npython");
    evidence_add_reason(&reason, "of_a_newer_version", NULL);
    assert_string_equal(text_get(&reason), "foreign_process: pid 7 python; of_a_newer_version");
    char seconds[] = "3 s";
    struct check_result checks[] = {{CHECK_LENGTH, CHECK_PASSED, NULL},
                                    {CHECK_THROTTLING, CHECK_FAILED, seconds}};
    checks_add_reason(&failed, checks, 2);
    assert_string_equal(text_get(&failed), "throttling: 3 s");
    checks_add_reason(&none, checks, 1);
    assert_string_equal(text_get(&none), "not recorded");
}

enum {
    TIME = 1 << QUANTITY_TIME,
    ENERGY = 1 << QUANTITY_ENERGY,
    METRIC = 1 << QUANTITY_METRIC,
    ALL = 7
};

/* Every check passed. */
static size_t all_passed(struct check_result results[CHECKS])
{
    for (unsigned i = 0; i < CHECKS; i++)
        results[i] = (struct check_result){.check = (enum check)i, .outcome = CHECK_PASSED};
    return CHECKS;
}

static void a_row_is_clean_only_when_every_check_was_made_and_passed(void **state)
{
    (void)state;
    struct check_result results[CHECKS];
    size_t count = all_passed(results);
    assert_int_equal(verdicts_judge(ALL, results, count, NULL, 0).row, VERDICT_CLEAN);
    assert_int_equal(verdicts_judge(ALL, NULL, 0, NULL, 0).row, VERDICT_UNVERIFIED);
    for (unsigned i = 0; i < CHECKS; i++) {
        bool needed = check_kind((enum check)i)->needed_by != 0;
        all_passed(results);
        results[i].outcome = CHECK_NOT_MADE;
        assert_int_equal(verdicts_judge(ALL, results, count, NULL, 0).row,
                         needed ? VERDICT_UNVERIFIED : VERDICT_CLEAN);
        results[i].outcome = CHECK_FAILED;
        assert_int_equal(verdicts_judge(ALL, results, count, NULL, 0).row,
                         needed ? VERDICT_SUSPECT : VERDICT_CLEAN);
        results[i].outcome = CHECK_NOT_NEEDED;
        assert_int_equal(verdicts_judge(ALL, results, count, NULL, 0).row, VERDICT_CLEAN);
        results[i] = results[count - 1];
        assert_int_equal(verdicts_judge(ALL, results, count - 1, NULL, 0).row,
                         needed && check_kind((enum check)i)->required ? VERDICT_UNVERIFIED
                                                                       : VERDICT_CLEAN);
    }
}

static void each_quantity_is_judged_by_the_checks_that_it_needs(void **state)
{
    (void)state;
    struct check_result results[CHECKS];
    size_t count = all_passed(results);
    results[CHECK_SAMPLING].outcome = CHECK_NOT_MADE;
    struct verdicts verdicts = verdicts_judge(ALL, results, count, NULL, 0);
    assert_int_equal(verdicts.of[QUANTITY_TIME], VERDICT_CLEAN);
    assert_int_equal(verdicts.of[QUANTITY_ENERGY], VERDICT_UNVERIFIED);
    assert_int_equal(verdicts.of[QUANTITY_METRIC], VERDICT_CLEAN);
    assert_int_equal(verdicts.row, VERDICT_UNVERIFIED);

    verdicts = verdicts_judge(TIME | METRIC, results, count, NULL, 0);
    assert_int_equal(verdicts.of[QUANTITY_ENERGY], VERDICT_NONE);
    assert_int_equal(verdicts.row, VERDICT_CLEAN);
    assert_int_equal(verdicts_judge(0, results, count, NULL, 0).row, VERDICT_NONE);
}

static void evidence_counts_against_what_it_touches(void **state)
{
    (void)state;
    struct check_result results[CHECKS];
    size_t count = all_passed(results);
    const struct evidence_found thermal = {.kind = "hw_thermal"}, gap = {.kind = "sampling_gap"};
    struct verdicts verdicts = verdicts_judge(ALL, results, count, &thermal, 1);
    assert_int_equal(verdicts.of[QUANTITY_TIME], VERDICT_CONTAMINATED);
    assert_int_equal(verdicts.of[QUANTITY_ENERGY], VERDICT_CONTAMINATED);
    assert_int_equal(verdicts.of[QUANTITY_METRIC], VERDICT_CLEAN);
    verdicts = verdicts_judge(ALL, results, count, &gap, 1);
    assert_int_equal(verdicts.of[QUANTITY_TIME], VERDICT_CLEAN);
    assert_int_equal(verdicts.of[QUANTITY_ENERGY], VERDICT_SUSPECT);

    /* A check that failed weighs what its evidence weighs: neither more nor less. */
    results[CHECK_THROTTLING].outcome = CHECK_FAILED;
    assert_int_equal(verdicts_judge(TIME, results, count, &thermal, 1).row, VERDICT_CONTAMINATED);
    results[CHECK_LENGTH].outcome = CHECK_FAILED;
    const struct evidence_found told[] = {{.kind = "training_short"}, {.kind = "sw_thermal"}};
    assert_int_equal(verdicts_judge(TIME, results, count, told, 1).row, VERDICT_SUSPECT);
    results[CHECK_THROTTLING].outcome = CHECK_PASSED;
    assert_int_equal(verdicts_judge(TIME, results, count, told, 1).row, VERDICT_UNVERIFIED);
}

static void inconsistent_data_make_a_quantity_unverified_and_never_contaminated(void **state)
{
    (void)state;
    struct check_result results[CHECKS];
    size_t count = all_passed(results);
    const char *const kinds[] = {"value_impossible", "file_damaged", "duplicate_id"};
    results[CHECK_DATA].outcome = CHECK_FAILED;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct evidence_found metric = {.kind = kinds[i], .quantities = METRIC},
                                    whole = {.kind = kinds[i]};
        assert_int_equal(evidence_weight(kinds[i]), EVIDENCE_INCONSISTENT);
        struct verdicts verdicts = verdicts_judge(ALL, results, count, &whole, 1);
        for (unsigned k = 0; k < QUANTITIES; k++)
            assert_int_equal(verdicts.of[k], VERDICT_UNVERIFIED);
        results[CHECK_DATA].outcome = CHECK_PASSED;
        verdicts = verdicts_judge(ALL, results, count, &metric, 1);
        assert_int_equal(verdicts.of[QUANTITY_TIME], VERDICT_CLEAN);
        assert_int_equal(verdicts.of[QUANTITY_METRIC], VERDICT_UNVERIFIED);
        results[CHECK_DATA].outcome = CHECK_FAILED;
    }
}

static void the_kind_of_a_newer_version_is_suspect_for_every_quantity(void **state)
{
    (void)state;
    struct check_result results[CHECKS];
    size_t count = all_passed(results);
    const struct evidence_found strange = {.kind = "of_a_newer_version"};
    struct verdicts verdicts = verdicts_judge(ALL, results, count, &strange, 1);
    for (unsigned k = 0; k < QUANTITIES; k++)
        assert_int_equal(verdicts.of[k], VERDICT_SUSPECT);
}

static void outcomes_are_read_as_they_are_written(void **state)
{
    (void)state;
    static const char *const names[] = {"passed", "failed", "not_made", "not_needed"};
    enum check_outcome outcome;
    for (unsigned i = 0; i < CHECK_OUTCOMES; i++) {
        assert_true(check_outcome_parse(names[i], &outcome));
        assert_int_equal(outcome, i);
        assert_string_equal(check_outcome_name(outcome), names[i]);
    }
    assert_false(check_outcome_parse("Passed", &outcome));
}

static void a_wide_energy_is_unverified_alone(void **state)
{
    (void)state;
    static const struct evidence_found wide = {.kind = "energy_imprecise"};
    struct check_result results[CHECKS];
    for (size_t i = 0; i < CHECKS; i++)
        results[i] = (struct check_result){.check = (enum check)i, .outcome = CHECK_PASSED};
    struct verdicts verdicts = verdicts_judge(ALL, results, CHECKS, &wide, 1);
    assert_int_equal(verdicts.of[QUANTITY_ENERGY], VERDICT_UNVERIFIED);
    assert_int_equal(verdicts.of[QUANTITY_TIME], VERDICT_CLEAN);
    assert_int_equal(verdicts.of[QUANTITY_METRIC], VERDICT_CLEAN);
}

/* 20 % of 100 J are 20 J, and of -50 J 10 J. */
static void an_energy_is_wide_above_the_limit_only(void **state)
{
    (void)state;
    static const struct {
        struct reading energy_j, half_width_j;
        double percent;
        bool wide;
    } rows[] = {
        {{100, true}, {20, true}, 20, false},   {{100, true}, {20.1, true}, 20, true},
        {{-50, true}, {11, true}, 20, true},    {{0, true}, {0.1, true}, 20, true},
        {{0, true}, {0, true}, 20, false},      {{100, true}, {900, true}, 0, false},
        {{100, false}, {900, true}, 20, false}, {{100, true}, {900, false}, 20, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(
            evidence_is_imprecise(rows[i].energy_j, rows[i].half_width_j, rows[i].percent),
            rows[i].wide);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_weights_are_those_of_the_documentation),
        cmocka_unit_test(without_evidence_a_measurement_is_clean),
        cmocka_unit_test(the_heaviest_decides_in_any_order),
        cmocka_unit_test(what_is_not_known_is_suspect),
        cmocka_unit_test(every_kind_is_told_in_whole_sentences_and_stands_once),
        cmocka_unit_test(the_name_of_a_check_is_read_as_it_is_written),
        cmocka_unit_test(a_row_is_clean_only_when_every_check_was_made_and_passed),
        cmocka_unit_test(each_quantity_is_judged_by_the_checks_that_it_needs),
        cmocka_unit_test(evidence_counts_against_what_it_touches),
        cmocka_unit_test(inconsistent_data_make_a_quantity_unverified_and_never_contaminated),
        cmocka_unit_test(the_kind_of_a_newer_version_is_suspect_for_every_quantity),
        cmocka_unit_test(outcomes_are_read_as_they_are_written),
        cmocka_unit_test(only_a_success_is_clean_and_a_row_is_safe_unless_suspect_or_contaminated),
        cmocka_unit_test(a_reason_is_one_line_of_what_speaks_against_a_row),
        cmocka_unit_test(verdicts_are_read_as_they_are_written),
        cmocka_unit_test(a_wide_energy_is_unverified_alone),
        cmocka_unit_test(an_energy_is_wide_above_the_limit_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
