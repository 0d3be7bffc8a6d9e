/* An attempt cut at its marks. Times in these tests are small numbers of nanoseconds; an attempt
 * goes from 100 to 200. */
#include "measure/marks/epochs.h"
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

#define MARKS_MAX 8

/* "epoch 1 120, /epoch 1 150": name, label ("-": none), time; "/" says an end. */
static size_t read_marks(const char *text, struct mark *marks)
{
    size_t count = 0;
    for (; *text; text += strcspn(text, ","), text += strspn(text, ", ")) {
        struct mark *mark = &marks[count++];
        long long t_ns;
        assert_true(count <= MARKS_MAX);
        *mark = (struct mark){.is_end = *text == '/', .source = MARK_FIFO};
        assert_int_equal(
            sscanf(text + mark->is_end, "%64s %100s %lld", mark->name, mark->label, &t_ns), 3);
        mark->t_ns = t_ns;
        if (strcmp(mark->label, "-") == 0)
            mark->label[0] = '\0';
    }
    return count;
}

static void assert_parts(const char *marks_text, bool has_end, const char *expected)
{
    struct mark marks[MARKS_MAX];
    size_t count, mark_count = read_marks(marks_text, marks);
    AUTO_TEXT struct text out = {0};
    struct epoch *epochs = epochs_cut(marks, mark_count, 100, 200, has_end, &count);
    for (size_t i = 0; i < count; i++) {
        text_addf(&out, "%s%s %s", i ? ", " : "", epochs[i].name, epoch_part_name(epochs[i].part));
        if (epochs[i].label)
            text_addf(&out, " %s", epochs[i].label);
        text_addf(&out, " %lld..", (long long)epochs[i].start_ns);
        if (epochs[i].has_end)
            text_addf(&out, "%lld", (long long)epochs[i].end_ns);
    }
    free(epochs);
    assert_string_equal(text_get(&out), expected);
}

static void a_start_lasts_until_the_next_one_and_the_last_until_the_end(void **state)
{
    (void)state;
    assert_parts("e 1 110, e 2 140, e 3 180", true,
                 "e startup 100..110, e epoch 1 110..140, e epoch 2 140..180, e epoch 3 180..200");
    assert_parts("e - 100", true, "e epoch 100..200");
}

static void an_end_closes_what_began_at_the_end_before(void **state)
{
    (void)state;
    assert_parts("/e 1 130, /e 2 160", true,
                 "e epoch 1 100..130, e epoch 2 130..160, e final 160..200");
    assert_parts("/e 1 150, /e 2 200", true, "e epoch 1 100..150, e epoch 2 150..200");
}

static void starts_and_ends_leave_what_is_between(void **state)
{
    (void)state;
    assert_parts("e 1 110, /e 1 130, e 2 140, /e 2 190", true,
                 "e startup 100..110, e epoch 1 110..130, e between 130..140, e epoch 2 140..190, "
                 "e final 190..200");
    /* Whichever side says the label. */
    assert_parts("e 1 110, /e - 120, e - 120, /e 2 130", true,
                 "e startup 100..110, e epoch 1 110..120, e epoch 2 120..130, e final 130..200");
}

static void an_end_is_said_twice_or_a_start_is_missing(void **state)
{
    (void)state;
    assert_parts("e 1 110, /e 1 120, /e 2 150", true,
                 "e startup 100..110, e epoch 1 110..120, e epoch 2 120..150, e final 150..200");
    assert_parts("/e 1 120, e 2 150", true,
                 "e epoch 1 100..120, e between 120..150, e epoch 2 150..200");
}

static void each_name_fills_the_attempt_by_itself(void **state)
{
    (void)state;
    assert_parts("e 1 110, val - 130, /val - 150, e 2 150", true,
                 "e startup 100..110, e epoch 1 110..150, e epoch 2 150..200, "
                 "val startup 100..130, val epoch 130..150, val final 150..200");
}

static void marks_are_put_in_order_and_within_the_attempt(void **state)
{
    (void)state;
    assert_parts("e 2 150, e 1 120", true,
                 "e startup 100..120, e epoch 1 120..150, e epoch 2 150..200");
    assert_parts("e 1 90, e 2 150, e 3 210", true,
                 "e epoch 1 100..150, e epoch 2 150..200, e epoch 3 200..200");
    /* Those of one time stay as they came. */
    assert_parts("e 1 150, e 2 150", true,
                 "e startup 100..150, e epoch 1 150..150, e epoch 2 150..200");
}

static void without_a_known_end_the_last_part_is_open(void **state)
{
    (void)state;
    assert_parts("e 1 110, e 2 140", false,
                 "e startup 100..110, e epoch 1 110..140, e epoch 2 140..");
    assert_parts("/e 1 110", false, "e epoch 1 100..110, e final 110..");
    assert_parts("e 1 250, e 2 300", false,
                 "e startup 100..250, e epoch 1 250..300, e epoch 2 300..");
}

static void no_marks_no_parts(void **state)
{
    (void)state;
    assert_parts("", true, "");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_lasts_until_the_next_one_and_the_last_until_the_end),
        cmocka_unit_test(an_end_closes_what_began_at_the_end_before),
        cmocka_unit_test(starts_and_ends_leave_what_is_between),
        cmocka_unit_test(an_end_is_said_twice_or_a_start_is_missing),
        cmocka_unit_test(each_name_fills_the_attempt_by_itself),
        cmocka_unit_test(marks_are_put_in_order_and_within_the_attempt),
        cmocka_unit_test(without_a_known_end_the_last_part_is_open),
        cmocka_unit_test(no_marks_no_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
