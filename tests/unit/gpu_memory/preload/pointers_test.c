#include "gpu_memory/preload/pointers.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 20000 };

/* Addresses as CUDA gives them: multiples of 256. */
static uint64_t key_of(size_t i)
{
    return UINT64_C(0x7f0000000000) + 256 * (uint64_t)i;
}

static void put(struct pointers *pointers, size_t i, void *owner)
{
    assert_true(pointers_put(pointers, &(struct pointer_entry){.key = key_of(i),
                                                               .live = i + 1,
                                                               .held = 2 * i,
                                                               .owner = owner,
                                                               .kind = MEMORY_ASYNC,
                                                               .gpu = 3}));
}

static void what_was_put_is_found_once(void **state)
{
    (void)state;
    struct pointers pointers = {0};
    struct pointer_entry entry;
    assert_false(pointers_remove(&pointers, key_of(1), &entry));
    put(&pointers, 1, &pointers);
    assert_false(pointers_remove(&pointers, key_of(2), &entry));
    assert_false(pointers_remove(&pointers, 0, &entry));
    assert_true(pointers_remove(&pointers, key_of(1), &entry));
    assert_int_equal(entry.live, 2);
    assert_int_equal(entry.held, 2);
    assert_int_equal(entry.kind, MEMORY_ASYNC);
    assert_int_equal(entry.gpu, 3);
    assert_ptr_equal(entry.owner, &pointers);
    assert_false(pointers_remove(&pointers, key_of(1), &entry));
    assert_int_equal(pointers.used, 0);
}

static void an_entry_of_the_same_key_is_replaced(void **state)
{
    (void)state;
    struct pointers pointers = {0};
    struct pointer_entry entry;
    put(&pointers, 7, NULL);
    put(&pointers, 7, &pointers);
    assert_int_equal(pointers.used, 1);
    assert_true(pointers_remove(&pointers, key_of(7), &entry));
    assert_ptr_equal(entry.owner, &pointers);
    assert_false(pointers_remove(&pointers, key_of(7), &entry));
}

static void thousands_are_found_while_others_come_and_go(void **state)
{
    (void)state;
    struct pointers pointers = {0};
    struct pointer_entry entry;
    for (size_t i = 0; i < MANY; i++) {
        put(&pointers, i, NULL);
        /* at most three quarters full, so that a look-up ends soon */
        assert_true(pointers.used * 4 <= pointers.capacity * 3);
    }
    assert_int_equal(pointers.used, MANY);
    for (size_t i = 0; i < MANY; i += 2) {
        assert_true(pointers_remove(&pointers, key_of(i), &entry));
        assert_int_equal(entry.live, i + 1);
    }
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(pointers_remove(&pointers, key_of(i), &entry), i % 2);
    assert_int_equal(pointers.used, 0);
}

static void all_of_an_owner_go_and_nothing_else(void **state)
{
    (void)state;
    static char owners[3];
    struct pointers pointers = {0};
    struct pointer_entry entry;
    size_t at = 0, count = 0, sum = 0;
    for (size_t i = 0; i < 3000; i++)
        put(&pointers, i, &owners[i % 3]);
    while (pointers_remove_of(&pointers, &owners[1], &at, &entry)) {
        assert_ptr_equal(entry.owner, &owners[1]);
        count++;
        sum += (size_t)entry.live;
    }
    assert_int_equal(count, 1000);
    assert_int_equal(sum, 1500500); /* 2 + 5 + ... + 2999 */
    assert_int_equal(pointers.used, 2000);
    for (size_t i = 0; i < 3000; i++)
        assert_int_equal(pointers_remove(&pointers, key_of(i), &entry), i % 3 != 1);
}

static void a_forked_child_finds_none(void **state)
{
    (void)state;
    struct pointers pointers = {0};
    struct pointer_entry entry;
    int status;
    put(&pointers, 1, NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(pointers_remove(&pointers, key_of(1), &entry) ? 1 : 7);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_true(pointers_remove(&pointers, key_of(1), &entry));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_is_found_once),
        cmocka_unit_test(an_entry_of_the_same_key_is_replaced),
        cmocka_unit_test(thousands_are_found_while_others_come_and_go),
        cmocka_unit_test(all_of_an_owner_go_and_nothing_else),
        cmocka_unit_test(a_forked_child_finds_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
