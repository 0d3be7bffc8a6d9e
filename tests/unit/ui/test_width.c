#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ui/width.h"

static void columns_follow_the_terminal_not_the_bytes(void **state)
{
    (void)state;
    assert_int_equal(width_columns(""), 0);
    assert_int_equal(width_columns("accuracy"), 8);
    assert_int_equal(width_columns("r\xc3\xa9sum\xc3\xa9"), 6);     /* résumé, composed */
    assert_int_equal(width_columns("re\xcc\x81sume\xcc\x81"), 6);   /* the same with combining accents */
    assert_int_equal(width_columns("\xe5\x87\x86\xe7\xa1\xae"), 4); /* two Chinese characters */
    assert_int_equal(width_columns("\xf0\x9f\x98\x80"), 2);         /* an emoji */
}

static void assert_cut(const char *s, size_t columns, const char *cut, size_t used)
{
    AUTO_TEXT struct text out = {0};
    assert_int_equal(width_fit(s, columns, &out), used);
    assert_string_equal(text_get(&out), cut);
}

static void a_cut_text_holds_whole_characters_only(void **state)
{
    (void)state;
    assert_cut("accuracy", 3, "acc", 3);
    assert_cut("accuracy", 8, "accuracy", 8);
    assert_cut("accuracy", 0, "", 0);
    assert_cut("a\xe5\x87\x86\xe7\xa1\xae", 4, "a\xe5\x87\x86", 3);
    assert_cut("e\xcc\x81t", 1, "e\xcc\x81", 1);
}

static void what_could_steer_a_terminal_becomes_a_question_mark(void **state)
{
    (void)state;
    assert_cut("a\033[2Jb", 10, "a?[2Jb", 6);
    assert_cut("a\r\nb\x7f", 10, "a??b?", 5);
    assert_cut("a\xc2\x9b"
               "b",
               10, "a?b", 3); /* CSI as one C1 character */
    assert_cut("\xe2\x80\xae"
               "abc",
               10, "?abc", 4); /* right-to-left override */
}

static void broken_utf8_becomes_a_question_mark_per_byte(void **state)
{
    (void)state;
    assert_cut("a\xff"
               "b",
               10, "a?b", 3);
    assert_cut("\xc0\xaf", 10, "??", 2);      /* overlong '/' */
    assert_cut("\xed\xa0\x80", 10, "???", 3); /* a surrogate */
    assert_cut("\xe5\x87", 10, "??", 2);      /* cut short */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_follow_the_terminal_not_the_bytes),
        cmocka_unit_test(a_cut_text_holds_whole_characters_only),
        cmocka_unit_test(what_could_steer_a_terminal_becomes_a_question_mark),
        cmocka_unit_test(broken_utf8_becomes_a_question_mark_per_byte),
    };
    return cmocka_run_group_tests_name("width", tests, NULL, NULL);
}
