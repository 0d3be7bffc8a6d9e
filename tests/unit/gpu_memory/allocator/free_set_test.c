/* The ordered set of free blocks against a plain sorted list. */
#include "gpu_memory/allocator/free_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#define MANY 3000

struct plain {
    struct free_key keys[MANY];
    size_t count;
};

static int order(const void *a, const void *b)
{
    const struct free_key *one = a, *two = b;
    if (one->size != two->size)
        return one->size < two->size ? -1 : 1;
    if (one->addr != two->addr)
        return one->addr < two->addr ? -1 : 1;
    return one->block < two->block ? -1 : one->block > two->block;
}

static void assert_same(const struct free_set *set, struct plain *plain)
{
    struct free_place place;
    size_t i = 0;
    qsort(plain->keys, plain->count, sizeof *plain->keys, order);
    for (bool more = free_set_first(set, &place); more; more = free_set_next(set, &place), i++) {
        assert_true(i < plain->count);
        assert_int_equal(order(free_set_get(set, place), &plain->keys[i]), 0);
    }
    assert_int_equal(i, plain->count);
    for (bool more = free_set_last(set, &place); more; more = free_set_previous(set, &place))
        assert_int_equal(order(free_set_get(set, place), &plain->keys[--i]), 0);
    assert_int_equal(i, 0);
}

static void assert_found(const struct free_set *set, const struct plain *plain, uint64_t size)
{
    size_t i = 0;
    struct free_place place;
    while (i < plain->count && plain->keys[i].size < size)
        i++;
    assert_int_equal(free_set_at_least(set, size, &place), i < plain->count);
    if (i < plain->count)
        assert_int_equal(order(free_set_get(set, place), &plain->keys[i]), 0);
}

static uint64_t draw(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

static void it_holds_what_a_sorted_list_holds(void **state)
{
    (void)state;
    static struct plain plain;
    struct free_set set = {0};
    uint64_t seed = 11;
    for (size_t turn = 0; turn < 20000; turn++) {
        bool grow = turn % 5000 < 3000;
        if (plain.count < MANY && (grow || plain.count == 0)) {
            struct free_key key = {
                .size = draw(&seed) % 40, .addr = draw(&seed) % 1000, .block = (uint32_t)turn};
            free_set_insert(&set, key);
            plain.keys[plain.count++] = key;
        } else {
            size_t gone = draw(&seed) % plain.count;
            assert_true(free_set_remove(&set, plain.keys[gone]));
            plain.keys[gone] = plain.keys[--plain.count];
        }
        if (turn % 500 == 499) {
            assert_same(&set, &plain);
            for (uint64_t size = 0; size < 42; size++)
                assert_found(&set, &plain, size);
        }
    }
    free_set_fini(&set);
}

static void an_empty_set_has_nothing(void **state)
{
    (void)state;
    struct free_set set = {0};
    struct free_place place;
    assert_false(free_set_first(&set, &place));
    assert_false(free_set_last(&set, &place));
    assert_false(free_set_at_least(&set, 0, &place));
    assert_false(free_set_remove(&set, (struct free_key){.size = 1}));
    free_set_insert(&set, (struct free_key){.size = 5, .addr = 7, .block = 1});
    assert_false(free_set_remove(&set, (struct free_key){.size = 5, .addr = 7, .block = 2}));
    assert_true(free_set_remove(&set, (struct free_key){.size = 5, .addr = 7, .block = 1}));
    assert_false(free_set_first(&set, &place));
    free_set_fini(&set);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_holds_what_a_sorted_list_holds),
        cmocka_unit_test(an_empty_set_has_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
