#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/utf8.h"

static void columns_follow_the_terminal_not_the_bytes(void **state)
{
    (void)state;
    assert_int_equal(utf8_columns(""), 0);
    assert_int_equal(utf8_columns("accuracy"), 8);
    assert_int_equal(utf8_columns("r\xc3\xa9sum\xc3\xa9"), 6); /* résumé, composed */
    /* the same with combining accents */
    assert_int_equal(utf8_columns("re\xcc\x81sume\xcc\x81"), 6);
    assert_int_equal(utf8_columns("\xe5\x87\x86\xe7\xa1\xae"), 4); /* two Chinese characters */
    assert_int_equal(utf8_columns("\xf0\x9f\x98\x80"), 2);         /* an emoji */
}

static void assert_cut(const char *s, size_t columns, const char *cut, size_t used)
{
    AUTO_TEXT struct text out = {0};
    assert_int_equal(utf8_fit(s, columns, &out), used);
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

static void everything_that_steers_or_deceives_is_seen_and_the_rest_is_left_alone(void **state)
{
    (void)state;
    /* Python: [c for c in range(0x110000) if unicodedata.category(chr(c)) in ("Cc", "Zl", "Zp") or
     * unicodedata.bidirectional(chr(c)) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI",
     * "PDI")], and the marks U+061C, U+200B, U+200E, U+200F, U+FEFF. */
    static const uint32_t never[][2] = {{0, 0x1F},        {0x7F, 0x9F},     {0x61C, 0x61C},
                                        {0x200B, 0x200B}, {0x200E, 0x200F}, {0x2028, 0x202E},
                                        {0x2066, 0x2069}, {0xFEFF, 0xFEFF}};
    for (uint32_t code = 0; code < 0x110000; code++) {
        char bytes[4];
        size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        static const unsigned char leads[] = {0, 0, 0xC0, 0xE0, 0xF0};
        if (code >= 0xD800 && code <= 0xDFFF)
            continue;
        for (size_t i = 0; i < length; i++)
            bytes[i] = (char)((i ? 0x80 : leads[length]) |
                              ((code >> (6 * (length - 1 - i))) & (i ? 0x3F : 0x7F)));
        bool shown = true;
        for (size_t i = 0; i < sizeof never / sizeof *never; i++)
            shown = shown && !(code >= never[i][0] && code <= never[i][1]);
        struct utf8_step step = utf8_step(bytes, length);
        assert_int_equal(step.length, length);
        assert_int_equal(step.code, code);
        assert_int_equal(step.shown, shown);
    }
}

static void raw_c1_bytes_are_no_text(void **state)
{
    (void)state;
    for (int c = 0x80; c < 0x100; c++) {
        char s[] = {'a', (char)c, 'b', 0};
        assert_false(utf8_is_printable(s, 3));
        utf8_make_printable(s, "");
        assert_string_equal(s, "a?b");
    }
}

static void lines_and_tabs_stay_where_they_are_meant(void **state)
{
    (void)state;
    char lines[] = "a\tb\n\r\x1b[0mc", one[] = "a\tb\nc";
    utf8_make_printable(lines, "\n\t");
    assert_string_equal(lines, "a\tb\n??[0mc");
    utf8_make_printable(one, "");
    assert_string_equal(one, "a?b?c");
}

static void a_message_quotes_whole_characters_and_says_where_more_follows(void **state)
{
    (void)state;
    static const struct {
        const char *s;
        size_t most;
        const char *quoted;
    } cases[] = {
        {"abc", 3, "abc"},           {"abcd", 3, "abc..."},         {"", 3, ""},
        {"a\xc3\xa9", 2, "a..."},    {"a\xc3\xa9", 3, "a\xc3\xa9"}, {"\xe5\x87\x86", 2, "..."},
        {"a\n\xc2\x9b!", 9, "a?\?!"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_FREE char *quoted = utf8_quoted(cases[i].s, cases[i].most);
        assert_string_equal(quoted, cases[i].quoted);
    }
    AUTO_TEXT struct text words = {0};
    text_add(&words, "\t:");
    utf8_add_words("a\tb\r\nc\x1b\xc2\x9b\xff", 10, &words);
    assert_string_equal(text_get(&words), "\t:a b  c??\?");
}

static void characters_are_counted_and_controls_found(void **state)
{
    (void)state;
    assert_int_equal(utf8_count("a\xc3\xa9\xe5\x87\x86", 6), 3);
    assert_int_equal(utf8_count("", 0), 0);
    static const char *const controls[] = {"\x01", "a\x1f", "\n", "\x7f", "a\xc2\x80", "\xc2\x9f"};
    static const char *const none[] = {"", " ~", "\xc2\xa0", "\xe2\x80\xae", "\x9b", "\xff\xc2"};
    for (size_t i = 0; i < sizeof controls / sizeof *controls; i++)
        assert_true(utf8_has_control(controls[i]));
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(utf8_has_control(none[i]));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_follow_the_terminal_not_the_bytes),
        cmocka_unit_test(a_cut_text_holds_whole_characters_only),
        cmocka_unit_test(what_could_steer_a_terminal_becomes_a_question_mark),
        cmocka_unit_test(broken_utf8_becomes_a_question_mark_per_byte),
        cmocka_unit_test(everything_that_steers_or_deceives_is_seen_and_the_rest_is_left_alone),
        cmocka_unit_test(raw_c1_bytes_are_no_text),
        cmocka_unit_test(lines_and_tabs_stay_where_they_are_meant),
        cmocka_unit_test(a_message_quotes_whole_characters_and_says_where_more_follows),
        cmocka_unit_test(characters_are_counted_and_controls_found),
    };
    return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
