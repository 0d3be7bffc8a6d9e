#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "audit/bins.h"
#include "audit/trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct seen {
    size_t count;
    struct trace_row rows[16];
};

static void keep(void *at, const struct trace_row *row)
{
    struct seen *seen = at;
    if (seen->count < 16)
        seen->rows[seen->count] = *row;
    seen->count++;
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
        "timestamp,power_draw_w\n10,74.69\n12,75.5\n", "\xef\xbb\xbftimestamp,power_draw_w\r\n10,74.69\r\n12,75.5\r\n",
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
    struct seen seen = parse("timestamp,power_draw_w\n10,1,234.50\n11,\"1,235.50\"\n12,1,23\n", 1, &file);
    assert_int_equal(seen.count, 2);
    assert_true(seen.rows[0].values[0] == 1234.5 && seen.rows[1].values[0] == 1235.5);
    assert_int_equal(file.damaged, 1);
}

static void absent_values_keep_their_row(void **state)
{
    (void)state;
    struct trace_file file;
    struct seen seen = parse("timestamp,gpu_temp_c,memory_temp_c\n10,61,N/A\n11,[N/A],N/A\n", 2, &file);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.rows[0].kinds[1], FIGURE_ABSENT);
    assert_int_equal(seen.rows[1].kinds[0], FIGURE_ABSENT);
    assert_true(seen.rows[0].values[0] == 61);
}

static void each_kind_of_damage_is_counted(void **state)
{
    (void)state;
    struct trace_file file;
    struct seen seen = parse("timestamp,power_draw_w\n10,70\n9,71\nabc,72\n11\n11,\n11,7x\n12,73\n13,7", 1, &file);
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

/* 100,000 seconds at 10, then 60,000 at 30: in spans of 256 s the step stands where it is, to one of them. */
static void a_long_trace_keeps_its_step_in_few_bins(void **state)
{
    (void)state;
    struct bins bins;
    bins_begin(&bins);
    for (int64_t t = 0; t < 160000; t++)
        bins_add(&bins, 5000 + t, t < 100000 ? 10 : 30);
    struct bins_step step = bins_find_step(&bins, 10);
    assert_true(bins.count <= BINS_MOST);
    assert_int_equal(bins.width_s, 512);
    assert_true(step.found && llabs(step.at_s - 105000) <= 512);
    assert_true(fabs(step.before - 10) < 0.1 && fabs(step.after - 30) < 0.2);
    assert_true(step.explained > 0.99);
}

static void without_a_change_there_is_no_step(void **state)
{
    (void)state;
    struct bins bins;
    bins_begin(&bins);
    for (int64_t t = 0; t < 100; t++)
        bins_add(&bins, t, 42);
    assert_false(bins_find_step(&bins, 10).found);
    bins_begin(&bins);
    for (int64_t t = 0; t < 15; t++)
        bins_add(&bins, t, t < 7 ? 0 : 50);
    assert_false(bins_find_step(&bins, 10).found); /* neither side is 10 s long */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_read_with_either_line_end),
        cmocka_unit_test(commas_in_figures_are_no_cells),
        cmocka_unit_test(absent_values_keep_their_row),
        cmocka_unit_test(each_kind_of_damage_is_counted),
        cmocka_unit_test(nothing_and_next_to_nothing),
        cmocka_unit_test(a_long_trace_keeps_its_step_in_few_bins),
        cmocka_unit_test(without_a_change_there_is_no_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
