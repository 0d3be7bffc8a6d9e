#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/clock.h"
#include "base/rng.h"
#include "measure/step_power.h"

#include <stdio.h>
#include <string.h>

#include "training.h"

static void marks_of_ranks_count_once_and_a_flood_is_bounded(void **state)
{
    static struct training training;
    (void)state;
    training = (struct training){0};
    for (int rank = 0; rank < 8; rank++)
        mark(&training, "step", "1", 1);
    for (int rank = 0; rank < 8; rank++)
        mark(&training, "phase", "data", 1);
    assert_int_equal(training.marks.count, 2);
    for (int i = 0; i < 200000; i++)
        mark(&training, "step", "", 2);
    assert_int_equal(training.marks.count, STEP_MARKS_MAX);
    assert_int_equal(training.marks.left_out, 200000 + 2 - STEP_MARKS_MAX);
    step_marks_fini(&training.marks);
    for (int i = 0; i < 100; i++) {
        char label[16];
        snprintf(label, sizeof label, "p%d", i);
        mark(&training, "phase", label, i);
    }
    assert_int_equal(training.marks.name_count, STEP_NAMES_MAX);
    assert_int_equal(training.marks.left_out, 100 - STEP_NAMES_MAX);
    step_marks_fini(&training.marks);
}

static void other_marks_are_none_of_a_step(void **state)
{
    struct step_marks marks = {0};
    struct mark epoch = {.name = "epoch", .label = "1"}, bare = {.name = "phase"};
    (void)state;
    assert_false(step_marks_take(&marks, &epoch));
    assert_false(step_marks_take(&marks, &bare)); /* which one is not said */
    assert_int_equal(marks.count, 0);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_of_ranks_count_once_and_a_flood_is_bounded),
        cmocka_unit_test(other_marks_are_none_of_a_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
