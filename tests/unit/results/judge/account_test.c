/* Counts before and after a moment, and criteria. */
#include "results/judge/account.h"
#include "results/judge/audit_tables.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "fixture.h"

#include "base/clock.h"

#include <math.h>
#include <string.h>

/* Ten of a minute, an hour apart; the last four fail. */
static void begin(struct fixture *fixture, struct dataset *dataset, int failing)
{
    fixture_begin(fixture);
    for (int i = 0; i < 20; i++)
        fixture_add(fixture, &(struct fixture_run){.watts = 200 + i % 3,
                                                   .failed = i >= 20 - failing,
                                                   .no_metrics = i >= 20 - failing});
    fixture_judge(fixture, dataset);
}

static void end(struct fixture *fixture, struct dataset *dataset)
{
    dataset_fini(dataset);
    fixture_end(fixture);
}

/* The sixth runs from 21:00:00 to 21:01:00 local time. */
static void a_moment_within_an_experiment_overlaps_it(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    struct account account;
    struct err err;
    static const struct {
        const char *at;
        size_t before, overlapping, after;
    } rows[] = {{"2025-11-18 21:00:30", 5, 1, 14},   {"2025-11-18 21:00:00", 5, 0, 15},
                {"2025-11-18T21:01:00", 5, 1, 14}, /* it ended at this moment, not before it */
                {"2025-11-18 21:01:00.5", 6, 0, 14}, {"2025-11-19", 8, 0, 12},
                {"2030-01-01 00:00", 20, 0, 0}};
    begin(&fixture, &dataset, 8);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(account_make(&dataset, rows[i].at, &account, &err));
        assert_int_equal(account.split.rows[0].total, rows[i].before);
        assert_int_equal(account.split.rows[1].total, rows[i].overlapping);
        assert_int_equal(account.split.rows[2].total, rows[i].after);
        account_fini(&account);
    }
    assert_true(account_make(&dataset, "2025-11-18 21:00:30", &account, &err));
    assert_int_equal(account.split.rows[0].succeeded, 5);
    assert_int_equal(account.split.rows[2].succeeded, 6);
    assert_int_equal(account.split.rows[2].failed, 8);
    account_fini(&account);
    end(&fixture, &dataset);
}

static void a_time_that_is_none_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"yesterday",        "2025-13-01",        "2025-02-31",
                                        "2025-11-18 25:00", "2025-11-18 21:00x", ""};
    struct dataset dataset = {0};
    struct account account;
    struct err err;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (account_make(&dataset, texts[i], &account, &err))
            fail_msg("'%s' was taken", texts[i]);
}

/* Twelve succeed, then eight fail: the change lies where the first of the eight began. */
static void the_data_shows_where_it_changed(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    struct account account;
    struct err err;
    begin(&fixture, &dataset, 8);
    assert_true(account_make(&dataset, "auto", &account, &err));
    assert_true(account.split.found && account.split.automatic);
    assert_string_equal(account.split.series, "success");
    assert_true(account.split.p < 0.01);
    assert_int_equal(account.split.at_local_ns, (fixture_start_s(12) + FIXTURE_ZONE_S) * NS_PER_S);
    assert_int_equal(account.split.rows[0].total, 12);
    assert_int_equal(account.split.rows[2].failed, 8);
    account_fini(&account);
    end(&fixture, &dataset);
}

/* Six models one after another, of which the last two fail every other time. In the first, all
 * trainings with a batch size of 64 fail: that is their explanation. */
static void a_change_of_several_models_is_found_though_each_ran_on_one_side(void **state)
{
    (void)state;
    static const char *const models[] = {"a", "b", "c", "d", "e", "f"};
    struct fixture fixture;
    struct dataset dataset;
    struct account account;
    struct err err;
    fixture_begin(&fixture);
    for (int i = 0; i < 48; i++) {
        bool large = i < 8 && i % 2, failed = large || (i >= 32 && i % 2 == 0);
        fixture_add(&fixture, &(struct fixture_run){.model = models[i / 8],
                                                    .failed = failed,
                                                    .no_metrics = failed,
                                                    .batch_size = large ? 64 : 0});
    }
    fixture_judge(&fixture, &dataset);
    assert_true(account_make(&dataset, "auto", &account, &err));
    assert_true(account.split.found);
    assert_string_equal(account.split.series, "success");
    assert_int_equal(account.split.at_local_ns, (fixture_start_s(32) + FIXTURE_ZONE_S) * NS_PER_S);
    assert_true(account.split.new_models);
    AUTO_FREE char *ranges = audit_affected_ranges(&dataset, &account, 0);
    assert_string_equal(ranges, "e 33–40, f 41–48");
    account_fini(&account);
    end(&fixture, &dataset);
}

/* Twelve of one model succeed, then eight of another begin and fail: the plan explains it. */
static void a_new_model_that_fails_is_no_change(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    struct account account;
    struct err err;
    fixture_begin(&fixture);
    for (int i = 0; i < 20; i++)
        fixture_add(&fixture, &(struct fixture_run){.model = i < 12 ? "net" : "new",
                                                    .failed = i >= 12,
                                                    .no_metrics = i >= 12});
    fixture_judge(&fixture, &dataset);
    assert_true(account_make(&dataset, "auto", &account, &err));
    assert_false(account.split.found);
    account_fini(&account);
    end(&fixture, &dataset);
}

static void without_a_change_none_is_made_up(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    struct account account;
    struct err err;
    begin(&fixture, &dataset, 0);
    assert_true(account_make(&dataset, "auto", &account, &err));
    assert_false(account.split.found);
    account_fini(&account);
    end(&fixture, &dataset);
}

static void tables_count_what_is_there(void **state)
{
    (void)state;
    struct fixture fixture;
    struct dataset dataset;
    struct account account;
    struct err err;
    begin(&fixture, &dataset, 8);
    assert_true(account_make(&dataset, NULL, &account, &err));
    assert_int_equal(account.all.total, 20);
    assert_int_equal(account.all.succeeded, 12);
    assert_int_equal(account.all.verdicts[VERDICT_UNVERIFIED], 12);
    assert_int_equal(account.all.verdicts[VERDICT_NONE], 8); /* that failed */
    assert_int_equal(account.failures.count, 1);
    assert_string_equal(account.failures.rows[0].name, "it broke");
    assert_int_equal(account.failures.rows[0].total, 8);
    /* 16:01 of one day to 11:01 of the next: 20 hours, one each. */
    assert_int_equal(account.timeline.count, 20);
    assert_string_equal(account.timeline.rows[8].name, "2025-11-19 00:00");
    assert_int_equal(account.timeline.rows[8].total, 1);
    assert_true(fabs(account_success_rate(&account.all).value - 0.6) < 1e-12);
    assert_int_equal(account.integrity.rows, 20);
    assert_int_equal(account.integrity.folders, 20);
    account_fini(&account);
    end(&fixture, &dataset);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_moment_within_an_experiment_overlaps_it),
        cmocka_unit_test(a_time_that_is_none_is_refused),
        cmocka_unit_test(the_data_shows_where_it_changed),
        cmocka_unit_test(a_change_of_several_models_is_found_though_each_ran_on_one_side),
        cmocka_unit_test(a_new_model_that_fails_is_no_change),
        cmocka_unit_test(without_a_change_none_is_made_up),
        cmocka_unit_test(tables_count_what_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
