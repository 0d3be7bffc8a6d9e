#include "cli/help.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "tare_build.h"

#include <string.h>

#include "demo.h"

static void words_break_at_the_width_and_never_inside(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    text_wrap(&out, "aaa bbb ccc", 2, 9);
    assert_string_equal(text_get(&out), "  aaa bbb\n  ccc\n");
    text_clear(&out);
    text_wrap(&out, "aaaaaaaaaaaa b", 0, 5);
    assert_string_equal(text_get(&out), "aaaaaaaaaaaa\nb\n");
    text_clear(&out);
    text_wrap(&out, "\xc3\xa9\xc3\xa9\xc3\xa9 b", 0, 5); /* three letters of two bytes each */
    assert_string_equal(text_get(&out), "\xc3\xa9\xc3\xa9\xc3\xa9 b\n");
}

static void a_rows_facts_stand_in_its_help(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    option_head(&rows[0], &out);
    assert_string_equal(text_get(&out), "-g, --grace TIME");
    text_clear(&out);
    option_body(&rows[0], &out);
    assert_string_equal(text_get(&out), "from TERM to KILL (0 to 3600; seconds; default 10)");
    text_clear(&out);
    option_body(&rows[1], &out);
    assert_string_equal(text_get(&out), "how much (one of low, high)");
}

static void the_help_comes_from_the_table(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    help_command(&demo, &out);
    assert_string_equal(
        text_get(&out), TARE_NAME
        " demo: shows\n"
        "\n"
        "Usage:\n"
        "  " TARE_NAME " demo FILE [options]\n"
        "\n"
        ".starts with a dot - and has a dash.\n"
        "\n"
        "Options:\n"
        "  -g, --grace TIME                from TERM to KILL (0 to 3600; seconds; default\n"
        "                                  10)\n"
        "  --level LEVEL                   how much (one of low, high)\n"
        "  -h, --help                      show this help\n"
        "\n"
        "Exit codes:\n"
        "  0       well\n"
        "\n"
        "Examples:\n"
        "  " TARE_NAME " demo -g 5 a.txt\n"
        "      with a short grace\n");
}

static void the_list_of_commands_has_a_heading_for_each_group(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    help_program(&out);
    assert_non_null(strstr(text_get(&out), "\n\nJudge:\n"
                                           "  demo   shows\n"
                                           "  other  is of the same group\n"
                                           "\nMemory:\n"
                                           "  last   ends\n"
                                           "\n  -h, --help "));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_break_at_the_width_and_never_inside),
        cmocka_unit_test(a_rows_facts_stand_in_its_help),
        cmocka_unit_test(the_help_comes_from_the_table),
        cmocka_unit_test(the_list_of_commands_has_a_heading_for_each_group),
    };
    return cmocka_run_group_tests_name("texts", tests, NULL, NULL);
}
