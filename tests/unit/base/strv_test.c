#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/mem.h"
#include "base/strv.h"

static void a_list_ends_in_null_however_long_it_is(void **state)
{
    (void)state;
    AUTO_STRV struct strv list = {0};
    assert_null(list.items);
    for (size_t i = 0; i < 100; i++) {
        strv_add_owned(&list, mem_printf("%zu", i));
        assert_int_equal(list.count, i + 1);
        assert_null(list.items[i + 1]);
    }
    assert_string_equal(list.items[0], "0");
    assert_string_equal(list.items[99], "99");
}

static void added_strings_are_copies(void **state)
{
    (void)state;
    AUTO_STRV struct strv list = {0};
    AUTO_STRV struct strv more = {0};
    char name[] = "alpha";
    strv_add(&list, name);
    name[0] = 'X';
    strv_add(&more, "beta");
    strv_add(&more, "gamma");
    strv_add_all(&list, &more);
    strv_fini(&more);
    assert_int_equal(list.count, 3);
    assert_string_equal(list.items[0], "alpha");
    assert_string_equal(list.items[1], "beta");
    assert_string_equal(list.items[2], "gamma");
}

static void has_finds_whole_strings_only(void **state)
{
    (void)state;
    AUTO_STRV struct strv list = {0};
    assert_false(strv_has(&list, "a"));
    strv_add(&list, "alpha");
    assert_true(strv_has(&list, "alpha"));
    assert_false(strv_has(&list, "alph"));
    assert_false(strv_has(&list, ""));
    size_t count = list.count;
    strv_add_once(&list, "alpha");
    assert_int_equal(list.count, count);
    strv_add_once(&list, "alph");
    assert_int_equal(list.count, count + 1);
    assert_string_equal(list.items[count], "alph");
}

static void join_puts_the_separator_between_only(void **state)
{
    (void)state;
    AUTO_STRV struct strv list = {0};
    AUTO_FREE char *none = strv_join(&list, ", ");
    strv_add(&list, "a");
    AUTO_FREE char *one = strv_join(&list, ", ");
    strv_add(&list, "");
    strv_add(&list, "c");
    AUTO_FREE char *three = strv_join(&list, ", ");
    assert_string_equal(none, "");
    assert_string_equal(one, "a");
    assert_string_equal(three, "a, , c");
}

static void a_variable_set_twice_has_the_last_value(void **state)
{
    (void)state;
    AUTO_STRV struct strv env = {0};
    strv_env_set(&env, "PATH", "/usr/bin");
    strv_env_set(&env, "PATHS", "x");
    strv_env_set(&env, "EMPTY", "");
    strv_env_set(&env, "PATH", "/opt/a=b:/bin");
    assert_int_equal(env.count, 3);
    assert_string_equal(env.items[0], "PATH=/opt/a=b:/bin");
    assert_string_equal(strv_env_get(&env, "PATH"), "/opt/a=b:/bin");
    assert_string_equal(strv_env_get(&env, "PATHS"), "x");
    assert_string_equal(strv_env_get(&env, "EMPTY"), "");
    assert_null(strv_env_get(&env, "PAT"));
}

static void a_finished_list_is_empty_and_can_be_used_again(void **state)
{
    (void)state;
    struct strv list = {0};
    strv_add(&list, "a");
    strv_fini(&list);
    assert_int_equal(list.count, 0);
    assert_null(list.items);
    strv_add(&list, "b");
    assert_string_equal(list.items[0], "b");
    strv_fini(&list);
}

static void a_packed_list_holds_the_same_and_can_be_changed(void **state)
{
    (void)state;
    struct strv list = {0};
    strv_pack(&list);
    assert_null(list.items);
    strv_add(&list, "A=one");
    strv_add(&list, "");
    strv_add(&list, "B=two");
    strv_pack(&list);
    strv_pack(&list);
    assert_int_equal(list.count, 3);
    assert_string_equal(list.items[0], "A=one");
    assert_string_equal(list.items[1], "");
    assert_string_equal(list.items[2], "B=two");
    assert_null(list.items[3]);
    strv_env_set(&list, "B", "other");
    strv_pack(&list);
    strv_add(&list, "last");
    AUTO_FREE char *joined = strv_join(&list, "|");
    assert_string_equal(joined, "A=one||B=other|last");
    strv_pack(&list);
    strv_fini(&list);
    assert_null(list.items);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_ends_in_null_however_long_it_is),
        cmocka_unit_test(added_strings_are_copies),
        cmocka_unit_test(has_finds_whole_strings_only),
        cmocka_unit_test(join_puts_the_separator_between_only),
        cmocka_unit_test(a_variable_set_twice_has_the_last_value),
        cmocka_unit_test(a_packed_list_holds_the_same_and_can_be_changed),
        cmocka_unit_test(a_finished_list_is_empty_and_can_be_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
