/* Sides and places that are made up: the largest difference comes first, and names its extremes. */
#include "base/mem.h"
#include "report/memory_compare.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static void add_place(struct memory_comparison *comparison, const char *where, uint64_t first,
                      uint64_t second, uint64_t third)
{
    uint64_t bytes[] = {first, second, third};
    struct memory_change change = {.where = mem_strdup(where), .bytes = mem_array(3, 8)};
    memcpy(change.bytes, bytes, sizeof bytes);
    MEM_ADD(comparison->changes, comparison->change_count) = change;
}

static void the_largest_difference_comes_first(void **state)
{
    (void)state;
    AUTO_TEXT struct text text = {0};
    AUTO(memory_compare_fini) struct memory_comparison comparison;
    memory_compare_begin(3, &comparison);
    for (; comparison.count < 3; comparison.count++)
        comparison.sides[comparison.count].file = mem_strdup("rank.pickle");
    add_place(&comparison, "same (a.py:1)", 4096, 4096, 4096);
    add_place(&comparison, "less (b.py:2)", 3072, 2048, 1024);
    add_place(&comparison, "more (c.py:3)", 1024, 5120, 2048);
    memory_compare_sort(&comparison);
    assert_string_equal(comparison.changes[0].where, "more (c.py:3)");
    assert_string_equal(comparison.changes[1].where, "less (b.py:2)");
    memory_compare_text(&comparison, 8, 0, &text);
    assert_non_null(strstr(text_get(&text), "4.0 KiB  1.0 KiB   1  5.0 KiB   2  "));
    assert_non_null(strstr(text_get(&text), "2.0 KiB  1.0 KiB   3  3.0 KiB   1  "));
    assert_null(strstr(text_get(&text), "same (a.py:1)"));
    json_t *json = memory_compare_json(&comparison, 1);
    assert_int_equal(json_array_size(json_object_get(json, "places")), 1);
    assert_int_equal(json_array_size(json_object_get(json, "snapshots")), 3);
    json_decref(json);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_largest_difference_comes_first)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
