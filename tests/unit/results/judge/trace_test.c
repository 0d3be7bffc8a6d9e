#include "results/judge/trace.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct seen_row {
    int64_t t_s;
    enum numeric_cell_kind kinds[TRACE_COLUMNS];
    double values[TRACE_COLUMNS];
};

struct seen {
    size_t count;
    struct seen_row rows[16];
};

static void keep(void *at, const struct trace_rows *rows)
{
    struct seen *seen = at;
    for (size_t i = 0; i < rows->count; i++, seen->count++) {
        if (seen->count >= 16)
            continue;
        struct seen_row *row = &seen->rows[seen->count];
        row->t_s = rows->t_s[i];
        for (size_t c = 0; c < TRACE_COLUMNS; c++) {
            row->kinds[c] = rows->columns[c].kinds[i];
            row->values[c] = rows->columns[c].values[i];
        }
    }
}

static struct seen parse(const char *text, size_t columns, struct trace_file *file)
{
    struct seen seen = {0};
    trace_parse(text, strlen(text), columns, keep, &seen, file);
    return seen;
}

static void samples_are_read_with_either_line_end(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "timestamp,power_draw_w\n10,74.69\n12,75.5\n",
        "\xef\xbb\xbftimestamp,power_draw_w\r\n10,74.69\r\n12,75.5\r\n",
        "timestamp,power_draw_w\n10, 74.69 W\n\n12.9,\"75.5\"\n", "10,74.69\n12,75.5\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct trace_file file;
        struct seen seen = parse(texts[i], 1, &file);
        assert_int_equal(seen.count, 2);
        assert_int_equal(seen.rows[1].t_s, 12);
        assert_true(seen.rows[0].values[0] == 74.69 && seen.rows[1].values[0] == 75.5);
        assert_false(file.cut || file.empty || file.damaged || file.backwards);
    }
}

static void commas_in_figures_are_no_cells(void **state)
{
    (void)state;
    struct trace_file file;
    struct seen seen =
        parse("timestamp,power_draw_w\n10,1,234.50\n11,\"1,235.50\"\n12,1,23\n", 1, &file);
    assert_int_equal(seen.count, 2);
    assert_true(seen.rows[0].values[0] == 1234.5 && seen.rows[1].values[0] == 1235.5);
    assert_int_equal(file.damaged, 1);
}

static void absent_values_keep_their_row(void **state)
{
    (void)state;
    struct trace_file file;
    struct seen seen =
        parse("timestamp,gpu_temp_c,memory_temp_c\n10,61,N/A\n11,[N/A],N/A\n", 2, &file);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.rows[0].kinds[1], FIGURE_ABSENT);
    assert_int_equal(seen.rows[1].kinds[0], FIGURE_ABSENT);
    assert_true(seen.rows[0].values[0] == 61);
}

static void each_kind_of_damage_is_counted(void **state)
{
    (void)state;
    struct trace_file file;
    struct seen seen =
        parse("timestamp,power_draw_w\n10,70\n9,71\nabc,72\n11\n11,\n11,7x\n12,73\n13,7", 1, &file);
    /* The row without a value ("11,") is one whose value is absent. */
    assert_int_equal(seen.count, 3);
    assert_int_equal(file.rows, 3);
    assert_int_equal(file.backwards, 1);
    assert_int_equal(file.damaged, 3);
    assert_true(file.cut);
}

static void nothing_and_next_to_nothing(void **state)
{
    (void)state;
    struct trace_file file;
    parse("", 1, &file);
    assert_true(file.empty && !file.cut && file.rows == 0);
    parse("timestamp,power_draw_w\n", 1, &file);
    assert_true(!file.empty && !file.cut && file.rows == 0);
    parse("\n\n\n", 1, &file);
    assert_true(file.rows == 0 && file.damaged == 0);
}

/* What one row's value is, with so much behind it that the row can be read the fast way; strtod is
 * the judge. */
static void figures_of_every_length_are_what_strtod_reads(void **state)
{
    (void)state;
    static const char *const figures[] = {
        "0",       "7",        "42",        "100",        "1234",     "12345",     "123456",
        "1234567", "12345678", "0.1",       "0.25",       "74.69",    "250.12",    "250.123",
        "1234.56", "12345.6",  "1234.567",  "12345.67",   "9.99999",  "0.00001",   "3.14159",
        "99.9999", "123456.7", "1234567.8", "12345678.9", "0.123456", "0.1234567", "007.50",
        "000",     "99999.9",  "9999999",   "1.234567",   "12.34567", "123.4567"};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        char text[400];
        struct trace_file file;
        int length = snprintf(text, sizeof text, "timestamp,a\n1763452800,%s\n", figures[i]);
        for (int row = 0; row < 8; row++)
            length +=
                snprintf(text + length, sizeof text - (size_t)length, "17634528%02d,1\n", row + 1);
        struct seen seen = parse(text, 1, &file);
        assert_int_equal(seen.count, 9);
        assert_int_equal(seen.rows[0].t_s, 1763452800);
        assert_int_equal(seen.rows[8].t_s, 1763452808);
        assert_true(seen.rows[0].values[0] == strtod(figures[i], NULL));
        assert_false(file.damaged || file.cut);
    }
}

/* The same, of what is none. */
static void what_is_no_figure_is_damage_the_fast_way_too(void **state)
{
    (void)state;
    static const char *const cells[] = {"1.", ".5", "1.2.3", "12a", "1-",  "--1",
                                        "1,", "1/", "1:",    "N/B", "1 2", "\x80"};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        char text[400];
        struct trace_file file;
        int length = snprintf(text, sizeof text, "timestamp,a,b\n1763452800,1,2\n1763452801,%s,7\n",
                              cells[i]);
        for (int row = 0; row < 8; row++)
            length += snprintf(text + length, sizeof text - (size_t)length, "17634528%02d,1,2\n",
                               row + 2);
        struct seen seen = parse(text, 2, &file);
        /* number_parse takes neither "1." nor ".5", as JSON does not. */
        assert_int_equal(seen.count, 9);
        assert_int_equal(file.damaged, 1);
        assert_int_equal(seen.rows[1].t_s, 1763452802);
    }
}

struct total {
    size_t calls, rows;
    int64_t last_s;
    double sum;
    bool in_order;
};

static void add_up(void *at, const struct trace_rows *rows)
{
    struct total *total = at;
    total->calls++;
    for (size_t i = 0; i < rows->count; i++) {
        total->in_order &= total->rows == 0 || rows->t_s[i] == total->last_s + 1;
        total->last_s = rows->t_s[i];
        total->sum += rows->columns[0].values[i];
        total->rows++;
    }
}

/* Stamps over every change of their leading digits; 10,000 rows of 0 to 9,999: their sum is
 * 49,995,000. */
static void all_rows_are_handed_over_once_and_in_order(void **state)
{
    (void)state;
    enum { ROWS = 10000 };
    AUTO_TEXT struct text text = {0};
    struct trace_file file;
    struct total total = {.in_order = true};
    text_add(&text, "timestamp,a\n");
    for (int i = 0; i < ROWS; i++)
        text_addf(&text, "%d,%d\n", 1999995000 + i, i);
    trace_parse(text_get(&text), text.length, 1, add_up, &total, &file);
    assert_int_equal(total.rows, ROWS);
    assert_int_equal(file.rows, ROWS);
    assert_true(total.in_order && total.last_s == 2000004999);
    assert_true(total.sum == 49995000);
    assert_int_equal(total.calls, (ROWS + TRACE_ROWS - 1) / TRACE_ROWS);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_read_with_either_line_end),
        cmocka_unit_test(commas_in_figures_are_no_cells),
        cmocka_unit_test(absent_values_keep_their_row),
        cmocka_unit_test(each_kind_of_damage_is_counted),
        cmocka_unit_test(nothing_and_next_to_nothing),
        cmocka_unit_test(figures_of_every_length_are_what_strtod_reads),
        cmocka_unit_test(what_is_no_figure_is_damage_the_fast_way_too),
        cmocka_unit_test(all_rows_are_handed_over_once_and_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
