/* A table's two writers: a terminal's and a page's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/mem.h"
#include "report/table.h"

static struct table *made(void)
{
    struct table *table = table_of(false, "name", ">count", NULL, "");
    table_row(table, mem_strdup("a<b"), mem_strdup("1"), mem_strdup("left out"),
              mem_strdup("<br>"));
    table_tint(table, 1, "good");
    table_row(table, mem_strdup("c\n"), NULL, NULL, mem_strdup("<br>"));
    return table;
}

static void a_terminal_gets_lines_without_controls_and_left_out_columns(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    table_end(made(), &out);
    assert_string_equal(text_get(&out), "name  count\n"
                                        "a<b       1  <br>\n"
                                        "c?           <br>\n");
    assert_int_equal(table_widest(text_get(&out)), 17);
    assert_int_equal(table_widest("\033[31mfünf\033[0m\nvier."), 5);
}

static void a_page_gets_escaped_text(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    table_end_page(made(), &out);
    assert_string_equal(
        text_get(&out),
        "<div class=\"scroll\"><table>\n"
        "<thead><tr><th>name</th><th class=\"number\">count</th><th></th></tr></thead>\n"
        "<tr><td>a&lt;b</td><td class=\"number good\">1</td><td>&lt;br&gt;</td></tr>\n"
        "<tr><td>c\n</td><td class=\"number\"></td><td>&lt;br&gt;</td></tr>\n"
        "</table></div>\n");
}

static void a_table_without_titles_has_no_title_line_in_a_page(void **state)
{
    (void)state;
    AUTO_TEXT struct text out = {0};
    struct table *table = table_of(false, "", ">");
    table_row(table, mem_strdup("x"), mem_strdup("2"));
    table_end_page(table, &out);
    assert_string_equal(text_get(&out), "<div class=\"scroll\"><table>\n"
                                        "<tr><td>x</td><td class=\"number\">2</td></tr>\n"
                                        "</table></div>\n");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_terminal_gets_lines_without_controls_and_left_out_columns),
        cmocka_unit_test(a_page_gets_escaped_text),
        cmocka_unit_test(a_table_without_titles_has_no_title_line_in_a_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
