#include "machine/contain/thaw.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include <string.h>

static bool foreign(const char *path, const char *own)
{
    return thaw_folder_is_foreign(path, strlen(path), own);
}

static void a_freezer_that_holds_ourselves_is_not_touched(void **state)
{
    (void)state;
    assert_false(foreign("/", "/"));
    assert_false(foreign("/a", "/a"));
    assert_false(foreign("/a", "/a/b"));
    assert_false(foreign("", "/a"));
}

static void a_freezer_beside_or_below_ours_is_the_job_s(void **state)
{
    (void)state;
    assert_true(foreign("/a", "/"));
    assert_true(foreign("/a/b", "/a"));
    assert_true(foreign("/ab", "/a"));
    assert_true(foreign("/b", "/a"));
}

static void the_way_up_ends_where_we_are_too(void **state)
{
    (void)state;
    const char *path = "/own/x/y";
    size_t length = strlen(path);
    assert_true(thaw_folder_is_foreign(path, length, "/own"));
    length = thaw_folder_above(path, length);
    assert_int_equal(length, strlen("/own/x"));
    assert_true(thaw_folder_is_foreign(path, length, "/own"));
    length = thaw_folder_above(path, length);
    assert_int_equal(length, strlen("/own"));
    assert_false(thaw_folder_is_foreign(path, length, "/own"));
    assert_int_equal(thaw_folder_above("/a", 2), 0);
    assert_int_equal(thaw_folder_above("", 0), 0);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_freezer_that_holds_ourselves_is_not_touched),
        cmocka_unit_test(a_freezer_beside_or_below_ours_is_the_job_s),
        cmocka_unit_test(the_way_up_ends_where_we_are_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
