#include "cli/completion.h"
#include "cli/help.h"
#include "cli/manual.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "tare_build.h"

#include <string.h>

static const char *const levels[] = {"low", "high", NULL};

static const struct cli_option rows[] = {
    {.short_name = "-g",
     .long_name = "--grace",
     .argument = "TIME",
     .type = CLI_DURATION,
     .low = 0,
     .high = 3600,
     .default_text = "10",
     .unit = "seconds",
     .help = "from TERM to KILL"},
    {.long_name = "--level",
     .argument = "LEVEL",
     .type = CLI_CHOICE,
     .choices = levels,
     .help = "how much"},
    {.long_name = "--secret", .help = "not shown", .hidden = true},
};

static const char *const usage[] = {"demo FILE [options]", NULL};
static const char *const description[] = {".starts with a dot - and has a dash.", NULL};
static const char *const exits[] = {"0", "well", NULL};
static const char *const examples[] = {"demo -g 5 a.txt", "with a short grace", NULL};

static const struct cli_command demo = {.name = "demo",
                                        .group = CLI_GROUP_JUDGE,
                                        .summary = "shows",
                                        .usage = usage,
                                        .description = description,
                                        .options = rows,
                                        .option_count = 3,
                                        .exits = exits,
                                        .examples = examples};
static const struct cli_command other = {
    .name = "other", .group = CLI_GROUP_JUDGE, .summary = "is of the same group", .usage = usage};
static const struct cli_command last = {
    .name = "last", .group = CLI_GROUP_MEMORY, .summary = "ends", .usage = usage};

const struct cli_command *const cli_commands[] = {&demo, &other, &last, NULL};

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

static void the_manual_is_safe_roff(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    manual_page(&demo, &out);
    const char *page = text_get(&out);
    assert_non_null(strstr(page, ".SH NAME\n" TARE_NAME "\\-demo \\- shows\n"));
    assert_non_null(strstr(page, "\n\\&.starts with a dot \\- and has a dash.\n"));
    assert_non_null(strstr(page, "\n.TP\n\\fB\\-g, \\-\\-grace TIME\\fR\n"));
    assert_non_null(strstr(page, ".SH EXIT STATUS\n.TP\n\\fB0\\fR\nwell\n"
                                 ".SH EXAMPLES\n.TP\n\\fB" TARE_NAME
                                 " demo \\-g 5 a.txt\\fR\nwith a short grace\n.SH SEE ALSO\n"));
    assert_null(strstr(page, "secret"));
}

static void the_completion_offers_options_and_choices(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    completion_bash(&out);
    assert_non_null(
        strstr(text_get(&out),
               "demo) COMPREPLY=($(compgen -W \"--grace -g --level --help -h\" -- \"$cur\")) ;;"));
    assert_non_null(
        strstr(text_get(&out),
               "demo:--level) COMPREPLY=($(compgen -W \"low high\" -- \"$cur\")); return ;;"));
    assert_null(strstr(text_get(&out), "secret"));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_break_at_the_width_and_never_inside),
        cmocka_unit_test(a_rows_facts_stand_in_its_help),
        cmocka_unit_test(the_help_comes_from_the_table),
        cmocka_unit_test(the_list_of_commands_has_a_heading_for_each_group),
        cmocka_unit_test(the_manual_is_safe_roff),
        cmocka_unit_test(the_completion_offers_options_and_choices),
    };
    return cmocka_run_group_tests_name("texts", tests, NULL, NULL);
}
