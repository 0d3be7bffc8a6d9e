#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "report/watch/plot.h"

#include <stdlib.h>
#include <string.h>

/* Of a grid, its rows as lines. */
static char *printed(const struct grid *grid)
{
    struct text text = {0};
    grid_print(grid, &text);
    return text_take(&text);
}

static char *plotted(size_t rows, size_t columns, bool ascii, struct plot plot)
{
    struct grid grid = {.ascii = ascii};
    grid_resize(&grid, rows, columns);
    plot_draw(&(struct grid_area){&grid, 0, 0, rows, columns}, &plot);
    char *out = printed(&grid);
    grid_fini(&grid);
    return out;
}

static void a_line_goes_from_the_lower_left_dot_to_the_upper_right_one(void **state)
{
    (void)state;
    struct plot_point points[] = {{0, 1}, {10, 3}};
    /* 9 columns of labels and 4 of braille: 8 dots across, 8 high: a diagonal. The bits of U+2800
     * are counted from the top left: 1, 2, 4, 0x40 in the left column, 8, 0x10, 0x20, 0x80 in the
     * right one. */
    char *out =
        plotted(2, 13, false, (struct plot){.points = points, .count = 2, .from_s = 0, .to_s = 10});
    assert_string_equal(out, "       3   ⡠⠊\n       1 ⡠⠊\n");
    free(out);
}

static void a_steep_line_has_no_gap(void **state)
{
    (void)state;
    /* From the bottom to the top of 8 dots within two columns: each column has its half. */
    struct plot_point points[] = {{0, 0}, {1, 1}, {7, 1}};
    char *out =
        plotted(2, 13, false, (struct plot){.points = points, .count = 3, .from_s = 0, .to_s = 7});
    assert_string_equal(out, "       1 ⢸⠉⠉⠉\n       0 ⡸\n");
    free(out);
    /* Two points of one column are joined in it. */
    struct plot_point same[] = {{0, 0}, {0, 1}, {7, 1}};
    out = plotted(2, 13, false, (struct plot){.points = same, .count = 3, .from_s = 0, .to_s = 7});
    assert_string_equal(out, "       1 ⡏⠉⠉⠉\n       0 ⡇\n");
    free(out);
}

static void what_is_below_a_curve_from_zero_is_filled(void **state)
{
    (void)state;
    struct plot_point points[] = {{0, 50}, {10, 50}};
    char *out = plotted(
        1, 13, false,
        (struct plot){.points = points, .count = 2, .from_s = 0, .to_s = 10, .from_zero = true});
    assert_string_equal(out, "      50 ⣿⣿⣿⣿\n");
    free(out);
    out = plotted(
        1, 13, true,
        (struct plot){.points = points, .count = 2, .from_s = 0, .to_s = 10, .from_zero = true});
    assert_string_equal(out, "      50 ####\n");
    free(out);
}

static void a_constant_is_drawn_in_the_middle_with_one_label(void **state)
{
    (void)state;
    struct plot_point points[] = {{0, -0.25}, {10, -0.25}};
    char *out =
        plotted(3, 13, true, (struct plot){.points = points, .count = 2, .from_s = 0, .to_s = 10});
    assert_string_equal(out, "   -0.25\n         ....\n\n");
    free(out);
}

static void without_a_point_it_says_so_and_one_point_is_a_dot(void **state)
{
    (void)state;
    struct plot_point point = {5, 7};
    char *out = plotted(1, 20, false, (struct plot){0});
    assert_string_equal(out, " no readings yet\n");
    free(out);
    out =
        plotted(1, 13, false, (struct plot){.points = &point, .count = 1, .from_s = 5, .to_s = 5});
    assert_string_equal(out, "       7 ⠄\n");
    free(out);
}

static void only_finite_numbers_in_the_order_of_time_are_points(void **state)
{
    (void)state;
    json_error_t error;
    size_t count;
    json_t *json = json_loads(
        "[[1, 2], [2, null], [3, 4.5], [2.5, 9], \"text\", [4], [5, \"nan\"], [6, 7]]", 0, &error);
    struct plot_point *points = plot_points_read(json, &count);
    assert_int_equal(count, 3);
    assert_true(points[0].value == 2 && points[1].value == 4.5 && points[2].value == 7 &&
                points[2].t_s == 6);
    free(points);
    json_decref(json);
    free(plot_points_read(NULL, &count));
    assert_int_equal(count, 0);
}

static void numbers_have_at_most_three_digits_behind_them(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } rows[] = {{312.4, "312"}, {0.0153, "0.0153"}, {1.234e9, "1.23e+09"},
                {-2.5, "-2.5"}, {0, "0"},           {0.0001, "1.00e-04"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char out[32];
        plot_number(rows[i].value, out);
        assert_string_equal(out, rows[i].text);
    }
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_goes_from_the_lower_left_dot_to_the_upper_right_one),
        cmocka_unit_test(a_steep_line_has_no_gap),
        cmocka_unit_test(what_is_below_a_curve_from_zero_is_filled),
        cmocka_unit_test(a_constant_is_drawn_in_the_middle_with_one_label),
        cmocka_unit_test(without_a_point_it_says_so_and_one_point_is_a_dot),
        cmocka_unit_test(only_finite_numbers_in_the_order_of_time_are_points),
        cmocka_unit_test(numbers_have_at_most_three_digits_behind_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
