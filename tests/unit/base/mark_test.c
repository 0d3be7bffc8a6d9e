/* Names of marks, and where a mark comes from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/mark.h"

#include <string.h>

static void names_are_letters_digits_and_three_signs(void **state)
{
    (void)state;
    static const char *const good[] = {"epoch", "e", "_x", "Fold_2.val-a", "3"};
    static const char *const bad[] = {"",    "an epoch",      "-e", ".e", "a/b",
                                      "a\n", "\xc3\xa9poque", "a@1"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(mark_name_is_valid(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(mark_name_is_valid(bad[i]));
}

static void names_have_at_most_64_letters(void **state)
{
    (void)state;
    char name[66];
    memset(name, 'a', sizeof name);
    name[64] = '\0';
    assert_true(mark_name_is_valid(name));
    name[64] = 'a';
    name[65] = '\0';
    assert_false(mark_name_is_valid(name));
}

static void a_source_reads_back_from_its_name(void **state)
{
    (void)state;
    enum mark_source source = MARK_LOG;
    assert_true(mark_source_parse("fifo", &source));
    assert_int_equal(source, MARK_FIFO);
    assert_true(mark_source_parse("log", &source));
    assert_int_equal(source, MARK_LOG);
    assert_false(mark_source_parse("file", &source));
    assert_string_equal(mark_source_name(MARK_LOG), "log");
    assert_string_equal(mark_source_name(MARK_FIFO), "fifo");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_letters_digits_and_three_signs),
        cmocka_unit_test(names_have_at_most_64_letters),
        cmocka_unit_test(a_source_reads_back_from_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
