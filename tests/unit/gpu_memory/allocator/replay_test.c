/* The traces of tests/data/memory replayed: as recorded, and under settings and caps whose outcome
 * was worked out by hand. */
#include "gpu_memory/allocator/usage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "opened.h"

static struct replay try(const struct record *record, const char *conf, uint64_t cap_bytes)
{
    struct alloc_settings settings;
    struct replay replay;
    assert_true(conf_parse(conf, &settings, NULL));
    replay_predict(&record->snapshot, 0, &record->program, &settings, cap_bytes, 0, &replay);
    return replay;
}

/* 30 MiB given back, 40 asked for, then 12 that are placed in the 30 when they are still there, in
 * a new segment of 12 when not. */
static void a_cap_costs_a_retry_or_fails_where_it_must(void **state)
{
    (void)state;
    struct record record;
    open_record("cap", MODEL_NO_CAP, &record);
    struct replay free_run = try(&record, "", MODEL_NO_CAP), tight = try(&record, "", 52 * MIB),
                  less = try(&record, "", 50 * MIB), least = try(&record, "", 39 * MIB);
    assert_int_equal(free_run.outcome, REPLAY_FITS);
    assert_int_equal(free_run.stats.reserved.peak, 70 * MIB);
    assert_int_equal(tight.outcome, REPLAY_FITS);
    assert_int_equal(tight.stats.reserved.peak, 52 * MIB);
    assert_int_equal(tight.stats.retries, 1);
    assert_int_equal(less.outcome, REPLAY_FAILS); /* at the 12 MiB, event 6: 40 + 12 > 50 */
    assert_int_equal(less.refusal.event, 6);
    assert_int_equal(less.refusal.size_bytes, 12 * MIB);
    assert_int_equal(less.stats.retries, 2);
    assert_int_equal(least.outcome, REPLAY_FAILS); /* at the 40 MiB, event 5 */
    assert_int_equal(least.refusal.event, 5);
    assert_int_equal(least.refusal.segment_bytes, 40 * MIB);
    close_record(&record);
}

/* In pages of 20 MiB: 30 take 40, then 40 fit in them, and 12 more need one page, 60. */
static void expandable_segments_need_what_their_pages_come_to(void **state)
{
    (void)state;
    struct record record;
    open_record("cap", MODEL_NO_CAP, &record);
    struct replay replay = try(&record, "expandable_segments:True", MODEL_NO_CAP);
    assert_int_equal(replay.stats.reserved.peak, 60 * MIB);
    assert_int_equal(replay.outcome, REPLAY_FITS);
    close_record(&record);
}

/* 33 MiB with 4 divisions are 40 MiB (steps of 8); 30 are 32, 12 are 12. */
static void divisions_round_the_segments(void **state)
{
    (void)state;
    struct record record;
    open_record("cap", MODEL_NO_CAP, &record);
    struct replay replay = try(&record, "roundup_power2_divisions:4", MODEL_NO_CAP);
    assert_int_equal(replay.stats.reserved.peak, 72 * MIB);
    close_record(&record);
}

/* 60 MiB that go back at once do not fit beside 30 under 80 MiB: a workspace may be refused; the 10
 * MiB after it fit. Under 35 MiB the 10 MiB do not fit either, but what the program does after a
 * refused workspace is not known. */
static void a_refused_workspace_is_told_apart(void **state)
{
    (void)state;
    struct record record;
    open_record("workspace", MODEL_NO_CAP, &record);
    struct replay survives = try(&record, "", 80 * MIB), unsure = try(&record, "", 35 * MIB);
    assert_int_equal(survives.outcome, REPLAY_SURVIVES);
    assert_int_equal(survives.refusals, 1);
    assert_int_equal(survives.refusal.event, 3);
    assert_true(survives.refusal.survivable);
    assert_int_equal(survives.stats.reserved.peak, 40 * MIB);
    assert_int_equal(unsure.outcome, REPLAY_UNCERTAIN);
    assert_int_equal(unsure.refusal.event, 6);
    close_record(&record);
}

static void beyond_a_recorded_out_of_memory_nothing_is_known(void **state)
{
    (void)state;
    struct record record;
    open_record("oom", MODEL_NO_CAP, &record);
    struct replay larger = try(&record, "", 80 * MIB), same = try(&record, "", 50 * MIB);
    assert_int_equal(larger.outcome, REPLAY_FITS);
    assert_true(larger.beyond);
    assert_int_equal(same.outcome, REPLAY_FAILS);
    assert_int_equal(same.refusal.event, 7);
    close_record(&record);
}

static void what_is_alive_is_grouped_by_place(void **state)
{
    (void)state;
    struct record record;
    struct owners owners;
    size_t count;
    open_record("stacks", MODEL_NO_CAP, &record);
    owners_find(&record.snapshot, 0, &record.program, &owners);
    struct owner_row *rows = owners_alive(&owners, &record.program, UINT32_MAX - 1, &count);
    assert_int_equal(count, 2);
    assert_int_equal(rows[0].bytes, 12 * MIB);
    struct place place = owner_place(&record.snapshot, &owners.items[rows[0].owner]);
    assert_int_equal(place.frame->line, 31);
    assert_int_equal(rows[1].bytes, 4 * MIB);
    assert_int_equal(rows[1].count, 2);
    assert_int_equal(rows[1].largest_bytes, 2 * MIB);
    free(rows);
    rows = owners_alive(&owners, &record.program, 3, &count); /* after the first of the two */
    assert_int_equal(rows[1].count, 1);
    free(rows);
    owners_fini(&owners);
    close_record(&record);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cap_costs_a_retry_or_fails_where_it_must),
        cmocka_unit_test(expandable_segments_need_what_their_pages_come_to),
        cmocka_unit_test(divisions_round_the_segments),
        cmocka_unit_test(a_refused_workspace_is_told_apart),
        cmocka_unit_test(beyond_a_recorded_out_of_memory_nothing_is_known),
        cmocka_unit_test(what_is_alive_is_grouped_by_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
