#include "run/log/table.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"

#include <string.h>

static const struct printed_name vocabulary[] = {{.base = "loss"}, {.base = "accuracy"}};
static struct printed_line line;
static struct log_table table;
static locale_t c_locale;

static int set_up(void **state)
{
    (void)state;
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return c_locale == (locale_t)0;
}

static int tear_down(void **state)
{
    (void)state;
    freelocale(c_locale);
    return 0;
}

static void take(const char *text)
{
    printed_line_parse(&line, text, strlen(text), vocabulary, 2, c_locale);
    log_table_read_line(&table, &line, vocabulary, 2, c_locale);
}

/* A header and a row: "train loss 0.5, validation loss 0.6", "?" where a number is not readable. */
static void assert_row(const char *header, const char *row, const char *expected)
{
    static const char *const splits[] = {[SPLIT_NONE] = "",
                                         [SPLIT_TRAIN] = "train ",
                                         [SPLIT_VALIDATION] = "validation ",
                                         [SPLIT_TEST] = "test "};
    AUTO_TEXT struct text out = {0};
    table = (struct log_table){0};
    take(header);
    take(row);
    for (size_t i = 0; i < line.value_count; i++) {
        const struct printed_value *value = &line.values[i];
        text_addf(&out, "%s%s%s ", out.length ? ", " : "", splits[value->split],
                  vocabulary[value->base].base);
        if (value->readable)
            text_addf(&out, "%g", value->number);
        else
            text_add(&out, "?");
    }
    if (strcmp(text_get(&out), expected) != 0)
        fail_msg("%s / %s: %s", header, row, text_get(&out));
}

static void columns_are_known_by_their_header(void **state)
{
    (void)state;
    assert_row("epoch  train_loss  valid_loss  time", "0      0.5         0.6         00:03",
               "train loss 0.5, validation loss 0.6");
    assert_row("epoch,loss,val_loss", "1,0.5,0.25", "loss 0.5, validation loss 0.25");
    assert_row("epoch;loss", "1;0.5", "loss 0.5");
    assert_row("epoch\tloss", "1\t0.5", "loss 0.5");
    assert_row("| epoch | test loss | Accuracy |", "| 3 | 1e-3 | 0.75 |",
               "test loss 0.001, accuracy 0.75");
}

static void the_delimiter_of_the_header_is_that_of_the_rows(void **state)
{
    (void)state;
    assert_row("epoch,loss", "1  0.5", "");
    assert_row("epoch  loss", "1,0.5", "");
}

static void a_row_begins_with_a_number_and_has_all_its_cells(void **state)
{
    (void)state;
    assert_row("epoch,loss", "best,0.5", "");
    assert_row("epoch,loss,time", "1,0.5", "");
    assert_row("epoch,loss", "1,0.5,7", "");
    assert_row("epoch,loss", "1,", "");
    assert_row("epoch,loss", "1,high", "");
    assert_row("epoch,loss", "1,0.5x", "loss ?"); /* a number that cannot be read */
}

static void where_cells_are_empty_their_place_says_their_column(void **state)
{
    (void)state;
    assert_row("epoch  train_loss  valid_loss", "0                  0.6       ",
               "validation loss 0.6");
    assert_row("epoch  train_loss  valid_loss", "0      0.5                   ", "train loss 0.5");
}

static void what_is_no_header_begins_no_table(void **state)
{
    (void)state;
    assert_row("loss", "1,0.5", "");       /* one column */
    assert_row("epoch,time", "1,0.5", ""); /* nothing that is searched */
    assert_row("1,loss", "1,0.5", "");     /* begins like a number */
    assert_row("epoch,loss,aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "1,0.5,2", "");
    AUTO_TEXT struct text header = {0}, row = {0};
    for (int i = 0; i < TABLE_COLUMNS_MAX + 1; i++) {
        text_add(&header, i ? ",loss" : "epoch");
        text_add(&row, i ? ",0.5" : "1");
    }
    assert_row(text_get(&header), text_get(&row), "");
}

static void a_later_header_replaces_the_table(void **state)
{
    (void)state;
    assert_row("epoch,loss", "1,0.5", "loss 0.5");
    take("epoch,time"); /* is not one */
    take("2,0.4");
    assert_int_equal(line.value_count, 1);
    take("epoch,accuracy");
    take("1,0.75");
    assert_int_equal(line.value_count, 1);
    assert_int_equal(line.values[0].base, 1);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_known_by_their_header),
        cmocka_unit_test(the_delimiter_of_the_header_is_that_of_the_rows),
        cmocka_unit_test(a_row_begins_with_a_number_and_has_all_its_cells),
        cmocka_unit_test(where_cells_are_empty_their_place_says_their_column),
        cmocka_unit_test(what_is_no_header_begins_no_table),
        cmocka_unit_test(a_later_header_replaces_the_table),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
