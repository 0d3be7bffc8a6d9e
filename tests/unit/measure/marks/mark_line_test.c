/* Lines in which a job says its marks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "measure/marks/marks.h"

#include <stdio.h>
#include <string.h>

#define NOW INT64_C(9000000000)

static bool parse(const char *line, struct mark *out)
{
    return mark_line_parse(line, strlen(line), NOW, out);
}

static void assert_mark(const char *line, const char *name, const char *label, bool is_end,
                        int64_t t_ns)
{
    struct mark mark;
    if (!parse(line, &mark))
        fail_msg("refused: %s", line);
    assert_string_equal(mark.name, name);
    assert_string_equal(mark.label, label);
    assert_int_equal(mark.is_end, is_end);
    assert_true(mark.t_ns == t_ns);
    assert_int_equal(mark.source, MARK_FIFO);
}

static void assert_refused(const char *line)
{
    struct mark mark;
    if (parse(line, &mark))
        fail_msg("taken: %s", line);
}

static void a_line_is_a_name_and_perhaps_a_label(void **state)
{
    (void)state;
    assert_mark("epoch", "epoch", "", false, NOW);
    assert_mark("epoch 3", "epoch", "3", false, NOW);
    assert_mark("epoch 3 of 10", "epoch", "3 of 10", false, NOW);
    assert_mark("  epoch\t 3 \r", "epoch", "3", false, NOW);
    assert_mark("fold.1-b_ \xe4\xb8\x80", "fold.1-b_", "\xe4\xb8\x80", false, NOW);
}

static void a_slash_says_the_end(void **state)
{
    (void)state;
    assert_mark("/epoch", "epoch", "", true, NOW);
    assert_mark("/epoch 3", "epoch", "3", true, NOW);
    assert_mark("epoch /3", "epoch", "/3", false, NOW);
    assert_refused("/ epoch");
    assert_refused("//epoch");
    assert_refused("/");
}

static void the_writers_clock_counts_when_it_is_of_the_last_second(void **state)
{
    (void)state;
    assert_mark("epoch 3 @8999999999", "epoch", "3", false, 8999999999);
    assert_mark("epoch @9000000000", "epoch", "", false, 9000000000);
    assert_mark("epoch 3 @8000000000", "epoch", "3", false, 8000000000);
    assert_mark("epoch 3 @7999999999", "epoch", "3", false, NOW); /* more than a second ago */
    assert_mark("epoch 3 @9000000001", "epoch", "3", false, NOW); /* not yet */
    assert_mark("epoch 3 @0", "epoch", "3", false, NOW);
    assert_mark("epoch @9223372036854775808", "epoch", "", false, NOW); /* 2^63 */
    /* 2^64 + NOW - 1: 20 digits */
    assert_mark("epoch @18446744082709551615", "epoch", "", false, NOW);
    assert_mark("epoch @8999999999 @8999999998", "epoch", "@8999999999", false, 8999999998);
}

static void what_only_looks_like_a_clock_is_label(void **state)
{
    (void)state;
    assert_mark("epoch @", "epoch", "@", false, NOW);
    assert_mark("epoch @x1", "epoch", "@x1", false, NOW);
    assert_mark("epoch a@8999999999", "epoch", "a@8999999999", false, NOW);
    assert_mark("epoch @8999999999 x", "epoch", "@8999999999 x", false, NOW);
    assert_mark("epoch 8999999999", "epoch", "8999999999", false, NOW);
    assert_refused("@8999999999");
}

static void garbage_is_refused(void **state)
{
    (void)state;
    static const char *const lines[] = {"",
                                        " ",
                                        "-epoch",
                                        ".epoch",
                                        "ep\xc3\xb6",
                                        "epoch\x01",
                                        "epoch a\x1b[2J",
                                        "epoch \xff\xfe",
                                        "epoch \xc2\x85",
                                        "epoch a\tb",
                                        "epoch:3",
                                        "{\"epoch\": 3}",
                                        "epoch \x7f"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_refused(lines[i]);
    struct mark mark;
    assert_false(mark_line_parse("epoch\0x", 7, NOW, &mark));
    assert_false(mark_line_parse("epoch a\0b", 9, NOW, &mark));
}

static void names_have_64_bytes_and_labels_100(void **state)
{
    (void)state;
    char line[MARK_LINE_MAX], as[128];
    struct mark mark;
    memset(as, 'a', sizeof as);
    snprintf(line, sizeof line, "%.64s %.100s", as, as);
    assert_true(parse(line, &mark));
    assert_int_equal(strlen(mark.name), 64);
    assert_int_equal(strlen(mark.label), 100);
    snprintf(line, sizeof line, "%.65s", as);
    assert_refused(line);
    snprintf(line, sizeof line, "a %.101s", as);
    assert_refused(line);
    assert_true(mark_label_is_valid(as, 100));
    assert_false(mark_label_is_valid(as, 101));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_a_name_and_perhaps_a_label),
        cmocka_unit_test(a_slash_says_the_end),
        cmocka_unit_test(the_writers_clock_counts_when_it_is_of_the_last_second),
        cmocka_unit_test(what_only_looks_like_a_clock_is_label),
        cmocka_unit_test(garbage_is_refused),
        cmocka_unit_test(names_have_64_bytes_and_labels_100),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
