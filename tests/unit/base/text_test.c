#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static void pieces_follow_each_other_and_end_in_a_nul(void **state)
{
    (void)state;
    AUTO_TEXT struct text text = {0};
    text_add(&text, "epoch");
    text_add_char(&text, ' ');
    text_addf(&text, "%d/%d", 3, 10);
    text_add_bytes(&text, "\0ab", 3);
    assert_int_equal(text.length, 13);
    assert_memory_equal(text.data, "epoch 3/10\0ab", 14);
}

static void an_untouched_text_reads_as_empty(void **state)
{
    (void)state;
    struct text text = {0};
    assert_string_equal(text_get(&text), "");
    text_add_bytes(&text, NULL, 0);
    assert_string_equal(text_get(&text), "");
    text_fini(&text);
    assert_null(text.data);
}

static void cleared_text_keeps_its_memory(void **state)
{
    (void)state;
    AUTO_TEXT struct text text = {0};
    text_clear(&text);
    assert_string_equal(text_get(&text), "");
    text_add(&text, "something");
    size_t capacity = text.capacity;
    text_clear(&text);
    assert_int_equal(text.length, 0);
    assert_int_equal(text.capacity, capacity);
    assert_string_equal(text_get(&text), "");
}

static void taken_bytes_are_the_caller_s_and_never_null(void **state)
{
    (void)state;
    struct text text = {0};
    text_add(&text, "mine");
    AUTO_FREE char *mine = text_take(&text);
    assert_string_equal(mine, "mine");
    assert_null(text.data);
    assert_int_equal(text.length, 0);
    AUTO_FREE char *nothing = text_take(&text);
    assert_string_equal(nothing, "");
}

static void a_long_text_arrives_whole(void **state)
{
    (void)state;
    AUTO_TEXT struct text text = {0};
    for (int i = 0; i < 100000; i++)
        text_add_char(&text, (char)('a' + i % 26));
    assert_int_equal(text.length, 100000);
    for (int i = 0; i < 100000; i++)
        assert_int_equal(text.data[i], 'a' + i % 26);
    assert_int_equal(text.data[100000], '\0');
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_follow_each_other_and_end_in_a_nul),
        cmocka_unit_test(an_untouched_text_reads_as_empty),
        cmocka_unit_test(cleared_text_keeps_its_memory),
        cmocka_unit_test(taken_bytes_are_the_caller_s_and_never_null),
        cmocka_unit_test(a_long_text_arrives_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
