#include "guard/evidence.h"

#include "base/fs.h"
#include "base/text.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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
    static const char *const suspect[] = {"sw_thermal",       "went_on_after_wait", "sampling_gap",      "cpu_shared",
                                          "energy_disagrees", "memory_leaked",      "possibly_delegated"};
    static const char *const unverified[] = {"processes_unseen", "gpu_lock_untrusted"};
    static const char *const recorded[] = {"gpu_lock_unshared",  "power_cap",  "clock_changed", "boost",
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
    const char *const ends_light[] = {"power_cap", "hw_thermal", "sampling_gap"};
    const char *const ends_heavy[] = {"sampling_gap", "power_cap", "hw_thermal"};
    const char *const middle[] = {"power_cap", "sampling_gap", "processes_unseen"};
    const char *const light[] = {"processes_unseen", "boost"};
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
    assert_int_equal(verdict_with(VERDICT_NONE, "power_cap"), VERDICT_CLEAN);
}

static void every_kind_is_told_in_whole_sentences_and_stands_once(void **state)
{
    (void)state;
    size_t count;
    const struct evidence_kind *kinds = evidence_kinds(&count);
    assert_true(count > 40);
    for (size_t i = 0; i < count; i++) {
        assert_ptr_equal(evidence_find(kinds[i].name), &kinds[i]);
        assert_int_equal(strspn(kinds[i].name, "abcdefghijklmnopqrstuvwxyz_"), strlen(kinds[i].name));
        const char *const texts[] = {kinds[i].meaning, kinds[i].remedy};
        for (size_t k = 0; k < 2; k++) {
            assert_true(isupper((unsigned char)texts[k][0]));
            assert_int_equal(texts[k][strlen(texts[k]) - 1], '.');
        }
    }
}

static void the_document_holds_the_table_word_for_word(void **state)
{
    (void)state;
    AUTO_TEXT struct text document = {0};
    size_t count;
    const struct evidence_kind *kinds = evidence_kinds(&count);
    assert_true(fs_read(PROJECT_ROOT "/docs/guard.md", 1 << 20, &document, NULL));
    for (size_t i = 0; i < count; i++) {
        AUTO_TEXT struct text row = {0};
        text_addf(&row, "| `%s` | %s | %s | %s |\n", kinds[i].name, evidence_weight_name(kinds[i].weight),
                  kinds[i].meaning, kinds[i].remedy);
        if (!strstr(document.data, row.data))
            fail_msg("docs/guard.md lacks: %s", row.data);
    }
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

static void only_a_success_is_clean_and_only_a_clean_success_is_safe(void **state)
{
    (void)state;
    assert_int_equal(verdict_of_end(VERDICT_CLEAN, true), VERDICT_CLEAN);
    assert_int_equal(verdict_of_end(VERDICT_CLEAN, false), VERDICT_NONE);
    assert_int_equal(verdict_of_end(VERDICT_CONTAMINATED, false), VERDICT_CONTAMINATED);
    for (enum verdict verdict = VERDICT_NONE; verdict < VERDICTS; verdict++) {
        assert_false(verdict_is_safe(verdict, false));
        assert_int_equal(verdict_is_safe(verdict, true), verdict == VERDICT_CLEAN);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_weights_are_those_of_the_documentation),
        cmocka_unit_test(without_evidence_a_measurement_is_clean),
        cmocka_unit_test(the_heaviest_decides_in_any_order),
        cmocka_unit_test(what_is_not_known_is_suspect),
        cmocka_unit_test(every_kind_is_told_in_whole_sentences_and_stands_once),
        cmocka_unit_test(the_document_holds_the_table_word_for_word),
        cmocka_unit_test(only_a_success_is_clean_and_only_a_clean_success_is_safe),
        cmocka_unit_test(verdicts_are_read_as_they_are_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
