#include "report/live/progress_line.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/clock.h"
#include "plan_fixture.h"
#include "report/live/progress.h"

#include <string.h>

static void hyperparameters_that_were_drawn_or_differ_are_shown(void **state)
{
    (void)state;
    struct plan_param first[] = {
        {.name = (char[]){"lr"}, .value = {VALUE_FLOAT, .real = 0.0123456}},
        {.name = (char[]){"size"}, .value = {VALUE_INT, .integer = 32}},
        {.name = (char[]){"kind"},
         .value = {VALUE_TEXT, .text = (char[]){"a\033[2Jb"}},
         .mutated = true}};
    struct plan_param second[] = {
        {.name = (char[]){"lr"}, .value = {VALUE_FLOAT, .real = 0.1}},
        {.name = (char[]){"size"}, .value = {VALUE_FLOAT, .real = 32.0}}}; /* 32 and 32.0 are one */
    struct plan_experiment mine[] = {
        FIXTURE_EXPERIMENT(1, 0, "digits_mlp_001", "digits", "mlp", 0),
        FIXTURE_EXPERIMENT(2, 0, "digits_mlp_002", "digits", "mlp", 0)};
    mine[0].foreground.params = first;
    mine[0].foreground.param_count = 3;
    mine[1].foreground.params = second;
    mine[1].foreground.param_count = 2;
    struct plan plan = fixture_plan(mine, 2);
    AUTO_TEXT struct text text = {0};
    params_add(&plan, &mine[0], &text);
    assert_string_equal(text_get(&text), "lr=0.01235" LAYOUT_PART "kind=a?[2Jb");
    AUTO_TEXT struct text other = {0};
    params_add(&plan, &mine[1], &other);
    assert_string_equal(text_get(&other), "lr=0.1");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hyperparameters_that_were_drawn_or_differ_are_shown),
    };
    return cmocka_run_group_tests_name("parts", tests, NULL, NULL);
}
