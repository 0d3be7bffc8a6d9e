/* Which marks of an attempt count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/clock.h"
#include "measure/marks/marks.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

static struct mark made(const char *name, const char *label, bool is_end)
{
    struct mark mark = {.is_end = is_end, .source = MARK_FIFO, .t_ns = 1};
    snprintf(mark.name, sizeof mark.name, "%s", name);
    snprintf(mark.label, sizeof mark.label, "%s", label);
    return mark;
}

static int set_up(void **state)
{
    static struct marks marks;
    marks = (struct marks){0};
    *state = &marks;
    return 0;
}

static int tear_down(void **state)
{
    marks_fini(*state);
    return 0;
}

static enum mark_task_status take(struct marks *marks, const char *name, const char *label,
                                  bool is_end)
{
    struct mark mark = made(name, label, is_end);
    return marks_take(marks, &mark, NS_PER_S);
}

static void of_several_ranks_the_first_counts(void **state)
{
    struct marks *marks = *state;
    for (int rank = 0; rank < 8; rank++)
        assert_int_equal(take(marks, "epoch", "1", false), rank ? MARK_REPEATED : MARK_TAKEN);
    for (int rank = 0; rank < 8; rank++)
        assert_int_equal(take(marks, "epoch", "2", false), rank ? MARK_REPEATED : MARK_TAKEN);
    assert_int_equal(marks->counts.taken, 2);
    assert_int_equal(marks->counts.repeated, 14);
    assert_int_equal(marks->pending_count, 2);
    assert_string_equal(marks->pending[1].label, "2");
}

static void ranks_that_mark_both_ends_count_once(void **state)
{
    struct marks *marks = *state;
    assert_int_equal(take(marks, "epoch", "1", false), MARK_TAKEN);
    assert_int_equal(take(marks, "epoch", "1", false), MARK_REPEATED);
    assert_int_equal(take(marks, "epoch", "1", true), MARK_TAKEN);
    assert_int_equal(take(marks, "epoch", "1", true), MARK_REPEATED);
    /* The next fold counts from 1 again: that is another epoch. */
    assert_int_equal(take(marks, "epoch", "1", false), MARK_TAKEN);
}

static void names_do_not_disturb_each_other(void **state)
{
    struct marks *marks = *state;
    assert_int_equal(take(marks, "epoch", "1", false), MARK_TAKEN);
    assert_int_equal(take(marks, "fold", "1", false), MARK_TAKEN);
    assert_int_equal(take(marks, "epoch", "1", false), MARK_REPEATED);
}

static void without_a_label_each_counts(void **state)
{
    struct marks *marks = *state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(take(marks, "epoch", "", false), MARK_TAKEN);
}

static void what_was_handed_on_still_counts_as_the_one_before(void **state)
{
    struct marks *marks = *state;
    take(marks, "epoch", "1", false);
    marks_clear(marks);
    assert_int_equal(marks->pending_count, 0);
    assert_int_equal(take(marks, "epoch", "1", false), MARK_REPEATED);
    assert_int_equal(take(marks, "epoch", "2", false), MARK_TAKEN);
    assert_int_equal(marks->pending_count, 1);
}

static size_t take_many(struct marks *marks, size_t count, enum mark_source source, int64_t now_ns)
{
    size_t taken = 0;
    struct mark mark = made("step", "", false);
    mark.source = source;
    for (size_t i = 0; i < count; i++)
        taken += marks_take(marks, &mark, now_ns) == MARK_TAKEN;
    return taken;
}

static void a_thousand_come_at_once_and_then_a_hundred_a_second(void **state)
{
    struct marks *marks = *state;
    int64_t now_ns = 77 * NS_PER_S;
    assert_int_equal(take_many(marks, 5000, MARK_FIFO, now_ns), 1000);
    assert_int_equal(take_many(marks, 5000, MARK_FIFO, now_ns + NS_PER_S), 100);
    assert_int_equal(take_many(marks, 5000, MARK_FIFO, now_ns + NS_PER_S), 0);
    assert_int_equal(take_many(marks, 5000, MARK_FIFO, now_ns + NS_PER_S + NS_PER_S / 2), 50);
    /* nothing is saved up */
    assert_int_equal(take_many(marks, 5000, MARK_FIFO, now_ns + 3600 * NS_PER_S), 1000);
    assert_int_equal(marks->counts.limited, 5 * 5000 - 2150);
    /* A flood of one source leaves the other its own. */
    assert_int_equal(take_many(marks, 5, MARK_LOG, now_ns + 3600 * NS_PER_S), 5);
}

static void there_is_an_end_to_all_marks(void **state)
{
    struct marks *marks = *state;
    size_t taken = 0;
    for (int64_t second = 1; second <= 1000; second++) {
        taken += take_many(marks, 100, MARK_FIFO, second * NS_PER_S);
        marks_clear(marks);
    }
    assert_int_equal(taken, 20000);
    assert_int_equal(marks->counts.limited, 80000);
    /* memory does not grow with what is handed on */
    assert_true(malloc_usable_size(marks->pending) <= 2048 * sizeof *marks->pending + 64);
}

static void names_without_end_are_limited(void **state)
{
    struct marks *marks = *state;
    char name[16];
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "n%d", i);
        assert_int_equal(take(marks, name, "1", false), i < 64 ? MARK_TAKEN : MARK_LIMITED);
    }
    assert_int_equal(take(marks, "n0", "2", false), MARK_TAKEN);
}

static void what_is_over_the_rate_does_not_hide_what_comes_later(void **state)
{
    struct marks *marks = *state;
    take_many(marks, 2000, MARK_FIFO, NS_PER_S);
    assert_int_equal(take(marks, "epoch", "1", false), MARK_LIMITED);
    struct mark mark = made("epoch", "1", false);
    assert_int_equal(marks_take(marks, &mark, 2 * NS_PER_S), MARK_TAKEN);
}

static void take_log(struct marks *marks, const char *label, int64_t t_ms)
{
    struct mark mark = made("epoch", label, false);
    mark.source = MARK_LOG;
    mark.t_ns = t_ms * NS_PER_MS;
    assert_int_equal(marks_take(marks, &mark, mark.t_ns), MARK_TAKEN);
}

/* An attempt from 1000 ms on. */
static bool looks_like_ends(const struct marks *marks, int64_t end_ms)
{
    return marks_look_like_ends(marks, 0, 1000 * NS_PER_MS, end_ms * NS_PER_MS);
}

static void lines_printed_at_the_end_are_seen(void **state)
{
    struct marks *marks = *state;
    take_log(marks, "1", 2000);
    take_log(marks, "2", 3000);
    assert_false(looks_like_ends(marks, 3001)); /* two say little */
    take_log(marks, "3", 4000);
    assert_true(looks_like_ends(marks, 4001));
    assert_true(looks_like_ends(marks, 4100));
    assert_false(looks_like_ends(marks, 4101)); /* more than a tenth of an epoch comes behind */
}

static void lines_printed_at_the_beginning_are_not_doubted(void **state)
{
    struct marks *marks = *state;
    take_log(marks, "1", 1100); /* a short startup: less than half an epoch */
    take_log(marks, "2", 2100);
    take_log(marks, "3", 3100);
    assert_false(looks_like_ends(marks, 3101));
    assert_false(looks_like_ends(marks, 4100));
}

static void what_a_program_says_itself_is_not_doubted(void **state)
{
    struct marks *marks = *state;
    take_log(marks, "1", 2000);
    take_log(marks, "2", 3000);
    take_log(marks, "3", 4000);
    assert_int_equal(take(marks, "epoch", "3", true), MARK_TAKEN);
    assert_false(looks_like_ends(marks, 4000));
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(of_several_ranks_the_first_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ranks_that_mark_both_ends_count_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_do_not_disturb_each_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_label_each_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_handed_on_still_counts_as_the_one_before, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_thousand_come_at_once_and_then_a_hundred_a_second, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(there_is_an_end_to_all_marks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_without_end_are_limited, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_over_the_rate_does_not_hide_what_comes_later,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(lines_printed_at_the_end_are_seen, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lines_printed_at_the_beginning_are_not_doubted, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_a_program_says_itself_is_not_doubted, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
