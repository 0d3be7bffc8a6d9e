#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>

static void set_formats_the_text_and_clears_the_code(void **state)
{
    (void)state;
    struct err err = {.code = 5};
    assert_false(err_set(&err, "%s has %d rows", "a.csv", 3));
    assert_string_equal(err.text, "a.csv has 3 rows");
    assert_int_equal(err.code, 0);
}

static void sys_appends_the_reason_and_keeps_its_code(void **state)
{
    (void)state;
    struct err err = {0};
    errno = ENOENT;
    assert_false(err_sys(&err, "open %s", "x.json"));
    assert_string_equal(err.text, "open x.json: No such file or directory");
    assert_int_equal(err.code, ENOENT);
}

static void wrap_puts_what_was_tried_in_front_and_keeps_the_code(void **state)
{
    (void)state;
    struct err err = {.code = ENOSPC, .text = "write: No space left on device"};
    assert_false(err_wrap(&err, "run %d", 7));
    assert_string_equal(err.text, "run 7: write: No space left on device");
    assert_int_equal(err.code, ENOSPC);
}

static void wrapped_texts_longer_than_the_error_are_cut(void **state)
{
    (void)state;
    struct err err = {0};
    char longer[1500];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    err_set(&err, "%s", longer);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    err_wrap(&err, "front");
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_memory_equal(err.text, "front: xxx", 10);
    errno = EIO;
    err_sys(&err, "%s", longer);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_int_equal(err.code, EIO);
}

static void nobody_has_to_ask_for_the_text(void **state)
{
    (void)state;
    assert_false(err_set(NULL, "x"));
    assert_false(err_sys(NULL, "x"));
    assert_false(err_wrap(NULL, "x"));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_formats_the_text_and_clears_the_code),
        cmocka_unit_test(sys_appends_the_reason_and_keeps_its_code),
        cmocka_unit_test(wrap_puts_what_was_tried_in_front_and_keeps_the_code),
        cmocka_unit_test(wrapped_texts_longer_than_the_error_are_cut),
        cmocka_unit_test(nobody_has_to_ask_for_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
