/* The allocator's rules, one by one: sizes, search, split, merge, growth, release. What each must
 * come to was worked out by hand. */
#include "base/text.h"
#include "gpu_memory/allocator/model_release.h"
#include "gpu_memory/allocator/model_request.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#define KIB UINT64_C(1024)
#define MIB (UINT64_C(1) << 20)

/* A device that gives segments at 1 GiB, 2 GiB, 3 GiB ..., and expandable ones at 1 TiB, 2 TiB
 * ... */
struct bench {
    struct model *model;
    struct text heard; /* "alloc@1G+0 " */
    uint64_t next, reserved;
};

static bool take(void *context, uint64_t size, uint64_t *addr)
{
    struct bench *bench = context;
    (void)size;
    *addr = ++bench->next << 30;
    return true;
}

static bool reserve(void *context, uint64_t size, uint64_t *addr)
{
    struct bench *bench = context;
    (void)size;
    *addr = ++bench->reserved << 40;
    return true;
}

static void give(void *context, uint64_t addr, uint64_t size)
{
    (void)context, (void)addr, (void)size;
}

static void listen(void *context, enum name action, uint64_t addr, uint64_t size, uint16_t stream)
{
    struct bench *bench = context;
    (void)stream;
    if (action == NAME_SEGMENT_ALLOC || action == NAME_SEGMENT_FREE)
        text_addf(&bench->heard, "%s %" PRIu64 "G %" PRIu64 "M; ",
                  action == NAME_SEGMENT_ALLOC ? "new" : "gone", addr >> 30, size >> 20);
    if (action == NAME_SEGMENT_MAP || action == NAME_SEGMENT_UNMAP)
        text_addf(&bench->heard, "%s %" PRIu64 "M %" PRIu64 "M; ",
                  action == NAME_SEGMENT_MAP ? "map" : "unmap",
                  (addr & ((UINT64_C(1) << 40) - 1)) >> 20, size >> 20);
    if (action == NAME_OOM)
        text_addf(&bench->heard, "oom %" PRIu64 "M; ", size >> 20);
}

static void open_bench(struct bench *bench, const char *conf, uint64_t cap_bytes)
{
    *bench = (struct bench){0};
    struct model_options options = {
        .cap_bytes = cap_bytes,
        .address_space_bytes = 1024 * MIB,
        .stream_count = 2,
        .pool_count = 1,
        .driver = {.take = take, .give = give, .reserve = reserve, .context = bench},
        .listener = listen,
        .listener_context = bench};
    assert_true(conf_parse(conf, &options.settings, NULL));
    bench->model = model_new(&options);
}

static void close_bench(struct bench *bench)
{
    model_free(bench->model);
    text_fini(&bench->heard);
}

static uint32_t ask(struct bench *bench, uint64_t size)
{
    return model_malloc(bench->model, 0, size, 0);
}

static void drop(struct bench *bench, uint32_t block)
{
    model_release(bench->model, block, false);
}

static uint64_t addr_of(const struct bench *bench, uint32_t block)
{
    assert_int_not_equal(block, MODEL_NONE);
    return model_block(bench->model, block)->addr;
}

#define HEARD(bench, expected)                                   \
    do {                                                         \
        assert_string_equal(text_get(&(bench).heard), expected); \
        text_clear(&(bench).heard);                              \
    } while (0)

static void a_large_rest_of_one_mib_is_not_split_off_a_small_one_of_512_is(void **state)
{
    (void)state;
    struct bench bench;
    open_bench(&bench, "", MODEL_NO_CAP);
    uint32_t large = ask(&bench, 11 * MIB), other = ask(&bench, 11 * MIB - 512);
    /* the rest is exactly 1 MiB */
    assert_int_equal(model_block(bench.model, large)->size, 12 * MIB);
    assert_int_equal(model_block(bench.model, other)->size, 11 * MIB - 512);
    uint32_t small = ask(&bench, MIB), rest = ask(&bench, MIB - 512), last = ask(&bench, 512);
    assert_int_equal(model_block(bench.model, small)->size, MIB);
    assert_int_equal(model_block(bench.model, rest)->size, MIB - 512);
    assert_int_equal(model_block(bench.model, last)->size, 512);
    assert_int_equal(model_stats(bench.model)->reserved.now, 26 * MIB);
    close_bench(&bench);
}

static void the_smallest_block_that_fits_is_taken_then_the_lowest(void **state)
{
    (void)state;
    struct bench bench;
    open_bench(&bench, "", MODEL_NO_CAP);
    uint32_t blocks[4];
    const uint64_t sizes[] = {30 * MIB, 20 * MIB, 24 * MIB, 20 * MIB};
    for (size_t i = 0; i < 4; i++)
        blocks[i] = ask(&bench, sizes[i]);
    for (size_t i = 4; i-- > 0;)
        drop(&bench, blocks[i]);
    HEARD(bench, "new 1G 30M; new 2G 20M; new 3G 24M; new 4G 20M; ");
    assert_int_equal(addr_of(&bench, ask(&bench, 20 * MIB)), UINT64_C(2) << 30);
    assert_int_equal(addr_of(&bench, ask(&bench, 20 * MIB)), UINT64_C(4) << 30);
    assert_int_equal(addr_of(&bench, ask(&bench, 20 * MIB)), UINT64_C(3) << 30);
    assert_int_equal(addr_of(&bench, ask(&bench, 6 * MIB)), UINT64_C(1) << 30);
    HEARD(bench, "");
    close_bench(&bench);
}

static uint64_t largest_free(const struct model *model)
{
    uint32_t at = 0, place = 0;
    uint64_t largest = 0;
    while (model_next_block(model, &at, &place)) {
        const struct model_block *block = model_block(model, place);
        if (!block->allocated && block->size > largest)
            largest = block->size;
    }
    return largest;
}

static void a_freed_block_merges_with_both_neighbours(void **state)
{
    (void)state;
    struct bench bench;
    open_bench(&bench, "", MODEL_NO_CAP);
    uint32_t one = ask(&bench, 4 * MIB), two = ask(&bench, 4 * MIB), three = ask(&bench, 4 * MIB);
    assert_int_equal(model_stats(bench.model)->inactive_split.now, 8 * MIB);
    drop(&bench, one);
    assert_int_equal(model_stats(bench.model)->inactive_split.now, 12 * MIB);
    drop(&bench, three);
    assert_int_equal(largest_free(bench.model), 12 * MIB);
    drop(&bench, two);
    assert_int_equal(largest_free(bench.model), 20 * MIB);
    assert_int_equal(model_stats(bench.model)->inactive_split.now, 0); /* the segment is whole */
    close_bench(&bench);
}

static void streams_do_not_share_and_small_and_large_do_not_either(void **state)
{
    (void)state;
    struct bench bench;
    open_bench(&bench, "", MODEL_NO_CAP);
    drop(&bench, ask(&bench, 20 * MIB));
    model_malloc(bench.model, 0, 20 * MIB, 1);
    ask(&bench, MIB);
    HEARD(bench, "new 1G 20M; new 2G 20M; new 3G 2M; ");
    close_bench(&bench);
}

static void the_cap_may_be_reached_but_not_passed(void **state)
{
    (void)state;
    struct bench bench;
    open_bench(&bench, "", 50 * MIB);
    uint32_t held = ask(&bench, 30 * MIB);
    drop(&bench, ask(&bench, 20 * MIB));
    HEARD(bench, "new 1G 30M; new 2G 20M; ");
    /* gives the free 20 back, and still 54 > 50 */
    assert_int_equal(ask(&bench, 24 * MIB), MODEL_NONE);
    HEARD(bench, "gone 2G 20M; oom 24M; ");
    assert_int_equal(model_stats(bench.model)->retries, 1);
    assert_int_equal(model_stats(bench.model)->ooms, 1);
    drop(&bench, held);
    assert_int_not_equal(ask(&bench, 50 * MIB), MODEL_NONE);
    HEARD(bench, "gone 1G 30M; new 3G 50M; ");
    assert_int_equal(model_stats(bench.model)->retries, 2);
    assert_int_equal(model_stats(bench.model)->reserved.peak, 50 * MIB);
    close_bench(&bench);
}

static void max_split_keeps_large_blocks_whole(void **state)
{
    (void)state;
    struct bench bench;
    open_bench(&bench, "max_split_size_mb:64", MODEL_NO_CAP);
    drop(&bench, ask(&bench, 100 * MIB));
    ask(&bench, 30 * MIB); /* below 64: may not take one of 100 */
    HEARD(bench, "new 1G 100M; new 2G 30M; ");
    ask(&bench, 78 * MIB); /* 100 >= 78 + 20: not that one */
    HEARD(bench, "new 3G 78M; ");
    uint32_t whole = ask(&bench, 82 * MIB); /* 100 < 82 + 20: taken, and not split */
    HEARD(bench, "");
    assert_int_equal(model_block(bench.model, whole)->size, 100 * MIB);
    close_bench(&bench);
}

/* With a bound on splitting, oversize blocks go first: the smallest that is enough, else the
 * largest ones. */
static void oversize_blocks_are_given_back_before_all_others(void **state)
{
    (void)state;
    struct bench bench;
    open_bench(&bench, "max_split_size_mb:64", 500 * MIB);
    uint32_t blocks[4];
    const uint64_t sizes[] = {40 * MIB, 130 * MIB, 160 * MIB, 100 * MIB};
    for (size_t i = 0; i < 4; i++)
        blocks[i] = ask(&bench, sizes[i]);
    for (size_t i = 0; i < 4; i++)
        drop(&bench, blocks[i]);
    text_clear(&bench.heard);
    /* 130 is 22 too large, 100 too small: a new one, for which 130 goes */
    ask(&bench, 110 * MIB - 2 * MIB);
    HEARD(bench, "gone 2G 130M; new 5G 108M; ");
    ask(&bench, 200 * MIB); /* no single one is enough: 160, then 100 */
    HEARD(bench, "gone 3G 160M; gone 4G 100M; new 6G 200M; ");
    assert_int_equal(model_stats(bench.model)->retries, 0);
    close_bench(&bench);
}

/* Threshold 0.5 of 100 MiB. Ages at the third request: the first block was freed two searches ago,
 * the second one. */
static void garbage_older_than_the_mean_is_collected(void **state)
{
    (void)state;
    struct bench bench;
    open_bench(&bench, "garbage_collection_threshold:0.5", 100 * MIB);
    uint32_t one = ask(&bench, 30 * MIB), two = ask(&bench, 26 * MIB);
    drop(&bench, one);
    ask(&bench, 10 * MIB); /* takes from the 30 */
    HEARD(bench, "new 1G 30M; new 2G 26M; ");
    drop(&bench, two);
    ask(&bench, 28 * MIB); /* 56 > 50: the whole 26 goes; 20 of the 30 are split off and stay */
    HEARD(bench, "gone 2G 26M; new 3G 28M; ");
    close_bench(&bench);
    open_bench(&bench, "garbage_collection_threshold:0.5", MODEL_NO_CAP);
    drop(&bench, ask(&bench, 600 * MIB));
    ask(&bench, 700 * MIB); /* without a cap nothing is collected */
    HEARD(bench, "new 1G 600M; new 2G 700M; ");
    close_bench(&bench);
}

static void an_expandable_segment_grows_by_pages_and_shrinks_on_release_only(void **state)
{
    (void)state;
    struct bench bench;
    open_bench(&bench, "expandable_segments:True", MODEL_NO_CAP);
    uint32_t one = ask(&bench, 12 * MIB), two = ask(&bench, 12 * MIB);
    HEARD(bench, "map 0M 20M; map 20M 20M; ");
    assert_int_equal(addr_of(&bench, two) - addr_of(&bench, one), 12 * MIB);
    ask(&bench, MIB); /* the small pool's own segment, in pages of 2 MiB */
    HEARD(bench, "map 0M 2M; ");
    drop(&bench, one);
    drop(&bench, two);
    HEARD(bench, "");
    uint32_t whole = ask(&bench, 41 * MIB); /* 40 are there: one page more */
    HEARD(bench, "map 40M 20M; ");
    drop(&bench, whole);
    uint32_t low = ask(&bench, 5 * MIB);
    assert_int_equal(model_stats(bench.model)->inactive_split.now, 0); /* not counted for these */
    model_empty_cache(bench.model); /* the free range begins at 5: whole pages from 20 on */
    HEARD(bench, "unmap 20M 40M; ");
    assert_int_equal(model_stats(bench.model)->reserved.now, 22 * MIB);
    drop(&bench, low);
    model_empty_cache(bench.model);
    HEARD(bench, "unmap 0M 20M; ");
    close_bench(&bench);
}

static void a_block_that_a_stream_still_uses_waits(void **state)
{
    (void)state;
    struct bench bench;
    open_bench(&bench, "", 50 * MIB);
    uint32_t awaited = ask(&bench, 30 * MIB);
    model_release(bench.model, awaited, true);
    assert_int_equal(model_stats(bench.model)->allocated.now, 0);
    assert_int_equal(model_stats(bench.model)->active.now, 30 * MIB);
    ask(&bench, 20 * MIB);
    HEARD(bench, "new 1G 30M; new 2G 20M; ");
    ask(&bench, 30 * MIB); /* nothing is left: the streams are waited for, what was awaited goes */
    HEARD(bench, "gone 1G 30M; new 3G 30M; ");
    model_complete(bench.model, awaited); /* its completion was taken already */
    assert_int_equal(model_stats(bench.model)->active.now, 50 * MIB);
    close_bench(&bench);
}

static void absurd_requests_are_refused(void **state)
{
    (void)state;
    struct bench bench;
    open_bench(&bench, "", MODEL_NO_CAP);
    assert_int_equal(ask(&bench, UINT64_MAX), MODEL_NONE);
    assert_int_equal(ask(&bench, UINT64_C(1) << 60), MODEL_NONE);
    assert_int_equal(model_stats(bench.model)->ooms, 2);
    close_bench(&bench);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_rest_of_one_mib_is_not_split_off_a_small_one_of_512_is),
        cmocka_unit_test(the_smallest_block_that_fits_is_taken_then_the_lowest),
        cmocka_unit_test(a_freed_block_merges_with_both_neighbours),
        cmocka_unit_test(streams_do_not_share_and_small_and_large_do_not_either),
        cmocka_unit_test(the_cap_may_be_reached_but_not_passed),
        cmocka_unit_test(max_split_keeps_large_blocks_whole),
        cmocka_unit_test(oversize_blocks_are_given_back_before_all_others),
        cmocka_unit_test(garbage_older_than_the_mean_is_collected),
        cmocka_unit_test(an_expandable_segment_grows_by_pages_and_shrinks_on_release_only),
        cmocka_unit_test(a_block_that_a_stream_still_uses_waits),
        cmocka_unit_test(absurd_requests_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
