/* The traces of tests/data/memory replayed: as recorded, and under settings and caps whose outcome
 * was worked out by hand. */
#include "base/mem.h"
#include "gpu_memory/allocator/check.h"
#include "gpu_memory/allocator/recommend.h"
#include "gpu_memory/allocator/usage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#define MIB (UINT64_C(1) << 20)

struct record {
    struct snapshot snapshot;
    struct program program;
    struct check check;
};

static void open_record(const char *name, uint64_t cap_bytes, struct record *out)
{
    struct err err = {0};
    AUTO_FREE char *path = mem_printf(PROJECT_ROOT "/tests/data/memory/%s.pickle", name);
    if (!snapshot_load(path, &out->snapshot, &err))
        fail_msg("%s", err.text);
    assert_true(program_build(&out->snapshot, 0, &out->program, NULL));
    check_run(&out->snapshot, 0, &out->program, cap_bytes, 0, &out->check);
    program_add_empty_caches(&out->program, out->check.empty_caches, out->check.empty_cache_count);
}

static void close_record(struct record *record)
{
    check_fini(&record->check);
    program_fini(&record->program);
    snapshot_fini(&record->snapshot);
}

static struct replay try(const struct record *record, const char *conf, uint64_t cap_bytes)
{
    struct alloc_settings settings;
    struct replay replay;
    assert_true(conf_parse(conf, &settings, NULL));
    replay_predict(&record->snapshot, 0, &record->program, &settings, cap_bytes, 0, &replay);
    return replay;
}

static void records_are_repeated_exactly(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t peak_reserved, allocated, inactive_split;
        size_t events, empty_caches, ooms, retries;
        bool complete;
    } rows[] = {
        /* allocated: 512 + 614912 + 3 MiB (its rest is not split off) + 12 MiB */
        {"split", 22 * MIB, 615424 + 15 * MIB, 22 * MIB - 615424 - 15 * MIB, 12, 0, 0, 0, true},
        {"proto2", 22 * MIB, 615424 + 15 * MIB, 22 * MIB - 615424 - 15 * MIB, 12, 0, 0, 0, true},
        {"early", 22 * MIB, 615424 + 15 * MIB, 22 * MIB - 615424 - 15 * MIB, 6, 0, 0, 0, false},
        {"emptied", 24 * MIB, 24 * MIB, 0, 9, 1, 0, 0, true},
        {"cap", 70 * MIB, 52 * MIB, 18 * MIB, 7, 0, 0, 0, true},
        {"oom", 50 * MIB, 30 * MIB, 0, 8, 0, 1, 1, true},
        {"expandable", 40 * MIB, 30 * MIB, 0, 9, 0, 0, 0, true},
        {"streams", 36 * MIB, 24 * MIB, 0, 10, 0, 0, 0, true},
        {"stacks", 32 * MIB, 16 * MIB, 16 * MIB, 5, 0, 0, 0, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct record record;
        open_record(rows[i].name, MODEL_NO_CAP, &record);
        if (!record.check.exact)
            fail_msg("%s: %s", rows[i].name, record.check.difference);
        assert_int_equal(record.check.events, rows[i].events);
        assert_int_equal(record.check.complete, rows[i].complete);
        assert_int_equal(record.check.empty_cache_count, rows[i].empty_caches);
        assert_int_equal(record.check.stats.reserved.peak, rows[i].peak_reserved);
        assert_int_equal(record.check.stats.allocated.now, rows[i].allocated);
        assert_int_equal(record.check.stats.inactive_split.now, rows[i].inactive_split);
        assert_int_equal(record.check.stats.ooms, rows[i].ooms);
        assert_int_equal(record.check.stats.retries, rows[i].retries);
        close_record(&record);
    }
}

/* One byte in one event, and the check says which event. */
static void a_record_that_no_allocator_made_is_not_exact(void **state)
{
    (void)state;
    struct record record;
    open_record("split", MODEL_NO_CAP, &record);
    check_fini(&record.check);
    record.snapshot.devices[0].events[8].addr += 512;
    check_run(&record.snapshot, 0, &record.program, MODEL_NO_CAP, 0, &record.check);
    assert_false(record.check.exact);
    assert_int_equal(record.check.differs_at, 8);
    assert_non_null(
        strstr(record.check.difference, "the record has alloc of 2621440 bytes at 0x7efffe000200"));
    record.snapshot.devices[0].events[8].addr -= 512;
    record.snapshot.blocks[0].size_bytes += 512;
    check_fini(&record.check);
    check_run(&record.snapshot, 0, &record.program, MODEL_NO_CAP, 0, &record.check);
    assert_false(record.check.exact);
    assert_int_equal(record.check.differs_at, 12);
    close_record(&record);
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

/* 30 + 40 + 12: the least that any setting can do is 52, which 30 kept for nothing do not allow;
 * and pages of 20 make 60. */
static void the_recommendation_is_the_setting_that_needs_least(void **state)
{
    (void)state;
    struct record record;
    struct recommendation got;
    open_record("cap", MODEL_NO_CAP, &record);
    recommend_run(&record.snapshot, 0, &record.program, 0, &got);
    assert_int_equal(got.advices[0].least_bytes, 52 * MIB);
    assert_true(got.advices[0].recorded);
    for (size_t i = 0; i < got.count; i++) {
        assert_true(got.advices[i].least_bytes >= 52 * MIB);
        if (got.advices[i].settings.expandable)
            assert_int_equal(got.advices[i].least_bytes, 52 * MIB + 8 * MIB);
    }
    recommend_fini(&got);
    close_record(&record);
}

static void gpus_are_counted_by_what_can_be_used(void **state)
{
    (void)state;
    /* 24 GiB: 21.6 less 0.7 are 20.9 */
    assert_int_equal(gpu_size_for(UINT64_C(209) * (UINT64_C(1) << 30) / 10 - MIB)->gib, 24);
    assert_int_equal(gpu_size_for(UINT64_C(210) * (UINT64_C(1) << 30) / 10)->gib, 32);
    assert_int_equal(gpu_size_for(0)->gib, 8);
    assert_null(gpu_size_for(UINT64_C(300) << 30));
}

static void the_layout_is_summed_by_pool_and_stream(void **state)
{
    (void)state;
    struct record record;
    struct usage_layout layout;
    open_record("split", MODEL_NO_CAP, &record);
    usage_layout(&record.snapshot, 0, &layout);
    assert_int_equal(layout.pool_count, 2);
    assert_false(layout.pools[0].small);
    assert_int_equal(layout.pools[0].sum.allocated, 15 * MIB);
    assert_int_equal(layout.pools[0].sum.inactive_split, 5 * MIB);
    assert_int_equal(layout.pools[0].sum.largest_free, 5 * MIB);
    assert_int_equal(layout.pools[1].sum.inactive_split, 614400 + 867328);
    assert_int_equal(layout.pools[1].sum.largest_free, 867328);
    assert_int_equal(layout.total.requested, 100 + 614401 + 2621440 + 12 * MIB);
    assert_int_equal(layout.total.inactive_whole, 0);
    usage_layout_fini(&layout);
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
        cmocka_unit_test(records_are_repeated_exactly),
        cmocka_unit_test(a_record_that_no_allocator_made_is_not_exact),
        cmocka_unit_test(a_cap_costs_a_retry_or_fails_where_it_must),
        cmocka_unit_test(expandable_segments_need_what_their_pages_come_to),
        cmocka_unit_test(divisions_round_the_segments),
        cmocka_unit_test(a_refused_workspace_is_told_apart),
        cmocka_unit_test(beyond_a_recorded_out_of_memory_nothing_is_known),
        cmocka_unit_test(the_recommendation_is_the_setting_that_needs_least),
        cmocka_unit_test(gpus_are_counted_by_what_can_be_used),
        cmocka_unit_test(the_layout_is_summed_by_pool_and_stream),
        cmocka_unit_test(what_is_alive_is_grouped_by_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
