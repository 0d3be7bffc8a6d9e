#include "results/judge/rows.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/mem.h"

#include "one_folder.h"

enum { VERDICT_COUNT = 5 };

static const enum verdict verdicts[VERDICT_COUNT] = {
    VERDICT_CLEAN, VERDICT_UNVERIFIED, VERDICT_SUSPECT, VERDICT_CONTAMINATED, VERDICT_NONE};

/* The verdicts that count, in the order above, "x": counts. */
static void assert_counts(const struct dataset *dataset, struct dataset_experiment experiment,
                          enum audit_rows rows, const char *expected)
{
    char found[VERDICT_COUNT + 1] = "";
    for (int i = 0; i < VERDICT_COUNT; i++) {
        experiment.verdict = verdicts[i];
        found[i] = audit_counts(dataset, &experiment, rows) ? 'x' : '-';
    }
    assert_string_equal(found, expected);
}

static void rows_count_by_verdict_success_and_agreement(void **state)
{
    (void)state;
    struct dataset dataset = {0};
    one_folder_make(&dataset, DATASET_STUDY);
    struct dataset_experiment good = {.success = true}, failed = {0}, agreed = good;
    agreed.row_agreement = AGREEMENT_CONSISTENT;
    assert_counts(&dataset, good, AUDIT_ROWS_ALL, "xxxx-");
    assert_counts(&dataset, good, AUDIT_ROWS_USABLE, "xxx--");
    assert_counts(&dataset, good, AUDIT_ROWS_CLEAN, "x----");
    assert_counts(&dataset, failed, AUDIT_ROWS_CLEAN, "-----");
    assert_counts(&dataset, failed, AUDIT_ROWS_USABLE, "xxx--");
    /* without records nothing can be consistent: usable */
    assert_counts(&dataset, good, AUDIT_ROWS_CONSISTENT, "xxx--");
    dataset.folders[0].has_records = true;
    assert_counts(&dataset, good, AUDIT_ROWS_CONSISTENT, "x----");
    assert_counts(&dataset, agreed, AUDIT_ROWS_CONSISTENT, "xx---");
    agreed.success = false;
    assert_counts(&dataset, agreed, AUDIT_ROWS_CONSISTENT, "-----");
    dataset_fini(&dataset);
}

static void copies_and_contradictions_never_count(void **state)
{
    (void)state;
    struct dataset dataset = {0};
    one_folder_make(&dataset, DATASET_STUDY);
    for (enum audit_rows rows = AUDIT_ROWS_USABLE; rows <= AUDIT_ROWS_ALL; rows++) {
        assert_counts(&dataset, (struct dataset_experiment){.success = true, .is_copy = true}, rows,
                      "-----");
        assert_counts(&dataset, (struct dataset_experiment){.success = true, .contradicts = true},
                      rows, "-----");
    }
    dataset_fini(&dataset);
}

static void rows_are_known_by_name_and_else_usable(void **state)
{
    (void)state;
    assert_int_equal(audit_rows_named("all"), AUDIT_ROWS_ALL);
    assert_int_equal(audit_rows_named("clean"), AUDIT_ROWS_CLEAN);
    assert_int_equal(audit_rows_named("consistent"), AUDIT_ROWS_CONSISTENT);
    assert_int_equal(audit_rows_named("usable"), AUDIT_ROWS_USABLE);
    assert_int_equal(audit_rows_named("Clean"), AUDIT_ROWS_USABLE);
}

static void a_tally_counts_each_row_once(void **state)
{
    (void)state;
    struct audit_tally tally = {0};
    AUTO_FREE char *none = audit_tally_text(&tally);
    assert_string_equal(none, "");
    for (int i = 0; i < VERDICT_COUNT; i++)
        for (int k = 0; k <= i; k++)
            audit_tally_add(&tally, &(struct dataset_experiment){.verdict = verdicts[i]});
    audit_tally_add(&tally, &(struct dataset_experiment){.verdict = VERDICT_UNVERIFIED,
                                                         .row_agreement = AGREEMENT_CONSISTENT});
    /* consistent is said of unverified rows only */
    audit_tally_add(&tally, &(struct dataset_experiment){.verdict = VERDICT_SUSPECT,
                                                         .row_agreement = AGREEMENT_CONSISTENT});
    AUTO_FREE char *text = audit_tally_text(&tally);
    assert_string_equal(text, "1 clean, 1 consistent (other programs were not recorded), "
                              "2 unverified, 4 suspect, 4 contaminated");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_count_by_verdict_success_and_agreement),
        cmocka_unit_test(copies_and_contradictions_never_count),
        cmocka_unit_test(rows_are_known_by_name_and_else_usable),
        cmocka_unit_test(a_tally_counts_each_row_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
