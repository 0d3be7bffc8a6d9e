#include "report/live/layout.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include <string.h>

static void bars_are_drawn_in_halves_or_in_ascii(void **state)
{
    (void)state;
    static const struct {
        double share;
        const char *ascii, *utf8;
    } rows[] = {
        {-1, "[....]", "────"},    {0, "[....]", "────"},    {0.12, "[....]", "────"},
        {0.125, "[....]", "╸───"}, {0.25, "[#...]", "━───"}, {0.99, "[###.]", "━━━╸"},
        {1, "[####]", "━━━━"},     {7, "[####]", "━━━━"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_TEXT struct text ascii = {0};
        AUTO_TEXT struct text utf8 = {0};
        bar_draw(rows[i].share, 4, true, &ascii);
        bar_draw(rows[i].share, 4, false, &utf8);
        assert_string_equal(text_get(&ascii), rows[i].ascii);
        assert_string_equal(text_get(&utf8), rows[i].utf8);
    }
}

static void assert_rows(const char *words, size_t width, size_t most, const char *expected)
{
    AUTO_TEXT struct text text = {0};
    layout_rows(words, width, most, false, &text);
    assert_string_equal(text_get(&text), expected);
}

#define P LAYOUT_PART
#define G LAYOUT_GROUP

static void rows_keep_words_parts_and_groups_whole(void **state)
{
    (void)state;
    static const char words[] = "[1/9] net_001" P "epoch 3/20" P "10 s" G "612 W, GPU 97 %" G
                                "loss 0.5" P "accuracy 0.25" G "lr=0.01" P "size=32";
    assert_rows(words, 100, 4,
                "[1/9] net_001  epoch 3/20  10 s  612 W, GPU 97 %  loss 0.5  accuracy 0.25  "
                "lr=0.01  size=32");
    assert_rows(words, 40, 4,
                "[1/9] net_001  epoch 3/20  10 s\n"
                "  612 W, GPU 97 %\n"
                "  loss 0.5  accuracy 0.25\n"
                "  lr=0.01  size=32");
    assert_rows(words, 40, 3,
                "[1/9] net_001  epoch 3/20  10 s\n"
                "  612 W, GPU 97 %\n"
                "  loss 0.5  accuracy 0.25  lr=0.01 …");
    assert_rows(words, 33, 1, "[1/9] net_001  epoch 3/20  10 s …");
    /* no room for the sign behind "10 s" */
    assert_rows(words, 32, 1, "[1/9] net_001  epoch 3/20 …");
    /* A group that is wider than a row is broken between its parts. */
    assert_rows("a_head" G "first=1" P "second=2" P "third=3", 18, 4,
                "a_head  first=1\n  second=2\n  third=3");
}

static void only_a_word_that_is_wider_than_a_row_is_broken(void **state)
{
    (void)state;
    assert_rows("[1/9] a_very_long_name_001", 19, 1, "[1/9] a_very_long_…");
    /* less than half would be left without it */
    assert_rows("[1/9] net_001" P "10 s", 13, 1, "[1/9] net_00…");
    assert_rows("stopping, at most 6 s", 19, 1, "stopping, at most …");
    assert_rows("训练模型很长", 7, 1, "训练模…");
    AUTO_TEXT struct text ascii = {0};
    layout_rows("stopping, at most 6 s", 20, 1, true, &ascii);
    assert_string_equal(text_get(&ascii), "stopping, at ...");
    AUTO_TEXT struct text plain = {0};
    layout_ascii("1 ± 2 °C … 训", &plain);
    assert_string_equal(text_get(&plain), "1 +- 2 C ... ?");
}

/* Whatever the width: no row is wider, and nothing is lost but what the sign stands for. */
static void no_row_is_wider_than_its_terminal(void **state)
{
    (void)state;
    static const char words[] = "[1/9] net_001" P "epoch 3/20" P "10 s" G "612 W, GPU 97 %" G
                                "loss 0.5 ↓" P "accuracy 0.25" G "lr=0.01" P "尺寸=32";
    for (size_t width = 1; width < 120; width++) {
        for (size_t most = 1; most < 6; most++) {
            AUTO_TEXT struct text text = {0};
            layout_rows(words, width, most, false, &text);
            size_t rows = 1, columns = 0;
            for (const char *c = text_get(&text); *c; c++) {
                rows += *c == '\n';
                /* characters */
                columns = *c == '\n' ? 0 : columns + (((unsigned char)*c & 0xC0) != 0x80);
                assert_true(columns <= width || (width < 3 && columns <= 3));
            }
            assert_true(rows <= most);
            assert_true(strstr(text_get(&text), "…") || strstr(text_get(&text), "尺寸=32"));
        }
    }
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bars_are_drawn_in_halves_or_in_ascii),
        cmocka_unit_test(rows_keep_words_parts_and_groups_whole),
        cmocka_unit_test(only_a_word_that_is_wider_than_a_row_is_broken),
        cmocka_unit_test(no_row_is_wider_than_its_terminal),
    };
    return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
