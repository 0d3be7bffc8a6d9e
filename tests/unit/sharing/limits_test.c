/* The study's limits: the twelve pairs of its plan, with the memory that it expected of each. */
#include "sharing/limits.h"
#include "sharing/predict.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

static const double MB = 1e6, GB = 1e9;

/* In the plan's order: one ultra-low, four low, six medium, one high. */
static const double planned_mb[] = {1300, 2000, 2000, 2500, 2700, 3000,
                                    3000, 3500, 3500, 4000, 4000, 5000};
enum { PLANNED = sizeof planned_mb / sizeof *planned_mb };

static struct pairs_outcome worked(double peak_mb, size_t metrics)
{
    return (struct pairs_outcome){.ran = true,
                                  .started = true,
                                  .finished = true,
                                  .metrics = metrics,
                                  .peak_bytes = {peak_mb * MB, true},
                                  .pair_joules = {1, true}};
}

/* All of them work, on a GPU of so many GB. */
static void begin(struct feasibility *study, struct pairs_pair pairs[PLANNED], double gpu_gb)
{
    *study = (struct feasibility){
        .pairs = pairs, .pair_count = PLANNED, .room = {gpu_gb * GB, gpu_gb * GB}};
    for (size_t i = 0; i < PLANNED; i++) {
        double half = planned_mb[i] / 2 * MB;
        struct memory_curve curve = {.any = true, .count = 1, .step_s = 1, .peak_bytes = half};
        pairs[i] = (struct pairs_pair){.outcome = worked(planned_mb[i], 1)};
        pairs_bound(&curve, 0, &curve, 0, &study->room, &pairs[i].prediction);
    }
}

static void the_twelve_pairs_fall_into_the_documents_tiers_and_classes(void **state)
{
    (void)state;
    struct pairs_pair pairs[PLANNED];
    struct feasibility study;
    struct limits_account account;
    begin(&study, pairs, 8);
    limits_count(&study, &account);
    static const size_t expected[TIER_COUNT + 1] = {1, 4, 6, 1, 0};
    for (size_t i = 0; i <= TIER_COUNT; i++) {
        /* On a GPU of the study's size both ways of counting are the same. */
        assert_int_equal(account.by_size[i].pairs, expected[i]);
        assert_int_equal(account.by_share[i].pairs, expected[i]);
    }
    size_t classes[3] = {0};
    for (size_t i = 0; i < PLANNED; i++)
        classes[pairs[i].prediction.size_risk]++;
    /* Below 3000 MB; to 4000 MB; above. */
    assert_int_equal(classes[RISK_STABLE], 5);
    assert_int_equal(classes[RISK_USABLE], 6);
    assert_int_equal(classes[RISK_HIGH], 1);
    /* On one ten times as large the same memory is a tenth of its share: all are ultra-low, and
     * stable. */
    begin(&study, pairs, 80);
    limits_count(&study, &account);
    assert_int_equal(account.by_share[TIER_ULTRA_LOW].pairs, 12);
    assert_int_equal(account.by_size[TIER_MEDIUM].pairs, 6);
    assert_true(pairs[PLANNED - 1].prediction.risk == RISK_STABLE);
    assert_true(pairs[PLANNED - 1].prediction.size_risk == RISK_HIGH);
}

static void what_the_study_expected_of_each_tier_is_beside_it(void **state)
{
    (void)state;
    static const double percent[TIER_COUNT] = {100, 100, 95, 80}, up_to_mb[] = {1300, 2700, 4000};
    for (size_t i = 0; i < TIER_COUNT; i++)
        assert_true(100 * limits_tiers[i].expected == percent[i]);
    for (size_t i = 0; i < TIER_HIGH; i++)
        assert_true(limits_tiers[i].up_to_bytes == up_to_mb[i] * MB &&
                    limits_tiers[i].up_to_share == up_to_mb[i] / 8000);
    char *risks = limits_risks_text();
    assert_string_equal(risks, "stable below 3000 MB, usable up to 4000 MB, high risk above");
    free(risks);
}

static void limits_belong_to_what_is_below_them_but_stable_ends_before_its_own(void **state)
{
    (void)state;
    assert_int_equal(limits_tier_of(1300 * MB), TIER_ULTRA_LOW);
    assert_int_equal(limits_tier_of(1300 * MB + 1), TIER_LOW);
    assert_int_equal(limits_tier_of(2700 * MB), TIER_LOW);
    assert_int_equal(limits_tier_of(4000 * MB), TIER_MEDIUM);
    assert_int_equal(limits_tier_of(4000 * MB + 1), TIER_HIGH);
    assert_int_equal(limits_risk_of(3000 * MB - 1), RISK_STABLE);
    assert_int_equal(limits_risk_of(3000 * MB), RISK_USABLE);
    assert_int_equal(limits_risk_of(4000 * MB), RISK_USABLE);
    assert_int_equal(limits_risk_of(4000 * MB + 1), RISK_HIGH);
}

static void criteria(const struct feasibility *study, const char *expected)
{
    struct pairs_criterion of[LIMITS_CRITERIA];
    char got[LIMITS_CRITERIA + 1] = "";
    limits_criteria(study, of);
    for (size_t i = 0; i < LIMITS_CRITERIA; i++)
        got[i] = !of[i].known ? '?' : of[i].met ? '+' : '-';
    assert_string_equal(got, expected);
}

static void one_of_twelve_may_fail_and_none_may_take_7500_megabytes(void **state)
{
    (void)state;
    struct pairs_pair pairs[PLANNED];
    struct feasibility study;
    struct limits_account account;
    begin(&study, pairs, 8);
    criteria(&study, "++++");
    pairs[11].outcome.out_of_memory = true;
    criteria(&study, "++++");
    pairs[10].outcome.background_failed = true;
    criteria(&study, "-+++");
    limits_count(&study, &account);
    assert_true(limits_rate(&account.by_size[TIER_MEDIUM]).value == 5.0 / 6);
    assert_true(limits_rate(&account.by_size[TIER_HIGH]).value == 0);
    /* 7500 MB are 93.75 % of 8 GB. */
    pairs[0].outcome.peak_bytes.value = 7500 * MB;
    criteria(&study, "--++");
    pairs[0].outcome.peak_bytes.value = 7520 * MB;
    criteria(&study, "---+");
    struct pairs_criterion of[LIMITS_CRITERIA];
    limits_criteria(&study, of);
    assert_string_equal(of[0].detail, "10 of 12 pairs, at least 11 are asked for");
    assert_string_equal(of[1].detail, "the largest has 7520 MB, less than 7500 MB is asked for");
    assert_string_equal(of[2].detail, "the largest has 94.0 %, less than 94 % is asked for");
}

static void metrics_are_asked_of_each_and_energy_where_any_was_measured(void **state)
{
    (void)state;
    struct pairs_pair pairs[PLANNED];
    struct feasibility study;
    begin(&study, pairs, 8);
    pairs[3].outcome.pair_joules.valid = false;
    criteria(&study, "+++-");
    for (size_t i = 0; i < PLANNED; i++)
        pairs[i].outcome.pair_joules.valid = false;
    criteria(&study, "++++");
    pairs[3].outcome.metrics = 0;
    criteria(&study, "+++-");
}

static void criteria_are_not_known_of_pairs_that_never_ran(void **state)
{
    (void)state;
    struct pairs_pair pairs[PLANNED];
    struct feasibility study;
    struct limits_account account;
    begin(&study, pairs, 8);
    for (size_t i = 0; i < PLANNED; i++) {
        pairs[i].outcome = (struct pairs_outcome){0};
        pairs[i].prediction = (struct pairs_prediction){0};
    }
    criteria(&study, "????");
    limits_count(&study, &account);
    assert_int_equal(account.by_size[TIER_COUNT].pairs, 12);
    assert_false(limits_rate(&account.by_size[TIER_COUNT]).valid);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_twelve_pairs_fall_into_the_documents_tiers_and_classes),
        cmocka_unit_test(what_the_study_expected_of_each_tier_is_beside_it),
        cmocka_unit_test(limits_belong_to_what_is_below_them_but_stable_ends_before_its_own),
        cmocka_unit_test(one_of_twelve_may_fail_and_none_may_take_7500_megabytes),
        cmocka_unit_test(metrics_are_asked_of_each_and_energy_where_any_was_measured),
        cmocka_unit_test(criteria_are_not_known_of_pairs_that_never_ran),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
