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

static void a_wide_character_keeps_or_loses_both_its_columns(void **state)
{
    (void)state;
    struct grid grid = {0};
    grid_resize(&grid, 1, 6);
    struct grid_area area = {&grid, 0, 0, 1, 6};
    assert_int_equal(grid_put(&area, 0, 0, GRID_PLAIN, "漢字!"), 5);
    grid_put(&area, 0, 1, GRID_PLAIN, "x");
    char *out = printed(&grid);
    assert_string_equal(out, " x字!\n");
    free(out);
    /* The second has no room for both: an ellipsis says that something is cut. */
    grid_resize(&grid, 1, 3);
    area.columns = 3;
    grid_put(&area, 0, 0, GRID_PLAIN, "漢字!");
    out = printed(&grid);
    assert_string_equal(out, "漢…\n");
    free(out);
    grid_fini(&grid);
}

static void controls_and_foreign_bytes_are_not_kept(void **state)
{
    (void)state;
    struct grid grid = {0};
    grid_resize(&grid, 1, 20);
    grid_put(&(struct grid_area){&grid, 0, 0, 1, 20}, 0, 0, GRID_PLAIN,
             "a\033[31mb\xff\302\233\342\200\256c");
    char *out = printed(&grid);
    assert_string_equal(out, "a?[31mb???c\n");
    free(out);
    grid_fini(&grid);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wide_character_keeps_or_loses_both_its_columns),
        cmocka_unit_test(controls_and_foreign_bytes_are_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
