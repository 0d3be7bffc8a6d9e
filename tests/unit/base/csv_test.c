/* What the rows are was read by Python's csv module (newline='', dialect excel). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/csv.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* All rows with cells between bars, each row in angle brackets; an error is its text behind "!". */
static char *read_all(const char *bytes, size_t count)
{
    AUTO_STRV struct strv row = {0};
    AUTO_TEXT struct text out = {0};
    struct csv_reader reader;
    struct err err;
    csv_start(&reader, bytes, count);
    int result;
    while ((result = csv_next(&reader, &row, &err)) == 1) {
        AUTO_FREE char *joined = strv_join(&row, "|");
        text_addf(&out, "<%s>", joined);
    }
    if (result == -1)
        text_addf(&out, "!%s", err.text);
    return text_take(&out);
}

static void assert_rows(const char *csv, const char *expected)
{
    /* An exact copy without a NUL behind it, so that a sanitizer sees a byte read too far. */
    size_t count = strlen(csv);
    AUTO_FREE char *bytes = mem_alloc(count);
    memcpy(bytes, csv, count);
    AUTO_FREE char *rows = read_all(bytes, count);
    assert_string_equal(rows, expected);
}

static void plain_rows_are_read_with_any_line_end(void **state)
{
    (void)state;
    assert_rows("a,b\n1,2\n", "<a|b><1|2>");
    assert_rows("a,b\r\n1,2\r\n", "<a|b><1|2>");
    assert_rows("a,b\r1,2\r", "<a|b><1|2>");
    assert_rows("a,b\n1,2", "<a|b><1|2>");
    assert_rows("a,b\r\n1,2\r", "<a|b><1|2>");
}

static void empty_cells_are_cells(void **state)
{
    (void)state;
    assert_rows(",\n", "<|>");
    assert_rows("a,,b,\n", "<a||b|>");
    assert_rows("a,", "<a|>");
    assert_rows("\"\"\n", "<>");
    assert_rows("\"\",x\n", "<|x>");
}

static void empty_lines_are_skipped_but_blanks_are_not_empty(void **state)
{
    (void)state;
    assert_rows("", "");
    assert_rows("\n\r\n\r", "");
    assert_rows("\n\na\n\nb\r\n\r\n", "<a><b>");
    assert_rows(" \n", "< >");
}

static void quoted_cells_hold_commas_quotes_and_line_ends(void **state)
{
    (void)state;
    assert_rows("\"a,b\",c\n", "<a,b|c>");
    assert_rows("\"say \"\"hi\"\"\"\n", "<say \"hi\">");
    assert_rows("\"\"\"\"\n", "<\">");
    assert_rows("\"one\ntwo\",x\n", "<one\ntwo|x>");
    assert_rows("\"one\r\ntwo\rthree\",x\r\n", "<one\r\ntwo\rthree|x>");
}

static void a_quote_inside_a_plain_cell_is_a_character(void **state)
{
    (void)state;
    assert_rows("5\" disk,x\n", "<5\" disk|x>");
    assert_rows("a\"b\"\n", "<a\"b\">");
    assert_rows(" \"a\"\n", "< \"a\">");
}

static void a_byte_order_mark_is_no_part_of_the_first_name(void **state)
{
    (void)state;
    assert_rows("\xef\xbb\xbfid,x\n", "<id|x>");
    assert_rows("\xef\xbb\xbf\"id\",x\n", "<id|x>");
    assert_rows("\xef\xbb\xbf", "");
    assert_rows("\xef\xbb", "<\xef\xbb>");
}

static void errors_name_the_line_where_the_row_began(void **state)
{
    (void)state;
    assert_rows("a,b\n1,\"open\nmore\n", "<a|b>!line 2: a quoted cell is not closed");
    assert_rows("\"", "!line 1: a quoted cell is not closed");
    assert_rows("a\n\n\"b\"c\n", "<a>!line 3: text behind a closing quote");
    assert_rows("\"b\" ,c\n", "!line 1: text behind a closing quote");
}

static void a_nul_is_refused_wherever_it_stands(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t count;
        const char *expected;
    } rows[] = {
        {"a\nb\0c\n", 6, "<a>!line 2: a NUL byte"}, {"\0", 1, "!line 1: a NUL byte"},
        {"\"b\0\"\n", 5, "!line 1: a NUL byte"},    {"\"b\"\0\n", 5, "!line 1: a NUL byte"},
        {"a,\0\n", 4, "!line 1: a NUL byte"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_FREE char *read = read_all(rows[i].bytes, rows[i].count);
        assert_string_equal(read, rows[i].expected);
    }
}

static void lines_are_counted_inside_quoted_cells_too(void **state)
{
    (void)state;
    static const char csv[] = "\n\"x\ny\"\r\n\r\nz\rlast";
    AUTO_STRV struct strv row = {0};
    struct csv_reader reader;
    csv_start(&reader, csv, sizeof csv - 1);
    assert_int_equal(csv_next(&reader, &row, NULL), 1);
    assert_int_equal(reader.line, 2);
    assert_int_equal(csv_next(&reader, &row, NULL), 1);
    assert_int_equal(reader.line, 5);
    assert_int_equal(csv_next(&reader, &row, NULL), 1);
    assert_int_equal(reader.line, 6);
    assert_string_equal(row.items[0], "last");
    assert_int_equal(csv_next(&reader, &row, NULL), 0);
    assert_int_equal(row.count, 0);
    assert_int_equal(csv_next(&reader, &row, NULL), 0);
}

static void after_an_error_there_is_no_further_row(void **state)
{
    (void)state;
    AUTO_STRV struct strv row = {0};
    struct csv_reader reader;
    struct err err;
    csv_start(&reader, "\"a\"b\nc\n", 7);
    assert_int_equal(csv_next(&reader, &row, &err), -1);
    assert_int_equal(csv_next(&reader, &row, &err), 0);
}

static void a_row_holds_4096_cells_and_no_more(void **state)
{
    (void)state;
    AUTO_TEXT struct text csv = {0};
    for (int i = 0; i < 4095; i++)
        text_add_char(&csv, ',');
    AUTO_STRV struct strv row = {0};
    struct csv_reader reader;
    struct err err;
    csv_start(&reader, csv.data, csv.length);
    assert_int_equal(csv_next(&reader, &row, &err), 1);
    assert_int_equal(row.count, 4096);
    text_add_char(&csv, ',');
    csv_start(&reader, csv.data, csv.length);
    assert_int_equal(csv_next(&reader, &row, &err), -1);
    assert_string_equal(err.text, "line 1: more than 4096 cells");
}

static void a_cell_is_quoted_only_when_it_must_be(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"plain", "plain"},
        {"", ""},
        {" blank ", " blank "},
        {"0.001", "0.001"},
        {"a,b", "\"a,b\""},
        {"say \"hi\"", "\"say \"\"hi\"\"\""},
        {"one\ntwo", "\"one\ntwo\""},
        {"one\rtwo", "\"one\rtwo\""},
        {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AUTO_TEXT struct text out = {0};
        csv_add_cell(&out, rows[i][0]);
        assert_string_equal(text_get(&out), rows[i][1]);
    }
}

/* OWASP's list (CSV Injection), and what only looks like it. */
static void a_formula_gets_an_apostrophe_that_the_reader_takes_away(void **state)
{
    (void)state;
    static const char *const cells[][2] = {
        {"=1+1", "\"'=1+1\""},
        {"=cmd|' /C calc'!A0", "\"'=cmd|' /C calc'!A0\""},
        {"+1-2", "\"'+1-2\""},
        {"-2+3+cmd", "\"'-2+3+cmd\""},
        {"-lr", "\"'-lr\""},
        {"-", "\"'-\""},
        {"@SUM(A1)", "\"'@SUM(A1)\""},
        {"\tx", "\"'\tx\""},
        {"\rx", "\"'\rx\""},
        {"\xef\xbc\x9d 1", "\"'\xef\xbc\x9d 1\""},
        {"a;=1", "\"a;=1\""},
        {"'=1", "\"''=1\""},
        {"''-1", "\"'''-1\""},
        {"'tis", "'tis"},
        {"'", "'"},
        {"-1.5e3", "-1.5e3"},
        {"+2", "+2"},
        {"-.5", "-.5"},
        {"-1e-05", "-1e-05"},
        {"-inf", "-inf"},
        {"+00:00", "+00:00"},
        {"2026-11-22T16:32:19", "2026-11-22T16:32:19"},
    };
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        AUTO_TEXT struct text out = {0};
        AUTO_STRV struct strv row = {0};
        struct csv_reader reader;
        csv_add_cell(&out, cells[i][0]);
        assert_string_equal(text_get(&out), cells[i][1]);
        csv_start(&reader, text_get(&out), out.length);
        assert_int_equal(csv_next(&reader, &row, NULL), 1);
        assert_string_equal(row.items[0], cells[i][0]);
    }
    AUTO_TEXT struct text exact = {0};
    csv_add_exact(&exact, "=1+1");
    assert_string_equal(text_get(&exact), "=1+1");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_rows_are_read_with_any_line_end),
        cmocka_unit_test(empty_cells_are_cells),
        cmocka_unit_test(empty_lines_are_skipped_but_blanks_are_not_empty),
        cmocka_unit_test(quoted_cells_hold_commas_quotes_and_line_ends),
        cmocka_unit_test(a_quote_inside_a_plain_cell_is_a_character),
        cmocka_unit_test(a_byte_order_mark_is_no_part_of_the_first_name),
        cmocka_unit_test(errors_name_the_line_where_the_row_began),
        cmocka_unit_test(a_nul_is_refused_wherever_it_stands),
        cmocka_unit_test(lines_are_counted_inside_quoted_cells_too),
        cmocka_unit_test(after_an_error_there_is_no_further_row),
        cmocka_unit_test(a_row_holds_4096_cells_and_no_more),
        cmocka_unit_test(a_cell_is_quoted_only_when_it_must_be),
        cmocka_unit_test(a_formula_gets_an_apostrophe_that_the_reader_takes_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
