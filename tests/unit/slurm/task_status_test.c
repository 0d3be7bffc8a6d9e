/* What a task's log tells of its end, as slurmstepd 22.05 writes it. */
#include "slurm/collect.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

static void assert_task_status(const char *log, const char *expected)
{
    AUTO_TEXT struct text text = {0};
    task_status_of_log(log, strlen(log), &text);
    assert_string_equal(text_get(&text), expected);
}

static void slurm_says_why_a_task_was_ended(void **state)
{
    (void)state;
    assert_task_status("1 experiment\nslurmstepd: error: *** JOB 12 ON n1 CANCELLED AT "
                       "2026-11-21T12:00:00 DUE TO TIME LIMIT ***\n",
                       "ended by its time limit, on n1");
    assert_task_status("slurmstepd: error: *** JOB 12 ON gpu-07 CANCELLED AT 2026-11-21T12:00:00 "
                       "DUE TO PREEMPTION ***\n",
                       "preempted, on gpu-07");
    assert_task_status("slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2026-11-21T12:00:00 DUE "
                       "TO NODE FAILURE, SEE SLURMCTLD LOG "
                       "FOR DETAILS ***\n",
                       "its node failed, on n1");
    assert_task_status(
        "slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2026-11-21T12:00:00 ***\nterminated\n",
        "cancelled, on n1");
}

static void the_last_such_line_counts(void **state)
{
    (void)state;
    assert_task_status("slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2026-11-21T12:00:00 DUE "
                       "TO NODE FAILURE, SEE ***\n"
                       "slurmstepd: error: *** JOB 12 ON n2 CANCELLED AT 2026-11-21T13:00:00 DUE "
                       "TO TIME LIMIT ***\n",
                       "ended by its time limit, on n2");
}

static void without_one_the_last_words_are_quoted_fit_for_a_terminal(void **state)
{
    (void)state;
    assert_task_status("", "");
    assert_task_status("\n\n", "");
    assert_task_status("one\n/opt/tare: not found\n\n",
                       "the last that it said: /opt/tare: not found");
    assert_task_status("bell \a and \033[31mred", "the last that it said: bell ? and ?[31mred");
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slurm_says_why_a_task_was_ended),
        cmocka_unit_test(the_last_such_line_counts),
        cmocka_unit_test(without_one_the_last_words_are_quoted_fit_for_a_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
